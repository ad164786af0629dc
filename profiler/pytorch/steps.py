"""Training steps of whole networks. MEANING below is written into the recording."""

import time

import torch

import kineto
import models
from device import export_trace
from recording import Unavailable, summarise, write_compressed

STEPS = 5

MEANING = {
    "step": "one synchronous training step on resident random data: zero the gradients, forward, loss, backward, "
            "optimizer. Wall time on the host's clock, device idle at both ends; no tracing. Excluded: input pipeline, "
            "building the model, warm-ups. `samples_us` are all of them in order; `step` summarises them",
    "way": "eager: as written, f32 and this PyTorch's TF32 rule; amp: autocast to f16 with a scaled loss; compiled: "
           "torch.compile of the network, its loss and optimizer eager, `first_s` the first step with all compiling",
    "batch": "examples in a step; shapes and optimizer of each model: `model`",
    "memory": "the caching allocator's bytes over the warm-ups and the measured steps, weights and data included, the cache "
              "emptied before. Peaks of `allocated` are what tensors ask for, rounded; of `reserved` what is taken from the device",
    "trace": "one more step under the profiler (device records and host ops, shapes), after a traced one that is thrown away, "
             "with the execution trace of the same step; the files beside this one, and their counts",
}


class Trainer:
    """A model on its device with its data, and its step."""

    def __init__(self, name, way, batch, device, quick):
        model = models.build(name, quick)
        self._module = model.module.to(device.torch_device)
        torch.manual_seed(2)
        inputs, labels = model.inputs(batch)
        self._inputs = [tensor.to(device.torch_device) for tensor in inputs]
        self._labels = labels.to(device.torch_device)
        self._loss, self._way, self._kind = model.loss, way, device.kind
        self._optimizer = model.optimizer(self._module.parameters())
        if way == "compiled":
            if not hasattr(torch, "compile"):
                raise Unavailable("this PyTorch compiles nothing")
            self._module = torch.compile(self._module)
        self._scaler = torch.cuda.amp.GradScaler() if way == "amp" and device.kind == "cuda" else None

    def step(self):
        self._optimizer.zero_grad(set_to_none=True)
        if self._way == "amp":
            with torch.autocast(self._kind, torch.float16 if self._kind == "cuda" else torch.bfloat16):
                loss = self._loss(self._module(*self._inputs), self._labels)
        else:
            loss = self._loss(self._module(*self._inputs), self._labels)
        if self._scaler is None:
            loss.backward()
            self._optimizer.step()
        else:
            self._scaler.scale(loss).backward()
            self._scaler.step(self._optimizer)
            self._scaler.update()


def _once(device, work):
    def once():
        device.synchronize()
        start = time.perf_counter_ns()
        work()
        device.synchronize()
        return (time.perf_counter_ns() - start) / 1e3

    return once


def _write_trace(stem, text, events):
    """Writes a trace beside the recording, without what nobody reads where it is large."""
    path, size = write_compressed(stem, text.encode())
    reduced = size > (2 << 20) and events is not None
    if reduced:
        path, size = write_compressed(stem, kineto.without_bulk(text).encode())
    return {"file": path.rsplit("/", 1)[-1], "bytes": size, "reduced": reduced}


def _trace(device, trainer, stem):
    text, graph = export_trace(device, trainer.step, execution=True)
    events = kineto.parse(text)
    found = _write_trace(stem + ".kineto.json", text, events) | kineto.summary(events)
    if device.kind == "cuda" and not found.get("kernels"):
        found["fault"] = "no kernel records: no permission for the device's records?"
    if graph is not None:
        found["execution"] = write_compressed(stem + ".et.json", graph.encode())[0].rsplit("/", 1)[-1]
    return found


def _steps(name, way, device, warmups, folder, quick):
    batch = 1 if quick else models.MODELS[name].batch
    trainer = Trainer(name, way, batch, device, quick)
    device.forget()
    once = _once(device, trainer.step)
    first_s = once() / 1e6
    for _ in range(warmups - 1):
        once()
    samples = [once() for _ in range(STEPS)]
    found = {"batch": batch, "first_s": round(first_s, 3), "step": summarise(samples),
             "samples_us": [round(sample, 3) for sample in samples], "memory": device.memory()}
    return found | {"trace": _trace(device, trainer, f"{folder}/{name}-{way}")}


def _marked(name, way, device, warmups, quick):
    """The same steps, each in a range with the ops' own ranges in it, for a recorder that reads NVTX."""
    trainer = Trainer(name, way, 1 if quick else models.MODELS[name].batch, device, quick)
    for _ in range(warmups):
        trainer.step()
    device.synchronize()
    for _ in range(STEPS):
        with device.marked("stowplan step"):
            trainer.step()
            device.synchronize()
    return {"steps": STEPS}


def parts(name, device, warmups, folder, quick, marked):
    """{part: function that measures it} for one model."""
    if marked:
        return {way: lambda w=way: _marked(name, w, device, warmups, quick) for way in models.MODELS[name].ways}
    return {way: lambda w=way: _steps(name, w, device, warmups, folder, quick) for way in models.MODELS[name].ways}
