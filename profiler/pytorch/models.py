"""The networks whose training steps are recorded.

Written out here so that the same graphs run with any PyTorch from 1.13 on, with or without torchvision. The totals of
`parameters` are those of the published networks (ResNet-50, BERT-Base, GPT-2 small) and, of the others, of the formulas beside
them; build() refuses any other. A quick one has few layers and small inputs: it tries the code and stands for nothing.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass
class Model:
    module: nn.Module
    inputs: callable  # batch -> (inputs of the module, labels)
    loss: callable  # (output, labels) -> scalar
    optimizer: callable  # parameters -> optimizer


# ---- convolutional -------------------------------------------------------------------------------


class ConvNorm(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1, relu=True):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.relu = relu

    def forward(self, x):
        x = self.norm(self.conv(x))
        return functional.relu(x, inplace=True) if self.relu else x


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.branch = nn.Sequential(ConvNorm(inputs, width, 1), ConvNorm(width, width, 3, stride),
                                    ConvNorm(width, 4 * width, 1, relu=False))
        self.shortcut = None
        if stride != 1 or inputs != 4 * width:
            self.shortcut = ConvNorm(inputs, 4 * width, 1, stride, relu=False)

    def forward(self, x):
        return functional.relu(self.branch(x) + (x if self.shortcut is None else self.shortcut(x)), inplace=True)


class PooledClassifier(nn.Module):
    def __init__(self, features, classes=1000):
        super().__init__()
        self.linear = nn.Linear(features, classes)

    def forward(self, x):
        return self.linear(x.mean((2, 3)))


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def resnet50(quick):
    layers, inputs = [ConvNorm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for group, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(1 if quick else blocks):
            layers.append(Bottleneck(inputs, width, 2 if block == 0 and group > 0 else 1))
            inputs = 4 * width
    side = 64 if quick else 224

    def images(batch):
        return (torch.randn(batch, 3, side, side),), torch.randint(1000, (batch,))

    return Model(nn.Sequential(*layers, PooledClassifier(inputs)), images, functional.cross_entropy, momentum)


# ---- attention -----------------------------------------------------------------------------------


class Attention(nn.Module):
    """Multi-head self-attention with its products written out (no fused kernel): the same ops in every version."""

    def __init__(self, width, heads, causal, dropout):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.project_in(x).split(width, 2))
        scores = q @ k.transpose(2, 3) / math.sqrt(width // self.heads)
        if self.causal:
            hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
        mixed = self.dropout(scores.softmax(3)) @ v
        return self.project_out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A transformer layer; `norm_first` as in GPT-2, after the addition as in BERT."""

    def __init__(self, width, heads, causal, norm_first, dropout, eps):
        super().__init__()
        self.norm_first = norm_first
        self.attention = Attention(width, heads, causal, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=eps), nn.LayerNorm(width, eps=eps)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm1(x)))
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.attention(x)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class Embedding(nn.Module):
    """Token and position embeddings; with `segments`, BERT's segment embedding (all zero here) and its norm."""

    def __init__(self, tokens, positions, width, segments=0):
        super().__init__()
        self.token = nn.Embedding(tokens, width)
        self.position = nn.Embedding(positions, width)
        self.segment = nn.Embedding(segments, width) if segments else None
        self.norm = nn.LayerNorm(width, eps=1e-12) if segments else None
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        if self.segment is not None:
            x = self.norm(x + self.segment(torch.zeros_like(ids)))
        return self.dropout(x)


class PooledHead(nn.Module):
    """BERT's pooler over the first token, and a classifier of two classes."""

    def __init__(self, width):
        super().__init__()
        self.pooler = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(width, 2)

    def forward(self, x):
        return self.classifier(self.dropout(torch.tanh(self.pooler(x[:, 0]))))


class TiedHead(nn.Module):
    """GPT-2's last norm and its projection to the vocabulary by the token embedding's own weights."""

    def __init__(self, width, embedding):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.projection = nn.Linear(width, embedding.num_embeddings, bias=False)
        self.projection.weight = embedding.weight

    def forward(self, x):
        return self.projection(self.norm(x))


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4)


def _token_loss(logits, labels):
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def _next_tokens(tokens, length):
    def inputs(batch):
        ids = torch.randint(tokens, (batch, length + 1))
        return (ids[:, :-1].contiguous(),), ids[:, 1:].contiguous()

    return inputs


def bert_base(quick):
    length, tokens = (32, 1000) if quick else (128, 30522)
    blocks = [Block(768, 12, False, False, 0.1, 1e-12) for _ in range(1 if quick else 12)]

    def inputs(batch):
        return (torch.randint(tokens, (batch, length)),), torch.randint(2, (batch,))

    return Model(nn.Sequential(Embedding(tokens, 512, 768, segments=2), *blocks, PooledHead(768)), inputs,
                 functional.cross_entropy, adam)


def gpt2_small(quick):
    length, tokens = (32, 1000) if quick else (512, 50257)
    embedding = Embedding(tokens, 1024, 768)
    blocks = [Block(768, 12, True, True, 0.1, 1e-5) for _ in range(1 if quick else 12)]
    return Model(nn.Sequential(embedding, *blocks, TiedHead(768, embedding.token)), _next_tokens(tokens, length),
                 _token_loss, adam)


# ---- a mixture of experts ------------------------------------------------------------------------


