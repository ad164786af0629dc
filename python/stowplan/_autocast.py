"""torch.autocast for tensors that are shapes alone, which PyTorch's own passes by.

The state is PyTorch's own, so that contexts of a model nest, are restored and are remembered by checkpoints as ever. That of "cuda" counts
where it is on, else that of "cpu". The lists are those of ATen/autocast_mode.h for CUDA. A CPU has others (softmax and layer_norm are on none),
which are not followed. The ops are caught where PyTorch's own autocast catches them, above autograd, so that casts are ops with gradients of
their own. A dispatch key that no device here uses carries our kernels and is on within the run alone.
"""

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

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
_PROMOTE = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add".split()

_DEVICES = ("cuda", "cpu")

_torch: Any = torch
_KEY: Any = _torch._C.DispatchKey.AutocastIPU
_enabled, _dtype = _torch.is_autocast_enabled, _torch.get_autocast_dtype  # PyTorch's own, which a run replaces

_library: List[Any] = []  # the kernels, made once
_current: List["_Run"] = []


def _eligible(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.device.type != "cpu" and one.is_floating_point() and one.dtype != torch.float64


def said() -> Tuple[str, Optional[Any]]:
    """The device whose autocast is on and its lower type; ("", None) where none is on."""
    return next(((device, _dtype(device)) for device in _DEVICES if _enabled(device)), ("", None))


class _Run:
    """What a run remembers of its contexts."""

    def __init__(self) -> None:
        self.device = "cuda"  # whose autocast was on last
        self.casts: Dict[int, Tuple[Any, Any]] = {}  # weights in the lower type, kept until the outermost context is left

    def lower(self) -> Optional[Any]:
        """The lower type; None where autocast is off."""
        device, dtype = said()
        self.device = device or self.device
        return dtype

    def meant(self, device: Any) -> Any:
        """Tensors of a run say that they are on "meta". A model that asks for autocast of their device means the one that casts them."""
        if device == "meta":
            self.lower()
            return self.device
        return device

    def asked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *device, **named: function(*map(self.meant, (*device, *named.values())))

    def cast(self, one: Any, dtype: Any) -> Any:
        if not _eligible(one) or one.dtype == dtype:
            return one
        kept = dtype == self.lower() and _torch.is_autocast_cache_enabled()
        if not kept or one.dtype != torch.float32 or not one.requires_grad or not one.is_leaf or one._is_view():
            return one.to(dtype)
        if id(one) not in self.casts:
            self.casts[id(one)] = (one, one.to(dtype))
        return self.casts[id(one)][1]


@contextlib.contextmanager
def _instead(owner: Any, **named: Any) -> Iterator[None]:
    before = {name: getattr(owner, name) for name in named}
    try:
        for name, one in named.items():
            setattr(owner, name, one)
        yield
    finally:
        for name, one in before.items():
            setattr(owner, name, one)


def with_gpu(run: Optional[_Run] = None) -> Any:
    """Where there is no GPU, PyTorch makes a torch.autocast("cuda") that is off for ever. One that is made within is on."""
    make, run = _torch.autocast.__init__, run or _Run()

    def made(context: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Optional[bool] = None) -> None:
        device = run.meant(device_type)
        make(context, device, dtype, enabled and device != "cuda", cache_enabled)
        if device == "cuda":
            context._enabled = enabled

    return _instead(_torch.autocast, __init__=made)


@contextlib.contextmanager
def _outermost() -> Iterator[None]:
    """As outside of every context that the caller is in, so that casts of weights are kept as long as there."""
    with _torch.autocast("cuda", enabled=False), _torch.autocast("cpu", enabled=False):
        depth = _torch.autocast_increment_nesting()
        for _ in range(depth):
            _torch.autocast_decrement_nesting()
        try:
            yield
        finally:
            for _ in range(depth - 1):
                _torch.autocast_increment_nesting()


@contextlib.contextmanager
def autocasting() -> Iterator[None]:
    """Within, torch.autocast casts tensors that are shapes alone. It is off at the start."""
    if not _library:
        _make_kernels()
    run, amp, guards = _Run(), _torch.amp, _torch._C
    cast = amp.autocast_mode._cast  # of custom_fwd(cast_inputs=…)
    with with_gpu(run), _outermost(), _instead(
            amp.autocast_mode, _cast=lambda value, device, dtype: cast(value, "meta" if getattr(value, "is_meta", False) else device, dtype)), _instead(
            amp, is_autocast_available=run.asked(amp.is_autocast_available)), _instead(
            torch, is_autocast_enabled=run.asked(_enabled), get_autocast_dtype=run.asked(_dtype), clear_autocast_cache=run.casts.clear):
        _current.append(run)
        guards._dispatch_tls_set_dispatch_key_excluded(_KEY, False)
        guards._dispatch_tls_set_dispatch_key_included(_KEY, True)
        try:
            yield
        finally:
            guards._dispatch_tls_set_dispatch_key_included(_KEY, False)
            guards._dispatch_tls_set_dispatch_key_excluded(_KEY, True)
            _current.pop()


def _make_kernels() -> None:
    library: Any = torch.library
    _library.extend((library.Library("aten", "IMPL"), library.Library("_", "IMPL")))
    _library[1].fallback(library.fallthrough_kernel, _KEY.name)
    for names, kernel in ((_LOWER, _in_lower), (_WIDE, _in_wide), (_WIDE_RESULT, _to_wide), (_PROMOTE, _in_widest)):
        for name in names:
            for overload in _overloads(name):
                _library[0].impl(overload, kernel(overload), _KEY.name)


def _overloads(name: str) -> List[Any]:
    packet = getattr(torch.ops.aten, name, None)
    found = [getattr(packet, overload) for overload in packet.overloads()] if packet is not None else []
    dispatched: Any = torch._C
    return [one for one in found if dispatched._dispatch_has_kernel(one.name()) and not any(argument.is_out for argument in one._schema.arguments)]


def _off() -> Any:
    guards: Any = torch._C
    return guards._ExcludeDispatchKeyGuard(guards.DispatchKeySet(_KEY))


def _casting(op: Any, dtype_for: Callable[[Any, List[Any]], Optional[Any]]) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        lower = _current[-1].lower()
        with _off():
            dtype = lower and dtype_for(lower, [one for one in tensors_of((args, kwargs)) if _eligible(one)])
            if dtype is not None:
                args, kwargs = tree_map(lambda one: _current[-1].cast(one, dtype), (args, kwargs))
            return op(*args, **kwargs)

    return kernel


def _in_lower(op: Any) -> Callable[..., Any]:
    return _casting(op, lambda lower, _: lower)


def _in_wide(op: Any) -> Callable[..., Any]:
    return _casting(op, lambda *_: torch.float32)


def _in_widest(op: Any) -> Callable[..., Any]:
    return _casting(op, lambda lower, given: torch.float32 if any(one.dtype == torch.float32 for one in given) else lower if given else None)


def _to_wide(op: Any) -> Callable[..., Any]:
    at = next((i for i, argument in enumerate(op._schema.arguments) if argument.name == "dtype"), None)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("dtype") if at is None or at >= len(args) else args[at]
        if at is not None and given is None and args and _eligible(args[0]) and _current[-1].lower():
            args, kwargs = (args, {**kwargs, "dtype": torch.float32}) if len(args) <= at else ((*args[:at], torch.float32, *args[at + 1:]), kwargs)
        with _off():
            return op(*args, **kwargs)

    return kernel
