"""Images of timm (huggingface/pytorch-image-models, results/, Apache-2.0): AMP in f16, channels last, one GPU.

Inference: PyTorch 2.4. All rows of timm_inference.csv; of timm_inference_rtx3090_all.csv about SAMPLE of the others, each family's share, chosen by a
hash of the name. Training: PyTorch 1.12, which had no fused attention; SGD with momentum.
"""
import csv
import functools
import hashlib
import warnings

from .case import Case

SAMPLE = 150


def cases(data):
    folder = data / "measured"
    chosen = _rows(folder / "timm_inference.csv")
    known = {row["model"] for row in chosen}
    every = [{"model": row["model"], "size": row["infer_img_size"], "gpu": "rtx3090", "measured_img_s": row["infer_samples_per_sec"],
              "batch": row["infer_batch_size"]} for row in _rows(folder / "timm_inference_rtx3090_all.csv") if row["model"] not in known]
    for source, rows in (("timm inference", chosen), ("timm inference, sample", sample(every, _family))):
        for row in rows:
            yield _case(source, row["gpu"], row, functools.partial(_inference, row["model"], int(row["batch"]), int(row["size"])), row["size"])
    for row in _rows(folder / "timm_training_rtx3090.csv"):
        yield _case("timm training", "rtx3090", row, functools.partial(_training, row["model"], int(row["batch"])))


def _rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def sample(rows, family, wanted=SAMPLE):
    """At least one of each family, else as many as its share of all."""
    families = {}
    for row in rows:
        families.setdefault(family(row["model"]), []).append(row)
    chosen = []
    for name in sorted(families):
        members = sorted(families[name], key=lambda row: hashlib.sha256(row["model"].encode()).hexdigest())
        chosen += members[:max(1, round(wanted * len(members) / len(rows)))]
    return chosen


def _case(source, gpu, row, build, size=""):
    batch = int(row["batch"])
    name = f"{row['model']} {batch}" + (f" {size}" if size else "")
    return Case(source, gpu, "f16", _family(row["model"]), name, batch / float(row["measured_img_s"]) * 1e6, batch, build=build, key=f"{source} {name}")


def _family(model):
    """The module of timm that has it."""
    from timm.models import is_model, model_entrypoint
    return model_entrypoint(model).__module__.rpartition(".")[2] if is_model(model) else "unknown"


def _made(model, batch, size, fused):
    import timm
    import torch
    from timm.layers import set_fused_attn
    warnings.simplefilter("ignore")
    set_fused_attn(fused)
    with torch.device("meta"):
        net = timm.create_model(model)
        wanted = size or net.default_cfg["input_size"][1]
        if net.default_cfg.get("fixed_input_size") and wanted != net.default_cfg["input_size"][1]:
            net = timm.create_model(model, img_size=wanted)
        images = torch.zeros(batch, net.default_cfg["input_size"][0], wanted, wanted)
    return net.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)


def _inference(model, batch, size):
    from stowplan import capture
    net, images = _made(model, batch, size, fused=True)
    return capture.graph(net, (images,), autocast="f16", name=model)


def _training(model, batch):
    from stowplan import capture
    net, images = _made(model, batch, 0, fused=False)
    return capture.graph(net, (images,), train=True, optimizer="momentum", autocast="f16", name=model)