class Experts(nn.Module):
    """Feed-forward experts of which each token takes two. Each expert has a fixed number of places, a quarter more than if all
    were chosen as often; who finds none is passed by. So all shapes are fixed, as compilers want them.
    """

    def __init__(self, width, hidden, experts):
        super().__init__()
        self.experts = experts
        self.router = nn.Linear(width, experts, bias=False)
        self.first = nn.Parameter(torch.randn(experts, width, hidden) / math.sqrt(width))
        self.second = nn.Parameter(torch.randn(experts, hidden, width) / math.sqrt(hidden))

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        share, chosen = self.router(tokens).softmax(1).topk(2, 1)
        places = tokens.shape[0] * 2 * 5 // (4 * self.experts)
        taken = functional.one_hot(chosen.reshape(-1), self.experts)
        place = (taken.cumsum(0) * taken).sum(1) - 1
        nowhere = self.experts * places
        slot = torch.where(place < places, chosen.reshape(-1) * places + place, torch.full_like(place, nowhere))
        twice = tokens.repeat_interleave(2, 0)
        held = torch.zeros(nowhere + 1, tokens.shape[1], dtype=x.dtype, device=x.device).index_add(0, slot, twice)
        hidden = functional.gelu(torch.bmm(held[:-1].view(self.experts, places, -1), self.first))
        made = torch.bmm(hidden, self.second).reshape(nowhere, -1)
        given = functional.pad(made, (0, 0, 0, 1))[slot] * share.reshape(-1, 1)
        return given.view(-1, 2, tokens.shape[1]).sum(1).view_as(x)


class ExpertBlock(nn.Module):
    def __init__(self, width, heads, hidden, experts):
        super().__init__()
        self.attention = Attention(width, heads, True, 0.0)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.experts = Experts(width, hidden, experts)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.experts(self.norm2(x))


def moe(quick, width=512, hidden=1024, experts=8, layers=4, tokens=10000, length=256):
    """Token embedding VW, position embedding NW, layers of 4W^2 + 4W (attention), 4W (norms), WE (router) and 2EWH (experts), a
    norm 2W, a head VW: 48,153,600 with the defaults.
    """
    if quick:
        tokens, length = 1000, 32
    blocks = [ExpertBlock(width, 8, hidden, experts) for _ in range(1 if quick else layers)]
    head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, tokens, bias=False))
    return Model(nn.Sequential(Embedding(tokens, length, width), *blocks, head), _next_tokens(tokens, length),
                 _token_loss, adam)


# ---- recurrent -----------------------------------------------------------------------------------


class Context(nn.Module):
    """Luong's attention (general score) of the decoder over the encoder, teacher-forced, and its tanh layer."""

    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, width, bias=False)
        self.combine = nn.Linear(2 * width, width, bias=False)

    def forward(self, decoded, encoded):
        weights = (decoded @ self.score(encoded).transpose(1, 2)).softmax(2)
        return torch.tanh(self.combine(torch.cat((weights @ encoded, decoded), 2)))


class Translator(nn.Module):
    def __init__(self, width, layers, vocabulary):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.encoder = nn.LSTM(width, width, layers, batch_first=True)
        self.decoder = nn.LSTM(width, width, layers, batch_first=True)
        self.context = Context(width)
        self.projection = nn.Linear(width, vocabulary)

    def forward(self, source_ids, target_ids):
        encoded, _ = self.encoder(self.source(source_ids))
        decoded, _ = self.decoder(self.target(target_ids))
        return self.projection(self.context(decoded, encoded))


def lstm_seq2seq(quick, width=512, layers=2, vocabulary=32000):
    """Embeddings 2VW, 2L layers of 8W^2 + 8W, attention 3W^2, projection VW + V: 58,375,424 with the defaults."""
    length = 8 if quick else 32
    if quick:
        width, vocabulary = 128, 1000

    def inputs(batch):
        ids = torch.randint(vocabulary, (3, batch, length))
        return (ids[0], ids[1]), ids[2]

    return Model(Translator(width, layers, vocabulary), inputs, _token_loss, adam)


# ---- the table -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Row:
    build: callable
    parameters: int  # trainable, shared ones once
    batch: int
    what: str
    ways: tuple = ("eager", "compiled")


MODELS = {
    "gpt2_small": Row(gpt2_small, 124_439_808, 8, "512 tokens, head tied to the embedding, AdamW"),
    "resnet50": Row(resnet50, 25_557_032, 32, "224x224 images, SGD with momentum", ("eager", "amp", "compiled")),
    "bert_base": Row(bert_base, 109_482_240 + 1_538, 32, "128 tokens, two-class head (1,538), AdamW"),
    "lstm_seq2seq": Row(lstm_seq2seq, 58_375_424, 64, "2+2 layers of 512, 32 source and target tokens, AdamW"),
    "moe": Row(moe, 48_153_600, 16, "256 tokens, 4 layers of 512, 2 of 8 experts of 1,024 each, AdamW"),
}


def parameters_of(model):
    return sum(parameter.numel() for parameter in model.module.parameters())


def build(name, quick):
    """The model with weights from seed 1, in training mode, on the CPU."""
    torch.manual_seed(1)
    model = MODELS[name].build(quick)
    found = parameters_of(model)
    if not quick and found != MODELS[name].parameters:
        raise AssertionError(f"{name} has {found} parameters, {MODELS[name].parameters} are right")
    model.module.train()
    return model
