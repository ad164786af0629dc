"""Llama 3 in f16 by llama.cpp (XiongjieDai/GPU-Benchmarks-on-LLM-Inference): 1,024 tokens generated one by one, or a prompt of 1,024.

Several GPUs of one kind hold a share of the layers each and take turns, so that they are as fast as one of enough memory but for what they hand
over. Attention is products and a softmax, a prompt goes through in parts of 512 tokens, and of a text only the last token's scores are asked for.
"""
import csv
import functools

from .case import Case
from .decoder import Sizes

MODELS = {"8B": Sizes(32, 4096, 32, 128256, feed_forward=14336, kv_heads=8), "70B": Sizes(80, 8192, 64, 128256, feed_forward=28672, kv_heads=8)}
TOKENS, PART = 1024, 512
#: Prompts of the A100: 8B at a twelfth of the rate that its generation says, slower than 70B on the same GPUs.
SUSPECT = "suspect: slower than 70B on the same GPU"


def cases(data):
    with (data / "measured/llama_cpp.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["measured_tok_s"]]
    for row in rows:
        model, prompt = row["model"], row["what"] == "pp"
        tokens = TOKENS if prompt else 1
        case = Case("llama.cpp prompt" if prompt else "llama.cpp generation", row["gpu"], "f16", f"Llama 3 {model}", f"{model} x {row['count']} GPUs",
                    tokens / float(row["measured_tok_s"]) * 1e6, tokens, build=functools.partial(_prompt if prompt else _token, model),
                    key=f"llama.cpp {model} {row['what']}", host="graph",
                    note="" if row["count"] == "1" else "without communication")
        if prompt and model == "8B" and row["gpu"] == "a100":
            case.left_out = SUSPECT
        yield case


def _run(model, tokens, seen):
    import torch
    from stowplan import capture

    from .decoder_model import Decoder, caches, made
    sizes = MODELS[model]
    net, cache = made("f16", lambda: (Decoder(sizes, fused=False, last_alone=True, part=PART), caches(sizes, 1, seen + tokens)))
    return capture.graph(net, (torch.zeros(1, tokens, dtype=torch.int64, device="meta"), cache, seen), name=f"llama-3-{model}")


def _prompt(model):
    return _run(model, TOKENS, 0)


def _token(model):
    """The one in the middle."""
    return _run(model, 1, TOKENS // 2)
