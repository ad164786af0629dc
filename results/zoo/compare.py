#!/usr/bin/env python3
"""Imports the models that export.py wrote, compares two of them op for op with stowplan's own builders, and writes table.md beside this file.

    compare.py STOWPLAN FOLDER        STOWPLAN: the program; FOLDER: what export.py was given

Every number in the table comes out of this run, but for the two columns that say where they are from.
"""

import collections
import json
import math
import os
import subprocess
import sys
import tempfile

BATCH = 32
CLUSTER = "p100(gpus=2)"

# name: (parameters, multiply-adds [G] of one image), as the metadata of its weights say (num_params; _ops from version 0.15 on).
TORCHVISION = {
    "resnet152": (60192808, 11.514),
    "inception_v3": (27161264, 5.713),
    "resnet50": (25557032, 4.089),
    "vgg16": (138357544, 15.470),
    "mobilenet_v2": (3504872, 0.301),
    "densenet121": (7978856, 2.834),
    "vit_b_16": (86567656, 17.564),
}

OWN = {"resnet152_v1": "resnet_152", "resnet152": "resnet_152", "inception_v3": "inception_v3"}

# Types that name one work: ours and the imported.
SAME = {"Mean": "AvgPool"}


def run(stowplan, *arguments):
    result = subprocess.run([stowplan, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"compare.py: {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout


def load(stowplan, folder, model, *options):
    """(the graph that stowplan imports, what it said)"""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "graph.json")
        said = run(stowplan, "graph", "import", os.path.join(folder, model + ".onnx"), "--out", path, "--dim", f"batch={BATCH}",
                   *options)
        with open(path, encoding="utf-8") as file:
            return json.load(file), said


def own(stowplan, workload, mode):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "graph.json")
        run(stowplan, "graph", "convert", f"{workload}(batch={BATCH},mode={mode},framework_ops=1)", "--out", path)
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def flops(graph, phases=("forward", "backward", "update")):
    return sum(op.get("flops", 0) for op in graph["ops"] if op.get("phase", "forward") in phases)


def parameters(graph):
    return sum(math.prod(op["outputs"][0]["shape"]) for op in graph["ops"]
               if op["type"] == "Variable" and op.get("attributes", {}).get("trainable", True))


def computing(graph):
    return [op for op in graph["ops"] if op["type"] not in ("Variable", "Constant", "Placeholder")]


def key(op, ops):
    """What makes two ops one work, whatever the layout: type, FLOPs, elements of every input and output."""
    def elements(reference):
        producer, _, output = reference.rpartition(":")
        if producer in ops and output.isdigit():
            return math.prod(ops[producer]["outputs"][int(output)]["shape"])
        return math.prod(ops[reference]["outputs"][0]["shape"])

    contraction = op.get("flops", 0) > 0
    inputs = tuple(sorted(elements(i) for i in op.get("inputs", []))) if contraction else ()
    return SAME.get(op["type"], op["type"]), op.get("flops", 0), inputs, tuple(math.prod(o["shape"]) for o in op.get("outputs", []))


def match(imported, built):
    """{type: (imported, built, equal)} of forward ops."""
    counts = []
    for graph in (imported, built):
        ops = {op["name"]: op for op in graph["ops"]}
        counts.append(collections.Counter(key(op, ops) for op in computing(graph) if op.get("phase", "forward") == "forward"))
    first, second = counts
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for counter, column in ((first, 0), (second, 1), (first & second, 2)):
        for each, count in counter.items():
            rows[each[0]][column] += count
    return dict(sorted(rows.items()))


