"""Models and steps in f32 that NeuSight's authors measured (sitar-lab/NeuSight, MIT), beside what they and others predicted.

`operators` is the sum of measured operators of that very model and GPU: a row no better shows nothing of replay.
"""
import csv
import functools

from cost_models.rows import neusight

from .case import Case


def cases(data, stowplan):
    folder = data / "gpu/neusight"
    with (folder / "models/predictions.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            gpu, model, measured = row["gpu"], row["model"], float(row["measured_ms"])
            peers = {name: row[f"{name}_ms"] for name in ("neusight", "habitat", "roofline")}
            peers["operators"] = neusight.sum_of_operators(folder / f"models/{gpu}/{model}.csv", neusight.layers_of(model))
            several = model.endswith(("-pp4_1", "-dp4", "-tp4"))
            yield Case("NeuSight, four GPUs" if several else "NeuSight", neusight.BOARDS[gpu], "f32", model.partition("-")[0], model, measured * 1e3,
                       simulate=functools.partial(_simulate, stowplan, folder, gpu, model),
                       peers={name: float(ms) / measured for name, ms in peers.items() if ms != ""})


def _simulate(stowplan, folder, gpu, model):
    return [ms * 1e3 for ms in neusight.simulated_ms(stowplan, folder, gpu, model)]
