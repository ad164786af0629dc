"""Steps on many GPUs: a captured step of one micro-batch, put in a layout by the workload `layout`.

| source | model | what a row is |
|---|---|---|
| SimuMax (docs/b200, Apache-2.0) | Llama 3 of 12 or 4 layers | ms and GiB a step of Megatron on 8 B200, micro-batch of 1, sequence 4096, distributed optimizer |
| torchtitan (benchmarks of December 2024, BSD) | Llama 3.1 | tokens/s and GiB a GPU, H100 in hosts of 8 |
| Megatron-LM (table 1 of SC'21) | GPT | TFLOP/s a GPU, A100 in hosts of 8, all activations recomputed; micro-batches and stages of its `examples/sc21` |
| llm-foundry (benchmarks, Apache-2.0) | MPT | tokens/s a GPU, FSDP, 8 to 512 GPUs |
| Sailor (validation, MIT) | GPT-Neo 2.7B | s a step on GH200, four a host |

What no graph is made for yet is listed with the reason: experts, context parallel, float8, mixed GPUs.
"""
import csv
import functools
import re

from . import llm_foundry
from .case import Case
from .decoder import Sizes

SIMUMAX = {"llama3_70b": (8192, 64, 8, 28672), "llama3_405b": (16384, 128, 16, 53248)}  # hidden, heads, kv heads, feed-forward; simumax_models.json
LLAMA_3_1 = {"llama3.1-8b": (32, 4096, 32, 8, 14336), "llama3.1-70b": (80, 8192, 64, 8, 28672), "llama3.1-405b": (126, 16384, 128, 8, 53248)}
LLAMA_VOCABULARY = 128256
#: micro-batch, layers a virtual stage (0: as many as a stage)
MEGATRON = {"1.7B": (16, 0), "7.5B": (16, 0), "39.1B": (4, 0), "145.6B": (2, 5), "529.6B": (1, 1)}
MEGATRON_VOCABULARY, MEGATRON_SEQUENCE = 51200, 2048
UNFUSED = "unfused"  # attention of 2021: products and a softmax
GPT_NEO = Sizes(32, 2560, 20, 50257, gated=False, positions=2048, tied=True)
GPT_NEO_SEQUENCE = 2048


def cases(data):
    for name, make in (("simumax_b200", _simumax), ("torchtitan_h100", _torchtitan), ("megatron_a100_2021", _megatron), ("llm_foundry", _llm_foundry),
                       ("sailor", _sailor)):
        with (data / f"measured/{name}.csv").open(newline="") as file:
            yield from map(make, csv.DictReader(file))


def _case(source, gpu, family, name, us, tokens, gpus, layout, build, *, a_host=8, gib=0.0, left_out=""):
    """`build`: (sizes, sequence), and the kernel of attention where it is not today's."""
    case = Case(source, gpu, "bf16", family, name, us, tokens, hosts=(gpus, a_host), layout=",".join(f"{key}={value}" for key, value in layout.items()) + ",batch=each",
                measured_gib=gib, left_out=left_out)
    if not left_out:
        sizes, sequence, *kernel = build
        micro = tokens // sequence // (layout.get("data", 1) * layout.get("micro_batches", 1))
        case.build = functools.partial(_step, sizes, sequence, micro, *kernel)
        case.key = f"layout {family} {sequence} x {micro}"
    return case


def _simumax(row):
    name = row["case"]
    model = re.match("[a-z]+[0-9v]*(_[0-9]+b)?", name)[0]
    said = {key: int(value) for key, value in re.findall("(?:^|_)(l|tp|pp|dp|ep|cp|mbc|seq)([0-9]+)(?=_|$)", name)}
    left_out = "experts" if "ep" in said else "context parallel" if said.get("cp", 1) > 1 else ""
    layout = {"tensor": said.get("tp", 1), "pipeline": said["pp"], "data": said["dp"], "micro_batches": said["mbc"], "zero": 1, "sequence": "yes" if said.get("tp", 1) > 1 else "no"}
    sequence = said.get("seq", 4096)
    build = ()
    if not left_out:
        hidden, heads, shared, inner = SIMUMAX[model]
        build = Sizes(said["l"], hidden, heads, LLAMA_VOCABULARY, inner, shared), sequence
    return _case("SimuMax", "b200", f"{model} of {said['l']} layers", name, float(row["real_ms"]) * 1e3, sequence * said["mbc"] * said["dp"], 8, layout, build,
                 gib=float(row["real_alloc_gib"]), left_out=left_out)


