"""The five networks whose training steps are recorded, each as a list of stages that can stand on different devices.

Written out here so that the same graphs run with any PyTorch from 1.13 on, with or without torchvision. The totals of
`parameters` are those of the published networks (ResNet-152, Inception-V3 without its auxiliary classifier, BERT-Base,
GPT-2 small) and, for the sequence-to-sequence LSTM, of the formula in lstm_seq2seq(); build() refuses any other.

A stage reads named tensors and writes one. Whoever runs the stages moves what a stage reads to where the stage is, once
for each tensor and device: that is the placement's traffic.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


class Stage(nn.Module):
    """`module` applied to the tensors `reads`, giving the tensor `writes`."""

    def __init__(self, name, reads, writes, module):
        super().__init__()
        self.name, self.reads, self.writes, self.module = name, reads, writes, module

    def forward(self, *tensors):
        return self.module(*tensors)


@dataclasses.dataclass
class Model:
    name: str
    stages: nn.ModuleList
    inputs: callable  # batch -> {name: tensor}, labels under "labels"
    loss: callable  # (last stage's output, labels) -> scalar
    optimizer: callable  # parameters, **options -> optimizer
    tied: tuple  # stages that must share a device, as (kept, follows) indices


# ---- convolutional -------------------------------------------------------------------------------


class ConvNorm(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1, padding=None, relu=True, eps=1e-5):
        super().__init__()
        if padding is None:
            kernels = (kernel, kernel) if isinstance(kernel, int) else kernel
            padding = tuple(size // 2 for size in kernels)
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=eps)
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
    def __init__(self, features, classes=1000, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(features, classes)

    def forward(self, x):
        return self.linear(self.dropout(x.mean((2, 3))))


def _sequential(names_and_modules):
    return nn.ModuleList(Stage(name, ("x",), "x", module) for name, module in names_and_modules)


def _images(side):
    return lambda batch: {"x": torch.randn(batch, 3, side, side), "labels": torch.randint(1000, (batch,))}


def momentum(parameters, **options):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, **options)


def resnet152(quick):
    stages = [("stem", nn.Sequential(ConvNorm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)))]
    inputs = 64
    for group, (blocks, width) in enumerate(((3, 64), (8, 128), (36, 256), (3, 512))):
        for block in range(blocks):
            stride = 2 if block == 0 and group > 0 else 1
            stages.append((f"group{group}_block{block}", Bottleneck(inputs, width, stride)))
            inputs = 4 * width
    stages.append(("classifier", PooledClassifier(inputs)))
    return Model("resnet152", _sequential(stages), _images(64 if quick else 224), functional.cross_entropy, momentum, ())


class Branches(nn.Module):
    """Branches over one input, their outputs concatenated by channel."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def _conv(inputs, outputs, kernel, stride=1, padding=None):
    return ConvNorm(inputs, outputs, kernel, stride, padding, eps=1e-3)


def _inception_a(inputs, pooled):
    return Branches(
        _conv(inputs, 64, 1),
        nn.Sequential(_conv(inputs, 48, 1), _conv(48, 64, 5)),
        nn.Sequential(_conv(inputs, 64, 1), _conv(64, 96, 3), _conv(96, 96, 3)),
        nn.Sequential(nn.AvgPool2d(3, 1, 1), _conv(inputs, pooled, 1)))


def _inception_b(inputs):
    return Branches(
        _conv(inputs, 384, 3, 2, 0),
        nn.Sequential(_conv(inputs, 64, 1), _conv(64, 96, 3), _conv(96, 96, 3, 2, 0)),
        nn.MaxPool2d(3, 2))


def _inception_c(width):
    row, column = (1, 7), (7, 1)
    return Branches(
        _conv(768, 192, 1),
        nn.Sequential(_conv(768, width, 1), _conv(width, width, row), _conv(width, 192, column)),
        nn.Sequential(_conv(768, width, 1), _conv(width, width, column), _conv(width, width, row),
                      _conv(width, width, column), _conv(width, 192, row)),
        nn.Sequential(nn.AvgPool2d(3, 1, 1), _conv(768, 192, 1)))


def _inception_d():
    return Branches(
        nn.Sequential(_conv(768, 192, 1), _conv(192, 320, 3, 2, 0)),
        nn.Sequential(_conv(768, 192, 1), _conv(192, 192, (1, 7)), _conv(192, 192, (7, 1)), _conv(192, 192, 3, 2, 0)),
        nn.MaxPool2d(3, 2))


def _inception_e(inputs):
    def split():
        return Branches(_conv(384, 384, (1, 3)), _conv(384, 384, (3, 1)))

    return Branches(
        _conv(inputs, 320, 1),
        nn.Sequential(_conv(inputs, 384, 1), split()),
        nn.Sequential(_conv(inputs, 448, 1), _conv(448, 384, 3), split()),
        nn.Sequential(nn.AvgPool2d(3, 1, 1), _conv(inputs, 192, 1)))


