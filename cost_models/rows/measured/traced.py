"""Steps of which torch.profiler's files are there: the kernels of a step, added up, against the GPU's busy time.

Inference (AMD-AGI/TraceLens, MIT): the models are made anew, with the sizes of their repositories and the shapes of the file. Eight ranks of a step of
DLRM (facebookresearch/param, MIT): the ops and shapes of their execution traces. Copies from and to the host are left out of what was measured, and so is
the waiting in NCCL's kernels; a lone rank's collectives take the time of their bytes.
"""
import gzip
import json

from .case import Case
from .decoder import Sizes

#: Part of the file's name: GPU, family, what makes it, what the graph does otherwise.
STEPS = {
    "h100_Falconsai_nsfw": ("h100", "ViT", "_vit", ""),
    "mi300_Falconsai_nsfw": ("mi300x", "ViT", "_vit", ""),
    "h100_facebook_timesformer": ("h100", "TimeSformer", "_timesformer", ""),
    "h100_gaunernst_bert": ("h100", "BERT", "_bert", ""),
    "sglang_Qwen3-8B_decode": ("mi300x", "Qwen 3", "_qwen_token", "attention and norms as ops of their own"),
    "torch_compile": ("mi300x", "compiled layer", "_layer", "not fused"),
}
QWEN_3_8B = Sizes(36, 4096, 32, 151936, feed_forward=12288, kv_heads=8, head_norms=True)
QWEN_BATCH, QWEN_SEEN = 32, 1024
LAYER = Sizes(1, 2048, 16, 1, feed_forward=8192)  # of which one layer alone runs


def cases(data):
    for path in sorted((data / "gpu/traces/tracelens").glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        gpu, family, build, note = next((step for part, step in STEPS.items() if part in name), ("", "", "", ""))
        us = kernel_us(path)
        if build:
            yield Case("traces", gpu, "bf16", family, name, us, build=globals()[build], key=f"trace {family}", device_time=True, note=note)
        else:
            yield Case("traces", name.partition("_")[0], "bf16", "unknown", name, us, left_out="tells no shapes")
    for path in sorted((data / "gpu/traces/dlrm_8_v100").glob("*.et.json.gz")):
        rank = path.name.removesuffix(".et.json.gz")
        yield Case("traces", "v100", "f32", "DLRM", f"DLRM {rank}", kernel_us(path.with_name(f"{rank}.kineto.json.gz")), workload=str(path),
                   device_time=True, note="without communication")


def kernel_us(path):
    """Of all kernels but those that wait for other GPUs."""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    return sum(event["dur"] for event in events if event.get("cat") in ("kernel", "gpu_memset") and not event["name"].startswith("nccl"))


def _captured(make, name):
    from stowplan import capture

    from .decoder_model import made
    model, kwargs = made("bf16", make)
    return capture.graph(model, (), kwargs, name=name)


def _vit():
    import torch
    from transformers import ViTConfig, ViTForImageClassification
    return _captured(lambda: (ViTForImageClassification(ViTConfig(num_labels=2)), {"pixel_values": torch.zeros(4, 3, 224, 224)}), "vit-base")


def _timesformer():
    import torch
    from transformers import TimesformerConfig, TimesformerForVideoClassification
    return _captured(lambda: (TimesformerForVideoClassification(TimesformerConfig(num_labels=400)), {"pixel_values": torch.zeros(1, 128, 3, 224, 224)}),
                     "timesformer-base")


def _bert():
    import torch
    from transformers import BertConfig, BertForMaskedLM
    config = BertConfig(hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048)
    return _captured(lambda: (BertForMaskedLM(config), {"input_ids": torch.zeros(1, 141, dtype=torch.int64)}), "bert-small")


def _qwen_token():
    import torch

    from .decoder_model import Decoder, caches
    return _captured(lambda: (Decoder(QWEN_3_8B), {"tokens": torch.zeros(QWEN_BATCH, 1, dtype=torch.int64), "seen": QWEN_SEEN,
                                                   "caches": caches(QWEN_3_8B, QWEN_BATCH, QWEN_SEEN + 1)}), "qwen3-8b")


def _layer():
    import torch

    from .decoder_model import Block
    return _captured(lambda: (Block(LAYER, fused=True), {"x": torch.zeros(8, 4096, LAYER.hidden)}), "layer")
