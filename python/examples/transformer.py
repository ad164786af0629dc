"""A decoder as today's are (RMSNorm, rotary positions, grouped queries, SwiGLU), for `python -m stowplan.capture transformer.py:small`.

    small   4 layers, 512 wide          seven   32 layers, 4096 wide: 6.7 billion weights
"""

import torch
from torch import nn


def rotate(x, angles):
    even, odd = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((even * cos - odd * sin, even * sin + odd * cos), dim=-1)


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.size = width // heads
        self.q_proj = nn.Linear(width, heads * self.size, bias=False)
        self.k_proj = nn.Linear(width, kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(width, kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(heads * self.size, width, bias=False)

    def forward(self, x, angles):
        def heads_of(y):
            return y.unflatten(-1, (-1, self.size)).transpose(1, 2)

        q, k = (rotate(heads_of(proj(x)), angles) for proj in (self.q_proj, self.k_proj))
        y = nn.functional.scaled_dot_product_attention(q, k, heads_of(self.v_proj(x)), is_causal=True, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.input_norm = nn.RMSNorm(width)
        self.attention = Attention(width, heads, kv_heads)
        self.post_norm = nn.RMSNorm(width)
        self.mlp = FeedForward(width, hidden)

    def forward(self, x, angles):
        x = x + self.attention(self.input_norm(x), angles)
        return x + self.mlp(self.post_norm(x))


class Decoder(nn.Module):
    def __init__(self, layers, width, heads, kv_heads, hidden, vocabulary):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Block(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        self.register_buffer("frequencies", 10000.0 ** (-torch.arange(0, size, 2) / size), persistent=False)

    def forward(self, tokens):
        angles = torch.outer(torch.arange(tokens.shape[1], dtype=self.frequencies.dtype), self.frequencies)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, angles)
        return self.head(self.norm(x))


def small():
    return Decoder(4, 512, 8, 4, 1408, 32000), (torch.zeros(2, 256, dtype=torch.int64),)


def seven():
    return Decoder(32, 4096, 32, 32, 11008, 32000), (torch.zeros(1, 2048, dtype=torch.int64),)
