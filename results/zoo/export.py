#!/usr/bin/env python3
"""Exports models of torchvision as ONNX files, to be imported by stowplan and compared with its own builders.

    export.py FOLDER [MODEL...]        all models of MODELS if none is named

Needs python3-torch, python3-torchvision and python3-onnx (.ci/install --with-python). Nothing is downloaded: weights are random, and are
thrown away after the export (external data without its file), as only shapes matter.

- Batch normalisation stays an op of its own (TrainingMode.PRESERVE in eval mode), as in a graph that is trained.
- Random weights on purpose: PyTorch's exporter makes one initializer of tensors with equal values, and fresh scales and
  shifts of normalisations are all ones and zeros, so that parameters would be missing from the count.
- The batch is the symbolic dimension "batch".
"""

import os
import sys

import onnx
import onnx.external_data_helper
import torch
import torchvision


def _vision(name, **options):
    return lambda: getattr(torchvision.models, name)(weights=None, **options)


def _resnet152_first_version():
    """The first version of the paper: the stride sits in a block's first 1 x 1 convolution, torchvision has it in the 3 x 3."""
    model = torchvision.models.resnet152(weights=None)
    for layer in (model.layer2, model.layer3, model.layer4):
        layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
    return model


# name: (how it is made, image size)
MODELS = {
    "resnet152": (_vision("resnet152"), 224),
    "resnet152_v1": (_resnet152_first_version, 224),
    "inception_v3": (_vision("inception_v3", init_weights=False, aux_logits=True), 299),
    "resnet50": (_vision("resnet50"), 224),
    "vgg16": (_vision("vgg16"), 224),
    "mobilenet_v2": (_vision("mobilenet_v2"), 224),
    "densenet121": (_vision("densenet121"), 224),
    "vit_b_16": (_vision("vit_b_16"), 224),
}


def _randomise(model):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for tensor in list(model.parameters()) + [b for b in model.buffers() if b.is_floating_point()]:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) * 0.1 + 0.01)


def _without_weights(path):
    """Marks large tensors as external data in a file that is not written."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 1024:
            onnx.external_data_helper.set_external_data(tensor, "weights.bin", 0, len(tensor.raw_data))
            tensor.ClearField("raw_data")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def export(name, folder):
    make, size = MODELS[name]
    model = make().eval()
    _randomise(model)
    path = os.path.join(folder, name + ".onnx")
    torch.onnx.export(model, torch.zeros(2, 3, size, size), path, training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=False, opset_version=14, input_names=["images"], output_names=["logits"],
                      dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}})
    _without_weights(path)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{path}: {parameters:,} parameters in torch {torch.__version__}, torchvision {torchvision.__version__}")


def main(arguments):
    if not arguments or any(name not in MODELS for name in arguments[1:]):
        sys.exit(f"usage: export.py FOLDER [MODEL...]; models: {', '.join(MODELS)}")
    os.makedirs(arguments[0], exist_ok=True)
    for name in arguments[1:] or MODELS:
        export(name, arguments[0])


if __name__ == "__main__":
    main(sys.argv[1:])
