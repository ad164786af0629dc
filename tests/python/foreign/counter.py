"""Counts what a model multiplies by the functions that it calls, apart from stowplan.capture, which counts what PyTorch dispatches.

A product has one gradient for each operand that needs one, of as many multiplications as itself; attention as one kernel works out its
scores again. `Counted(model)` runs as the model does and keeps the sums.
"""

import math

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode, resolve_name


def needs(one):
    return isinstance(one, torch.Tensor) and one.requires_grad


def einsum_size(equation, operands):
    """Multiplications of a sum over all letters but those that come out."""
    left = equation.replace(" ", "").split("->")[0].split(",")
    sizes = {}
    for letters, operand in zip(left, operands):
        if "..." in letters:
            raise NotImplementedError(equation)
        sizes.update(zip(letters, operand.shape))
    return math.prod(sizes.values()) if len(operands) > 1 else 0


class Counter(TorchFunctionMode):
    def __init__(self, counted):
        super().__init__()
        self.counted = counted

    def add(self, multiplications, *operands):
        self.counted.forward_flops += 2 * multiplications
        self.counted.backward_flops += 2 * multiplications * sum(map(needs, operands))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = (resolve_name(func) or "").rpartition(".")[2] or getattr(func, "__name__", "")
        if func is functional.multi_head_attention_forward:
            result = func(*args, **kwargs)
            self.many_heads(*args[:4])
            return result
        if func is functional.scaled_dot_product_attention:
            result = func(*args, **kwargs)
            self.attention(*args[:3], **{name: given for name, given in kwargs.items() if name in ("query", "key", "value")})
            return result
        result = func(*args, **kwargs)
        if name == "linear":
            self.add(args[0].numel() * args[1].shape[0], args[0], args[1])
        elif name in ("matmul", "__matmul__", "__rmatmul__", "bmm", "mm"):
            other = args[1] if len(args) > 1 else kwargs.get("other", kwargs.get("mat2"))
            self.add(result.numel() * args[0].shape[-1], args[0], other)
        elif name in ("addmm", "baddbmm"):
            self.add(result.numel() * args[1].shape[-1], args[1], args[2])
        elif name in ("_grouped_mm", "grouped_mm"):
            self.add(args[0].shape[0] * math.prod(args[1].shape[1:]), args[0], args[1])
        elif name == "einsum":
            operands = args[1:] if isinstance(args[1], torch.Tensor) else args[1]
            self.add(einsum_size(args[0], operands), *operands)
        elif name in ("conv1d", "conv2d", "conv3d"):
            weight = args[1] if len(args) > 1 else kwargs["weight"]
            self.add(result.numel() * math.prod(weight.shape[1:]), args[0], weight)
        elif name.startswith("conv_transpose"):
            self.add(args[0].numel() * math.prod(args[1].shape[1:]), args[0], args[1])
        elif name in ("lstm", "gru"):
            for i, weight in enumerate(one for one in args[2] if one.dim() == 2):
                once = 2 * math.prod(args[0].shape[1:-1]) * weight.numel()
                self.counted.forward_flops += once * args[0].shape[0]
                if needs(weight):  # what is hidden before the first step has no gradient
                    self.counted.backward_flops += once * (2 * args[0].shape[0] - (1 if i % 2 else 0 if i or needs(args[0]) else args[0].shape[0]))
        return result

    def attention(self, query, key, value):
        scores = math.prod(query.shape[:-1]) * key.shape[-2]
        self.counted.forward_flops += 2 * scores * (query.shape[-1] + value.shape[-1])
        if needs(query):
            again, gradients = query.shape[-1], 2 * query.shape[-1] + 2 * value.shape[-1]
            self.counted.backward_flops += 2 * scores * (again + gradients)

    def many_heads(self, query, key, value, width):
        """Projections in and out, scores, and what they weigh; no one kernel, as capture has it. Weights need gradients where inputs do."""
        for one in (query, key, value, query):
            self.add(one.numel() * width, one, one)
        self.add(2 * query.numel() * key.shape[0], query, key)


class Counted(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.forward_flops = self.backward_flops = 0

    def forward(self, *args, **kwargs):
        Counted.latest = self  # capture runs a copy
        with Counter(self):
            return self.model(*args, **kwargs)
