"""Steps of MPT models (mosaicml/llm-foundry, README of its benchmarks, Apache-2.0): bf16, FSDP, tokens/s of a GPU.

Predicted is one micro-batch, forward and backward, on one GPU with all weights in bf16, as FSDP gathers them. With activation checkpointing each
layer's forward pass is repeated. Attention is the kernel of that time. What FSDP sends is not in it, so that a predicted time should be below the
measured one where sending does not hide behind computing. Adam on an eighth of f32 weights moves about as many bytes as the plain update in bf16
that stands for it. Of rows that differ in GPUs alone, the one with the fewest; beyond one host of eight, none.
"""
import csv
import functools

from .case import Case
from .decoder import Sizes

GPUS = {"a100_80gb": "a100", "h100_80gb": "h100"}
#: layers, hidden, heads; sizes of the repository's YAML files.
MODELS = {"125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16), "3b": (32, 2560, 20), "7b": (32, 4096, 32),
          "13b": (40, 5120, 40), "30b": (48, 7168, 56), "70b": (80, 8192, 64)}
VOCABULARY = 50368
HOST = 8
#: `attn_impl: triton` of the runs' configuration (scripts/train/benchmarking, PyTorch 1.13)
KERNEL = "flash_1_triton"


def sizes(model, sequence):
    layers, hidden, heads = MODELS[model]
    return Sizes(layers, hidden, heads, VOCABULARY, gated=False, positions=sequence, tied=True)


def cases(data):
    with (data / "measured/llm_foundry.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        model, sequence, micro, repeated = row["model"], int(row["seq"]), int(row["micro"]), row["checkpointing"] == "1"
        name = f"{model} {sequence} x {micro}" + (" checkpointing" if repeated else "")
        tokens = sequence * micro
        case = Case("llm-foundry", GPUS[row["gpu"]], "bf16", f"MPT {model}", name, tokens / float(row["measured_tok_s_gpu"]) * 1e6, tokens,
                    build=functools.partial(_step, model, sequence, micro, repeated), key=f"llm-foundry {name}", note="without communication")
        if int(row["gpus"]) > min(int(other["gpus"]) for other in rows if all(other[key] == row[key] for key in ("gpu", "model", "seq"))):
            case.left_out = "a row with fewer GPUs is there"
        elif int(row["gpus"]) > HOST:
            case.left_out = "sends between hosts"
        case.name += f" on {row['gpus']}" if case.left_out else ""
        yield case


def _step(model, sequence, micro, repeated):
    import torch
    from stowplan import capture

    from .decoder_model import Decoder, made
    net = made("bf16", lambda: Decoder(sizes(model, sequence), repeated=repeated))
    tokens = torch.zeros(micro, sequence, dtype=torch.int64, device="meta")
    return with_kernel(capture.graph(net, (tokens,), train=True, optimizer="sgd", name=f"mpt-{model}"), KERNEL)


def with_kernel(graph, kernel):
    """The graph with that kernel of attention."""
    from stowplan import Graph
    changed = graph.to_dict()
    for op in changed["ops"]:
        if op["type"] in ("Attention", "AttentionGrad"):
            op["attributes"]["kernel"] = kernel
    return Graph.from_dict(changed)
