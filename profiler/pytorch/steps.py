"""Entry 3: training steps of whole networks. MEANING below is written into the recording."""

import time

import torch

import kineto
import models
from device import export_trace
from recording import Unavailable, summarise, write_compressed

MEANING = {
    "step": "one synchronous training step on resident random data: zero the gradients, forward, loss, backward, "
            "optimizer. Wall time on the host's clock, device idle at both ends; no tracing. Excluded: input pipeline, "
            "building the model, warm-ups. `samples_us` are all of them in order; `step` summarises them",
    "batch": "examples in a step; shapes, optimizer and batches of each model: `model`",
    "memory": "the caching allocator's bytes: `resident` after the model, its data and the optimizer's slots exist and "
              "gradients are dropped; `steps` over the warm-ups and the measured steps, the cache emptied before. "
              "Peaks of `allocated` are what tensors ask for, rounded; of `reserved` what is taken from the device",
    "trace": "one more step under the profiler (device records and host ops, shapes), after a traced one that is "
             "thrown away; the file beside this one, its counts, and its step time against the untraced median",
    "graph": "the same step captured as one CUDA graph (static data, optimizer's slots on the device) and replayed; "
             "`step` is the replay's wall time, `outcome` why there is none",
    "placement": "stages on the device or on the host's CPU, by moving modules: `on_cpu` lists those on the CPU. A "
                 "tensor that a stage reads elsewhere is copied once for each device (pageable memory, in autograd's "
                 "stream order), gradients come back the same way; the optimizer updates where the weights are. "
                 "`crossing_bytes` = bytes that went forward between the two",
    "statistic": "median, median absolute deviation, 5th and 95th percentile, minimum; warm-ups and repeats as in `timing`",
}


class Trainer:
    """A model with its stages placed, its data beside them, and its step.

    `on_cpu` names the stages on the host's CPU; the others stand on `torch_device`.
    """

    def __init__(self, model, batch, on_cpu, torch_device, **optimizer_options):
        self.model = model
        self._places = ["cpu" if stage.name in on_cpu else "device" for stage in model.stages]
        self._torch_device = {"cpu": torch.device("cpu"), "device": torch_device}
        for stage, place in zip(model.stages, self._places):
            stage.to(self._torch_device[place])
        torch.manual_seed(2)
        inputs = model.inputs(batch)
        self._labels = inputs.pop("labels").to(self._torch_device[self._places[-1]])
        self._inputs = {}  # {(name, place): tensor}, where its first reader is
        for name, tensor in inputs.items():
            place = next(self._places[at] for at, stage in enumerate(model.stages) if name in stage.reads)
            self._inputs[name, place] = tensor.to(self._torch_device[place])
        self._optimizer = model.optimizer(model.stages.parameters(), **optimizer_options)
        self.crossing_bytes = 0  # of the last forward pass

    def _forward(self):
        self.crossing_bytes = 0
        tensors = dict(self._inputs)
        for stage, place in zip(self.model.stages, self._places):
            arguments = [self._fetch(tensors, name, place) for name in stage.reads]
            for other in ("cpu", "device"):  # the name stands for the new tensor from here on
                tensors.pop((stage.writes, other), None)
            tensors[stage.writes, place] = stage(*arguments)
        return tensors[stage.writes, place]

    def _fetch(self, tensors, name, place):
        """The tensor at `place`, copied there if it is not there yet."""
        if (name, place) not in tensors:
            source = tensors[name, "cpu" if place == "device" else "device"]
            self.crossing_bytes += source.numel() * source.element_size()
            tensors[name, place] = source.to(self._torch_device[place])
        return tensors[name, place]

    def step(self):
        self._optimizer.zero_grad(set_to_none=True)
        self.model.loss(self._forward(), self._labels).backward()
        self._optimizer.step()

    def drop_gradients(self):
        self._optimizer.zero_grad(set_to_none=True)


def _timed_steps(device, timer, work):
    samples = timer.samples(_once(device, work))
    return {"step": summarise(samples), "samples_us": [round(sample, 3) for sample in samples]}


def _once(device, work):
    def once():
        device.synchronize()
        start = time.perf_counter_ns()
        work()
        device.synchronize()
        return (time.perf_counter_ns() - start) / 1e3

    return once


def _trace(device, trainer, stem, median_us):
    """Writes the Kineto trace of one step beside the recording; keeps it under what git is to hold."""
    durations = []

    def step():
        durations.append(_once(device, trainer.step)())

    text = export_trace(device, step)
    events = kineto.parse(text)
    path, size = write_compressed(stem, text.encode())
    reduced = False
    if size > (4 << 20) and events is not None:
        path, size = write_compressed(stem, kineto.without_bulk(text).encode())
        reduced = True
    found = {"file": path.rsplit("/", 1)[-1], "bytes": size, "reduced": reduced, **kineto.summary(events),
             "step_us": round(durations[-1], 3), "over_untraced": round(durations[-1] / median_us, 4)}
    if device.kind == "cuda" and not found.get("kernels"):
        found["fault"] = "no kernel records: no permission for the device's records?"
    return found