def inception_v3(quick):
    stages = [
        ("stem1", nn.Sequential(_conv(3, 32, 3, 2, 0), _conv(32, 32, 3, 1, 0), _conv(32, 64, 3), nn.MaxPool2d(3, 2))),
        ("stem2", nn.Sequential(_conv(64, 80, 1), _conv(80, 192, 3, 1, 0), nn.MaxPool2d(3, 2)))]
    stages += [(f"a{i}", _inception_a(inputs, pooled)) for i, (inputs, pooled) in
               enumerate(((192, 32), (256, 64), (288, 64)))]
    stages += [("b0", _inception_b(288))]
    stages += [(f"c{i}", _inception_c(width)) for i, width in enumerate((128, 160, 160, 192))]
    stages += [("d0", _inception_d()), ("e0", _inception_e(1280)), ("e1", _inception_e(2048)),
               ("classifier", PooledClassifier(2048, dropout=0.5))]
    return Model("inception_v3", _sequential(stages), _images(139 if quick else 299), functional.cross_entropy,
                 momentum, ())


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


def adam(parameters, **options):
    return torch.optim.AdamW(parameters, lr=1e-4, **options)


def _token_loss(logits, labels):
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def bert_base(quick):
    length, tokens = (32 if quick else 128), 30522
    stages = [("embedding", Embedding(tokens, 512, 768, segments=2))]
    stages += [(f"layer{i}", Block(768, 12, False, False, 0.1, 1e-12)) for i in range(12)]
    stages += [("classifier", PooledHead(768))]

    def inputs(batch):
        return {"x": torch.randint(tokens, (batch, length)), "labels": torch.randint(2, (batch,))}

    return Model("bert_base", _sequential(stages), inputs, functional.cross_entropy, adam, ())


def gpt2_small(quick):
    length, tokens = (32 if quick else 512), 50257
    embedding = Embedding(tokens, 1024, 768)
    stages = [("embedding", embedding)]
    stages += [(f"layer{i}", Block(768, 12, True, True, 0.1, 1e-5)) for i in range(12)]
    stages += [("head", TiedHead(768, embedding.token))]

    def inputs(batch):
        ids = torch.randint(tokens, (batch, length + 1))
        return {"x": ids[:, :-1].contiguous(), "labels": ids[:, 1:].contiguous()}

    return Model("gpt2_small", _sequential(stages), inputs, _token_loss, adam, ((0, len(stages) - 1),))


# ---- recurrent -----------------------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.lstm = nn.LSTM(inputs, width, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Context(nn.Module):
    """Luong's attention (general score) of the decoder over the encoder, teacher-forced, and its tanh layer."""

    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, width, bias=False)
        self.combine = nn.Linear(2 * width, width, bias=False)

    def forward(self, decoded, encoded):
        weights = (decoded @ self.score(encoded).transpose(1, 2)).softmax(2)
        return torch.tanh(self.combine(torch.cat((weights @ encoded, decoded), 2)))


def lstm_seq2seq(quick, width=512, layers=2, vocabulary=32000):
    """Embeddings 2VW, 2L layers of 8W^2 + 8W, attention 3W^2, projection VW + V: 58,375,424 with the defaults."""
    length = 8 if quick else 32

    def chain(side, reads):
        name = "source" if side == "encoder" else "target"
        found = [Stage(side + "_embedding", (reads,), name + "0", nn.Embedding(vocabulary, width))]
        return found + [Stage(f"{side}_lstm{i}", (f"{name}{i}",), f"{name}{i + 1}", Recurrent(width, width))
                        for i in range(layers)]

    stages = chain("encoder", "source_ids") + chain("decoder", "target_ids")
    stages += [Stage("attention", (f"target{layers}", f"source{layers}"), "context", Context(width)),
               Stage("projection", ("context",), "logits", nn.Linear(width, vocabulary))]

    def inputs(batch):
        ids = torch.randint(vocabulary, (3, batch, length))
        return {"source_ids": ids[0], "target_ids": ids[1], "labels": ids[2]}

    return Model("lstm_seq2seq", nn.ModuleList(stages), inputs, _token_loss, adam, ())


# ---- the table -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Row:
    build: callable
    parameters: int  # trainable, shared ones once
    batches: tuple  # the smaller one is also the batch of the placements
    what: str


MODELS = {
    "resnet152": Row(resnet152, 60_192_808, (2, 32), "224x224 images, SGD with momentum"),
    "inception_v3": Row(inception_v3, 23_834_568, (2, 32), "299x299 images, no auxiliary classifier, SGD with momentum"),
    "bert_base": Row(bert_base, 109_482_240 + 1_538, (2, 32), "128 tokens, two-class head (1,538), AdamW"),
    "gpt2_small": Row(gpt2_small, 124_439_808, (1, 8), "512 tokens, head tied to the embedding, AdamW"),
    "lstm_seq2seq": Row(lstm_seq2seq, 58_375_424, (8, 64), "2+2 layers of 512, 32 source and target tokens, AdamW"),
}


def parameters_of(model):
    return sum(parameter.numel() for parameter in model.stages.parameters())


def build(name, quick):
    """The model with weights from seed 1, in training mode, on the CPU."""
    torch.manual_seed(1)
    model = MODELS[name].build(quick)
    found = parameters_of(model)
    if found != MODELS[name].parameters:
        raise AssertionError(f"{name} has {found} parameters, published are {MODELS[name].parameters}")
    model.stages.train()
    return model
