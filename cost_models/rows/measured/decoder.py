"""Sizes of decoders of language."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    feed_forward: int = 0  #: 0: four times hidden
    kv_heads: int = 0  #: 0: as many as heads
    gated: bool = True  #: as Llama: RMS norms, rotations, a gated feed-forward part, no biases; else as MPT (and GPT-2)
    head_norms: bool = False  #: of queries and keys, as Qwen 3
    positions: int = 0  #: that are learned
    tied: bool = False  #: the head is the embedding

    @property
    def inner(self):
        return self.feed_forward or 4 * self.hidden

    @property
    def shared(self):
        """Width of keys and of values."""
        return self.hidden // self.heads * (self.kv_heads or self.heads)


def matrices(sizes):
    """Elements of a layer's weights that are multiplied."""
    return 2 * sizes.hidden * (sizes.hidden + sizes.shared) + (3 if sizes.gated else 2) * sizes.hidden * sizes.inner


def weights(sizes):
    hidden = sizes.hidden
    if sizes.gated:
        other, last = 2 * hidden + (2 * hidden // sizes.heads if sizes.head_norms else 0), hidden
    else:  # two norms of scale and shift, and the biases
        other, last = 4 * hidden + hidden + 2 * sizes.shared + hidden + sizes.inner + hidden, 2 * hidden
    tables = sizes.vocabulary * (1 if sizes.tied else 2) + sizes.positions
    return sizes.layers * (matrices(sizes) + other) + tables * hidden + last


def forward_flops(sizes, tokens, context):
    """2 × multiply-adds of `tokens` tokens of one text that each see `context` tokens."""
    return 2 * tokens * (sizes.layers * (matrices(sizes) + 2 * context * sizes.hidden) + sizes.vocabulary * sizes.hidden)