class Source:
    """One model, given out again and again as it was built: on the CPU, first weights, no gradients."""

    def __init__(self, name, quick):
        self._model = models.build(name, quick)
        self._first = {key: value.clone() for key, value in self._model.stages.state_dict().items()}
        self.stages = self._model.stages

    def fresh(self):
        stages = self._model.stages.to("cpu")
        stages.zero_grad(set_to_none=True)
        stages.load_state_dict(self._first)
        return self._model


def _settled(device, trainer):
    """After one step the optimizer has its slots; then nothing but what stays from step to step is allocated."""
    trainer.step()
    trainer.drop_gradients()
    device.forget()
    return device.memory()


def _steps(source, batch, device, timer, stem):
    trainer = Trainer(source.fresh(), batch, (), device.torch_device)
    resident = _settled(device, trainer)
    found = _timed_steps(device, timer, trainer.step)
    found["memory"] = {"resident": resident, "steps": device.memory()}
    found["trace"] = _trace(device, trainer, f"{stem}-b{batch}-{device.kind}.kineto.json", found["step"]["median_us"])
    return found | {"batch": batch}


def _graph(source, batch, device, timer):
    model = source.fresh()
    options = {"capturable": True} if model.optimizer is models.adam else {}
    trainer = Trainer(model, batch, (), device.torch_device, **options)
    device.forget()
    replay = device.capture(trainer.step)
    found = _timed_steps(device, timer, replay)
    return found | {"batch": batch, "memory": {"steps": device.memory()}}


def placements(stages):
    """{name: stages on the CPU}: all, ends, quarters, halves, a middle third, one in the middle, every other third."""
    names = [stage.name for stage in stages]
    count = len(names)
    quarter, third, half = max(1, count // 4), max(1, count // 3), max(1, count // 2)
    return {
        "all_device": [],
        "all_cpu": names,
        "first_stage_on_cpu": names[:1],
        "last_stage_on_cpu": names[-1:],
        "first_quarter_on_cpu": names[:quarter],
        "last_quarter_on_cpu": names[-quarter:],
        "first_half_on_cpu": names[:half],
        "last_half_on_cpu": names[-half:],
        "middle_stage_on_cpu": names[half:half + 1],
        "middle_third_on_cpu": names[third:2 * third],
        "every_third_on_cpu": names[1::3],
    }


def _respecting_ties(model, on_cpu):
    """Stages that share weights follow the first of them."""
    names = [stage.name for stage in model.stages]
    chosen = set(on_cpu)
    for kept, follows in model.tied:
        (chosen.add if names[kept] in chosen else chosen.discard)(names[follows])
    return [name for name in names if name in chosen]


def _placement(source, batch, on_cpu, device, timer, trace_stem):
    model = source.fresh()
    placed = _respecting_ties(model, on_cpu)
    if on_cpu and not placed:
        raise Unavailable("its stages share weights with one on the device, so it would be all_device again")
    trainer = Trainer(model, batch, placed, device.torch_device)
    resident = _settled(device, trainer)
    found = _timed_steps(device, timer, trainer.step)
    found["memory"] = {"resident": resident, "steps": device.memory()}
    if trace_stem:
        found["trace"] = _trace(device, trainer, trace_stem, found["step"]["median_us"])
    return found | {"batch": batch, "on_cpu": placed, "crossing_bytes": trainer.crossing_bytes}


def _stage_facts(name, stages):
    rows = [{"name": stage.name, "reads": list(stage.reads), "writes": stage.writes,
             "parameters": sum(parameter.numel() for parameter in stage.parameters())} for stage in stages]
    return {"stages": rows, "parameters": models.MODELS[name].parameters}


def parts(name, device, timer, folder, quick):
    """{part: function that measures it} for one model."""
    source = Source(name, quick)
    stem = f"{folder}/{name}"
    small, large = (1, 2) if quick else models.MODELS[name].batches
    table = {"stages": lambda: _stage_facts(name, source.stages)}
    for batch in (small, large):
        table[f"steps_b{batch}"] = lambda b=batch: _steps(source, b, device, timer, stem)
    table[f"graph_b{small}"] = lambda: _graph(source, small, device, timer)
    for place, on_cpu in placements(source.stages).items():
        trace_stem = f"{stem}-b{small}-all_cpu.kineto.json" if place == "all_cpu" else None
        table[f"placement_{place}"] = lambda c=on_cpu, t=trace_stem: _placement(source, small, c, device, timer, t)
    return table
