"""Training steps of TensorFlow 1 on a K80 die (TensorFlow's guide "Benchmarks", May 2017): f32, synthetic images, SGD, one GPU.

Batches are those of the guide (recalled). Our workloads where there are, else torchvision's networks.
"""
import csv
import functools

from .case import Case

BATCH = {"inception_v3": 64, "resnet50": 64, "resnet152": 32, "alexnet": 512, "vgg16": 32}
WORKLOADS = {"inception_v3": "inception_v3(batch=64,optimizer=sgd)", "resnet152": "resnet_152(batch=32,optimizer=sgd)"}


def cases(data):
    with (data / "measured/tensorflow_2017.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            model, count = row["model"], int(row["gpus"])
            batch = BATCH[model]
            yield Case("TensorFlow 2017", "k80", "f32", model, f"{model} {batch}" + (f" x {count} GPUs" if count > 1 else ""),
                       batch * count / float(row["published_img_s"]) * 1e6, batch * count, workload=WORKLOADS.get(model, ""),
                       build=functools.partial(_step, model, batch), key=f"tensorflow {model} {batch}",
                       left_out="needs communication" if count > 1 else "")


def _step(model, batch):
    import torch
    import torchvision
    from stowplan import capture
    with torch.device("meta"):
        net, images = getattr(torchvision.models, model)(), torch.zeros(batch, 3, 224, 224)
    return capture.graph(net, (images,), train=True, optimizer="sgd", name=model)
