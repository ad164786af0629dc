"""torch.autocast of a GPU, for tensors that are shapes alone, which PyTorch's own passes by.

The lists are those of ATen/autocast_mode.h for CUDA. The ops are caught where PyTorch's own autocast catches them, above autograd, so that
casts are ops with gradients of their own: a dispatch key that no device here uses carries our kernels and is on within the run alone.
"""

from typing import Any, Callable, Dict, List, Optional, Tuple

import torch  # type: ignore[import-not-found, unused-ignore]
from torch.utils._pytree import tree_map  # type: ignore[import-not-found, unused-ignore]

from ._values import tensors_of

#: In the lower type.
_LOWER = (
    "_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution prelu addmm addmv addr matmul einsum mm "
    "mv linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell "
    "rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention").split()

#: In f32.
_WIDE = (
    "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm native_layer_norm group_norm "
    "frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss "
    "smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss "
    "binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d "
    "_upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa "
    "upsample_trilinear3d upsample_bicubic2d _upsample_bicubic2d_aa").split()

#: With an f32 result.
_WIDE_RESULT = "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum".split()

#: In the widest type among the arguments.
_PROMOTE = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack".split()

_KEY: Any = getattr(torch._C.DispatchKey, "AutocastIPU")

_library: List[Any] = []  # the kernels, made once
_current: List["Autocast"] = []


def _eligible(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.device.type != "cpu" and one.is_floating_point() and one.dtype != torch.float64


class Autocast:
    """On between `on` and `off`, which nest."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self._casts: Dict[int, Tuple[Any, Any]] = {}  # weights in the lower type, kept until it is off
        self._depth = 0
        if not _library:
            library: Any = torch.library
            _library.extend((library.Library("aten", "IMPL"), library.Library("_", "IMPL")))
            _library[1].fallback(library.fallthrough_kernel, _KEY.name)
            for names, kernel in ((_LOWER, _in_lower), (_WIDE, _in_wide), (_WIDE_RESULT, _to_wide), (_PROMOTE, _in_widest)):
                for name in names:
                    for overload in _overloads(name):
                        _library[0].impl(overload, kernel(overload), _KEY.name)

    def __enter__(self) -> "Autocast":
        self._depth += 1
        if self._depth == 1:
            _current.append(self)
            self._switch(True)
        return self

    def __exit__(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._switch(False)
            _current.pop()
            self._casts.clear()

    @staticmethod
    def _switch(on: bool) -> None:
        guards: Any = torch._C
        guards._dispatch_tls_set_dispatch_key_excluded(_KEY, not on)
        guards._dispatch_tls_set_dispatch_key_included(_KEY, on)

    def cast(self, one: Any, dtype: Any) -> Any:
        if not _eligible(one) or one.dtype == dtype:
            return one
        if dtype != self.dtype or one.dtype != torch.float32 or not one.requires_grad or not one.is_leaf or one._is_view():
            return one.to(dtype)
        kept = self._casts.get(id(one))
        if kept is None:
            kept = self._casts[id(one)] = (one, one.to(dtype))
        return kept[1]


def _overloads(name: str) -> List[Any]:
    packet = getattr(torch.ops.aten, name, None)
    found = [getattr(packet, overload) for overload in packet.overloads()] if packet is not None else []
    dispatched: Any = torch._C
    return [one for one in found if dispatched._dispatch_has_kernel(one.name()) and not any(argument.is_out for argument in one._schema.arguments)]


def _off() -> Any:
    guards: Any = torch._C
    return guards._ExcludeDispatchKeyGuard(guards.DispatchKeySet(_KEY))


def _casting(op: Any, dtype_for: Callable[[Autocast, List[Any]], Optional[Any]]) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        with _off():
            dtype = dtype_for(_current[-1], [one for one in tensors_of((args, kwargs)) if _eligible(one)])
            if dtype is not None:
                args, kwargs = tree_map(lambda one: _current[-1].cast(one, dtype), (args, kwargs))
            return op(*args, **kwargs)

    return kernel


def _in_lower(op: Any) -> Callable[..., Any]:
    return _casting(op, lambda autocast, _: autocast.dtype)


def _in_wide(op: Any) -> Callable[..., Any]:
    return _casting(op, lambda *_: torch.float32)


def _in_widest(op: Any) -> Callable[..., Any]:
    return _casting(op, lambda autocast, given: torch.float32 if any(one.dtype == torch.float32 for one in given) else autocast.dtype if given else None)


def _to_wide(op: Any) -> Callable[..., Any]:
    at = next((i for i, argument in enumerate(op._schema.arguments) if argument.name == "dtype"), None)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("dtype") if at is None or at >= len(args) else args[at]
        if at is not None and given is None and args and _eligible(args[0]):
            args, kwargs = (args, {**kwargs, "dtype": torch.float32}) if len(args) <= at else ((*args[:at], torch.float32, *args[at + 1:]), kwargs)
        with _off():
            return op(*args, **kwargs)

    return kernel
