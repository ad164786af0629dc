"""Floating point operations of PyTorch's products: 2 for a multiplication with its addition. What is no product has none.

A formula sees the arguments and what the op gave, of which it reads shapes alone. Zeros that padding adds and half of a causal mask
are counted, since kernels work them out or skip them as they like.
"""

from math import prod
from typing import Any, Callable, Dict, Sequence


def _matrix(first: Any, second: Any) -> int:
    """[…, rows, depth] by [depth, columns], [batch, depth, columns] or [depth]."""
    return 2 * int(first.numel()) * (int(second.shape[-1]) if second.dim() > 1 else 1)


def _product(_: Any, first: Any, second: Any, *rest: Any) -> int:
    return _matrix(first, second)


def _sum_and_product(_: Any, __: Any, first: Any, second: Any, *rest: Any) -> int:
    return _matrix(first, second)


def _grouped(_: Any, first: Any, second: Any, *rest: Any) -> int:
    """Each row, or each step of the depth where both are matrices, belongs to one group."""
    if first.dim() == 3 and second.dim() == 2:  # columns in groups
        return 2 * int(first.shape[1] * first.shape[2] * second.shape[1])
    return _matrix(first, second)


def _each_position(image: Any, filters: Any, transposed: bool, given: Any) -> int:
    """Every position of the smaller image (of what it gives, or of the image where transposed) meets each filter of its group."""
    return int(2 * (image if transposed else given).numel() * prod(filters.shape[1:]))


def _convolution(result: Any, image: Any, filters: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool = False,
                 *rest: Any) -> int:
    return _each_position(image, filters, transposed, result)


def _convolution_backward(_: Any, gradient: Any, image: Any, filters: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
                          transposed: bool, output_padding: Any, groups: int, output_mask: Sequence[bool]) -> int:
    """The gradient of the image and that of the filter are each as many products as the convolution itself."""
    return sum(map(bool, output_mask[:2])) * _each_position(image, filters, transposed, gradient)


def _convolution_backward_overrideable(_: Any, gradient: Any, image: Any, filters: Any, *rest: Any) -> int:
    return _convolution_backward(_, gradient, image, filters, None, *rest)


def _scores(query: Any, key: Any) -> int:
    return int(2 * prod(query.shape[:-1]) * key.shape[-2])


def _attention(_: Any, query: Any, key: Any, value: Any, *rest: Any) -> int:
    """Scores and what they weigh."""
    return _scores(query, key) * int(query.shape[-1] + value.shape[-1])


def _attention_backward(_: Any, gradient: Any, query: Any, key: Any, value: Any, *rest: Any) -> int:
    """Scores again and the gradients of queries and keys; those of the scores and of values."""
    return _scores(query, key) * int(3 * query.shape[-1] + 2 * value.shape[-1])


def _recurrent(_: Any, sequence: Any, weights: Any, *rest: Any) -> int:
    """Each weight that is a matrix meets each step of each sequence."""
    matrices = sum(int(weight.numel()) for weight in weights if weight.dim() == 2)
    return int(2 * prod(sequence.shape[:-1]) * matrices)


def _recurrent_backward(_: Any, sequence: Any, weights: Any, *rest: Any) -> int:
    return 2 * _recurrent(_, sequence, weights)


def _layer_of(_: Any, sequence: Any, *weights: Any) -> int:
    return _recurrent(_, sequence, weights[:4])


def _layer_backward_of(_: Any, sequence: Any, *weights: Any) -> int:
    return 2 * _recurrent(_, sequence, weights[:4])


_ATTENTIONS = ("flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu")

#: By the name in torch.ops.aten, without overload (grouped_mm_fallback is transformers'): a function of what the op gave and of its
#: arguments in the order of its schema.
FLOPS: Dict[str, Callable[..., int]] = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot", "_int_mm", "_scaled_mm"), _product),
    **dict.fromkeys(("addmm", "baddbmm", "addbmm", "addmv", "_addmm_activation"), _sum_and_product),
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm", "grouped_mm_fallback"), _grouped),
    **dict.fromkeys(("convolution", "_convolution", "convolution_overrideable"), _convolution),
    "convolution_backward": _convolution_backward,
    "convolution_backward_overrideable": _convolution_backward_overrideable,
    **{f"_scaled_dot_product_{kind}": _attention for kind in _ATTENTIONS},
    **{f"_scaled_dot_product_{kind}_backward": _attention_backward for kind in _ATTENTIONS},
    "_cudnn_rnn": _recurrent, "_cudnn_rnn_backward": _recurrent_backward,
    "mkldnn_rnn_layer": _layer_of, "mkldnn_rnn_layer_backward": _layer_backward_of,
}


def flops_of(name: str, result: Any, arguments: Sequence[Any]) -> int:
    """Of the op called so in FLOPS; 0 where it is no product."""
    count = FLOPS.get(name)
    return count(result, *arguments) if count is not None else 0
