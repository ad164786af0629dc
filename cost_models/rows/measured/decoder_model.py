"""Decoders of language as modules of PyTorch (decoder.py has their sizes)."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from .decoder import weights


class RmsNorm(nn.Module):
    """One op, as libraries have it."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight)


class Attention(nn.Module):
    def __init__(self, sizes, fused):
        super().__init__()
        self.sizes, self.fused, self.width = sizes, fused, sizes.hidden // sizes.heads
        bias = not sizes.gated
        self.query_key_value = nn.Linear(sizes.hidden, sizes.hidden + 2 * sizes.shared, bias=bias)
        self.out = nn.Linear(sizes.hidden, sizes.hidden, bias=bias)
        self.norms = nn.ModuleList(RmsNorm(self.width) for _ in range(2)) if sizes.head_norms else None

    def forward(self, x, cache=None, seen=0):
        """`cache`: keys and values so far, with room for those of x behind the `seen` first ones."""
        shape = (*x.shape[:2], -1, self.width)
        query, key, value = self.query_key_value(x).split((self.sizes.hidden, self.sizes.shared, self.sizes.shared), dim=-1)
        query, key, value = (one.view(shape) for one in (query, key, value))
        if self.norms:
            query, key = self.norms[0](query), self.norms[1](key)
        if self.sizes.gated:  # the rotation is one op
            query, key = query * query.new_empty(shape[1], 1, self.width), key * key.new_empty(shape[1], 1, self.width)
        query, key, value = (one.transpose(1, 2) for one in (query, key, value))
        if cache is not None:
            for kept, new in zip(cache, (key, value)):
                kept[:, :, seen:seen + x.shape[1]] = new
            key, value = (one[:, :, :seen + x.shape[1]] for one in cache)
        mixed = self._fused(query, key, value) if self.fused else self._plain(query, key, value)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))

    def _fused(self, query, key, value):
        causal = query.shape[2] == key.shape[2] and query.shape[2] > 1
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal, enable_gqa=key.shape[1] < query.shape[1])

    def _plain(self, query, key, value):
        """Products and a softmax; queries that share keys are rows of one product."""
        rows = query.reshape(*key.shape[:2], -1, self.width)
        return (F.softmax(rows @ key.transpose(2, 3), dim=-1) @ value).view(query.shape)


class Block(nn.Module):
    def __init__(self, sizes, fused):
        super().__init__()
        norm = RmsNorm if sizes.gated else nn.LayerNorm
        self.gated = sizes.gated
        self.first, self.second = norm(sizes.hidden), norm(sizes.hidden)
        self.attention = Attention(sizes, fused)
        self.up = nn.Linear(sizes.hidden, sizes.inner, bias=not sizes.gated)
        self.down = nn.Linear(sizes.inner, sizes.hidden, bias=not sizes.gated)
        self.gate = nn.Linear(sizes.hidden, sizes.inner, bias=False) if sizes.gated else None

    def forward(self, x, cache=None, seen=0):
        x = x + self.attention(self.first(x), cache, seen)
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y) if self.gated else F.gelu(self.up(y)))


class Decoder(nn.Module):
    """`repeated`: the layers' activations are computed again in the backward pass. `last_alone`: of each part of a text only the last token's
    scores are asked for. `part`: how many tokens of a text with a cache go through the layers at a time."""

    def __init__(self, sizes, fused=True, repeated=False, last_alone=False, part=0):
        super().__init__()
        self.sizes, self.repeated, self.last_alone, self.part = sizes, repeated, last_alone, part
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.positions = nn.Embedding(sizes.positions, sizes.hidden) if sizes.positions else None
        self.blocks = nn.ModuleList(Block(sizes, fused) for _ in range(sizes.layers))
        self.norm = (RmsNorm if sizes.gated else nn.LayerNorm)(sizes.hidden)
        self.head = nn.Linear(sizes.hidden, sizes.vocabulary, bias=False)
        if sizes.tied:
            self.head.weight = self.embedding.weight
        assert sum(one.numel() for one in self.parameters()) == weights(sizes)

    def forward(self, tokens, caches=None, seen=0):
        if not self.part:
            return self._run(tokens, caches, seen)
        parts = tokens.split(self.part, dim=1)
        return [self._run(one, caches, seen + i * self.part) for i, one in enumerate(parts)][-1]

    def _run(self, tokens, caches, seen):
        x = self.embedding(tokens)
        if self.positions:
            x = x + self.positions.weight[:tokens.shape[1]]
        for i, block in enumerate(self.blocks):
            if self.repeated:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x, caches[i] if caches else None, seen)
        x = self.norm(x)
        return self.head(x[:, -1:] if self.last_alone else x)


def caches(sizes, batch, tokens):
    shape = (batch, sizes.kv_heads or sizes.heads, tokens, sizes.hidden // sizes.heads)
    return [(torch.zeros(shape), torch.zeros(shape)) for _ in range(sizes.layers)]


def made(dtype, make):
    """What `make` gives, as shapes alone and of that type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype({"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[dtype])
    try:
        with torch.device("meta"):
            return make()
    finally:
        torch.set_default_dtype(before)