def _torchtitan(row):
    model, gpus, batch, sequence = row["model"], int(row["gpus"]), int(row["local_batch"]), int(row["seq"])
    tensor, stages = int(row["tp"]), int(row["pp"])
    layout = {"tensor": tensor, "pipeline": stages, "data": int(row["fsdp"]), "zero": 3, "recompute": row["checkpointing"]}
    left_out = ("context parallel" if int(row["cp"]) > 1 else "float8" if "float8" in row["techniques"] else
                "compiled" if "compile" in row["techniques"] else "")
    layers, hidden, heads, shared, inner = LLAMA_3_1[model]
    us = batch * sequence / (tensor * stages) / float(row["measured_tok_s_gpu"]) * 1e6
    return _case("torchtitan", "h100", model, f"{model} {gpus} {row['techniques']} {sequence}", us, batch * sequence * int(row["fsdp"]), gpus, layout,
                 (Sizes(layers, hidden, heads, LLAMA_VOCABULARY, inner, shared), sequence), gib=float(row["peak_gib"]), left_out=left_out)


def _megatron(row):
    """Its FLOP are those of formula 3 of the paper, all activations computed twice."""
    layers, hidden, heads, batch, gpus = (int(row[key]) for key in ("layers", "hidden", "heads", "global_batch", "gpus"))
    tensor, stages = int(row["tp"]), int(row["pp"])
    micro, virtual = MEGATRON[row["model"]]
    data = gpus // (tensor * stages)
    layout = {"tensor": tensor, "pipeline": stages, "data": data, "micro_batches": batch // (data * micro), "recompute": "full"}
    s = MEGATRON_SEQUENCE
    flops = 96 * batch * s * layers * hidden**2 * (1 + s / (6 * hidden) + MEGATRON_VOCABULARY / (16 * layers * hidden))
    us = flops / gpus / float(row["measured_tflops_gpu"]) / 1e6
    return _case("Megatron-LM", "a100", f"GPT {row['model']}", f"{row['model']} {gpus}", us, batch * s, gpus, layout,
                 (Sizes(layers, hidden, heads, MEGATRON_VOCABULARY, gated=False, positions=s, tied=True), s, UNFUSED),
                 left_out="interleaved stages" if virtual else "")


def _llm_foundry(row):
    model, sequence, micro, gpus = row["model"], int(row["seq"]), int(row["micro"]), int(row["gpus"])
    layout = {"data": gpus, "zero": 3, "recompute": "full" if row["checkpointing"] == "1" else "none"}
    us = sequence * micro / float(row["measured_tok_s_gpu"]) * 1e6
    return _case("llm-foundry with FSDP", llm_foundry.GPUS[row["gpu"]], f"MPT {model}", f"{model} {sequence} x {micro} on {gpus}", us, sequence * micro * gpus, gpus,
                 layout, (llm_foundry.sizes(model, sequence), sequence, llm_foundry.KERNEL))


def _sailor(row):
    stages, data, tensor, micro, batch = (int(row[key].strip("[]")) for key in ("pp", "dp", "tp", "mbs", "gbs"))
    layout = {"tensor": tensor, "pipeline": stages, "data": data, "micro_batches": batch // (data * micro)}
    return _case("Sailor", "gh200", "GPT-Neo 2.7B", row["file"], float(row["real_s"]) * 1e6, batch * GPT_NEO_SEQUENCE, stages * data * tensor, layout,
                 (GPT_NEO, GPT_NEO_SEQUENCE), a_host=4, gib=float(row["max_mem"]) / 2**30,
                 left_out="GH200 is no kind of the catalogue" if row["gpus"].startswith("GH") else "mixed GPUs")


def _step(sizes, sequence, batch, kernel=""):
    import torch
    from stowplan import capture

    from .decoder_model import Decoder, made
    net = made("bf16", lambda: Decoder(sizes, fused=kernel != UNFUSED))
    tokens = torch.zeros(batch, sequence, dtype=torch.int64, device="meta")
    graph = capture.graph(net, (tokens,), train=True, optimizer="adam", name="decoder")
    return llm_foundry.with_kernel(graph, kernel) if kernel not in ("", UNFUSED) else graph