def simulate(stowplan, graph):
    """(step [ms], peak [GB]) of a graph on one GPU of CLUSTER."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "graph.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(graph, file)
        outcome = json.loads(run(stowplan, "simulate", "--graph", path, "--cluster", CLUSTER, "--placement", "single_gpu", "--json", "-"))
    return outcome["runtime_us"] / 1e3, max(device["peak_bytes"] for device in outcome["devices"]) / 1e9


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def percent(ours, theirs):
    text = f"{100 * (ours / theirs - 1):+.2f} %"
    return "0.00 %" if text[1:] == "0.00 %" else text


def imported_models(stowplan, folder):
    rows = []
    for name, (published, published_madds) in TORCHVISION.items():
        graph, _ = load(stowplan, folder, name)
        training, _ = load(stowplan, folder, name, "--training", "adam")
        madds = flops(graph) / 2 / BATCH / 1e9
        count = parameters(training)
        rows.append([name, f"{len(computing(graph))}", f"{parameters(graph):,}", f"{count:,}", f"{published:,}", "equal" if count == published else f"{count - published:+,}",
                     f"{madds:.3f}", f"{published_madds:.3f}", percent(madds, published_madds),
                     f"{len(computing(training))}", f"{flops(training) / flops(graph):.3f}",
                     f"{sum(len(graph_.get('attributes', {}).get('unknown_ops', {})) for graph_ in (graph, training))}"])
    return table(["model", "ops", "parameters in inference", "trained", "torchvision", "difference", "G multiply-adds an image", "torchvision", "difference", "ops in training (adam)",
                  "FLOPs training / inference", "unknown types"], rows)


def compared(mode, what, first, second):
    shown = [f"{x:,.2f}" if isinstance(x, float) else f"{x:,}" for x in (first, second)]
    return [mode, what, *shown, "equal" if first == second else f"{100 * (first / second - 1):+.3f} %"]


def against_builders(stowplan, folder):
    text = ""
    for model, workload in OWN.items():
        text += f"\n### {model}.onnx and `{workload}`\n\n"
        rows = []
        for mode, options in (("inference", ()), ("training", ("--training", "momentum" if workload == "resnet_152" else "rmsprop"))):
            imported, _ = load(stowplan, folder, model, *options)
            built = own(stowplan, workload, mode)
            for what, number in (("parameters", parameters), ("GFLOP", lambda graph: flops(graph) / 1e9),
                                 ("ops without sources", lambda graph: len(computing(graph)))):
                first, second = number(imported), number(built)
                rows.append(compared(mode, what, first, second))
            for what, first, second in zip(("simulated step [ms]", "simulated peak [GB]"), simulate(stowplan, imported), simulate(stowplan, built)):
                rows.append(compared(mode, what, first, second))
        text += table(["", "", "imported", "built", ""], rows) + "\n"
        matched = match(load(stowplan, folder, model)[0], own(stowplan, workload, "inference"))
        text += table(["forward ops", "imported", "built", "equal one by one"],
                      [[kind, *(str(n) for n in numbers)] for kind, numbers in matched.items()])
    return text


def scales(stowplan, folder):
    """Elements of the scales of Inception-V3's normalisations: input 1 of each."""
    graph, _ = load(stowplan, folder, "inception_v3")
    ops = {op["name"]: op for op in graph["ops"]}
    return sum(math.prod(ops[op["inputs"][1].rpartition(":")[0]]["outputs"][0]["shape"]) for op in graph["ops"]
               if op["type"] == "FusedBatchNorm")


def main(arguments):
    if len(arguments) != 2:
        sys.exit("usage: compare.py STOWPLAN FOLDER")
    stowplan, folder = arguments
    version = run(stowplan, "--version").strip()
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "notes.md"), encoding="utf-8") as file:
        notes = file.read().replace("{scales}", f"{scales(stowplan, folder):,}")
    text = (f"# Models exported by PyTorch, imported by stowplan\n\nBy {version}, batch {BATCH}. Made by\n\n```sh\n"
            "/usr/bin/python3 results/zoo/export.py FOLDER\npython3 results/zoo/compare.py build/release/cli/stowplan FOLDER\n```\n\n"
            "## All\n\n" + imported_models(stowplan, folder) +
            "\n## Against our own builders\n" + against_builders(stowplan, folder) + "\n" + notes)
    with open(os.path.join(here, "table.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
