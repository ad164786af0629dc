"""What GPUs' kernels do where PyTorch's stand-ins for shapes alone do not: attention as one op, and shapes of products of experts."""

from typing import Any, Callable, Dict, Optional

import torch  # type: ignore[import-not-found, unused-ignore]
from torch.overrides import TorchFunctionMode  # type: ignore[import-not-found, unused-ignore]
from torch.utils._pytree import tree_map  # type: ignore[import-not-found, unused-ignore]

from ._values import aside, tensors_of

aten: Any = torch.ops.aten

#: Elements that an op without a rule for shapes may read.
_MOST_ZEROS = 1 << 26


class FusedAttention(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """Attention as GPUs have it; without this it falls apart on meta tensors."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.nn.functional.scaled_dot_product_attention:
            return self._attend(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _attend(self, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                scale: Optional[float] = None, enable_gqa: bool = False) -> Any:
        if query.dim() != 4:
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                                                                    enable_gqa=enable_gqa)
        if attn_mask is None and query.shape[-1] == value.shape[-1]:
            return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(attn_mask.logical_not(), float("-inf"))
        if attn_mask is not None:
            attn_mask = attn_mask.expand((*query.shape[:-1], key.shape[-2]))
        return aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask, torch.is_grad_enabled(), dropout_p, is_causal,
                                                            scale=scale)[0]


def _grouped_mm(first: Any, second: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Of any type; PyTorch's own takes bf16 alone."""
    if first.shape[-1] != second.shape[-2]:
        raise RuntimeError(f"contraction dimension of mat_a and mat_b must match, got {list(first.shape)} and {list(second.shape)}")
    if first.dim() == 2 and second.dim() == 2:
        shape: Any = (offs.shape[0], first.shape[0], second.shape[1])
    elif first.dim() == 3 and second.dim() == 2:
        shape = (first.shape[1], second.shape[1])
    else:
        shape = (*first.shape[:-1], second.shape[-1])
    return first.new_empty(shape, dtype=out_dtype or first.dtype)


def _with_zeros(func: Any) -> Callable[..., Any]:
    """Where PyTorch has no rule for shapes: the op itself, of zeros."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except NotImplementedError:
            tensors = tensors_of((args, kwargs))
            if func.namespace != "aten" or torch.Tag.dynamic_output_shape in func.tags or sum(one.numel() for one in tensors) > _MOST_ZEROS:
                raise
            device = next((one.device for one in tensors if one.device.type != "cpu"), None)

        def zeros(one: Any) -> Any:
            return torch.zeros_like(one, device="cpu") if isinstance(one, torch.Tensor) else one

        def shape(one: Any) -> Any:
            return one.to(device) if isinstance(one, torch.Tensor) and device is not None else one

        with aside():
            return tree_map(shape, func(*tree_map(zeros, args), **tree_map(zeros, kwargs)))

    return run


def _attention_backward(*args: Any, **kwargs: Any) -> Any:
    """Gradients of heads that several queries share have their size; PyTorch's own rule gives one a query, which it adds up where all share one."""
    of_query, *of_shared, of_mask = aten._scaled_dot_product_efficient_attention_backward.default(*args, **kwargs)
    of_shared = [one if given.shape[1] in (1, one.shape[1]) else one.new_empty(given.shape) for one, given in zip(of_shared, args[2:4])]
    return (of_query, *of_shared, of_mask)


def _of_one_type(func: Any) -> Callable[..., Any]:
    """Kernels refuse products of two types; PyTorch's rules for shapes give one of them."""

    def run(*args: Any, **kwargs: Any) -> Any:
        types = sorted({str(one.dtype) for one in tensors_of((args, kwargs))})
        if len(types) > 1:
            raise RuntimeError(f"wants tensors of one type, got {' and '.join(types)}")
        return func(*args, **kwargs)

    return run


#: What an op gives, where PyTorch's own rule refuses what kernels take or says it otherwise.
SHAPES: Dict[Any, Callable[..., Any]] = {
    aten._scaled_dot_product_efficient_attention_backward.default: _attention_backward,
    **{product: _of_one_type(product) for product in (aten.mm.default, aten.addmm.default, aten.bmm.default, aten.mv.default, aten.convolution.default,
                                                      aten._scaled_dot_product_flash_attention.default)},
    **({aten._grouped_mm.default: _grouped_mm} if hasattr(aten, "_grouped_mm") else {})}


def shape_rule(func: Any) -> Callable[..., Any]:
    """Runs the op on shapes."""
    return SHAPES.get(func) or _with_zeros(func)
