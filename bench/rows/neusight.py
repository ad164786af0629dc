#!/usr/bin/env python3
"""Measured ops of NeuSight (sitar-lab/NeuSight@6945927, MIT) as tables that `berth calibrate` reads.

    python3 bench/rows/neusight.py ops FOLDER OUT        # FOLDER/{P4,P100,T4,A100-PCIE-40GB}.csv or .csv.zst
    python3 bench/rows/neusight.py graph OPGRAPH.csv LAYERS OUT.json
    python3 bench/rows/neusight.py models FOLDER BERTH OUT    # of the repository's figures: opgraph/, models/

`ops` writes OUT/KIND.csv, one for each GPU; `graph` writes the operators of a traced model, its layer repeated, as a
chain in a berth.graph, to be priced and simulated. `models` simulates every measured model and writes OUT/models.csv,
each as a ratio to the measured time: simulated, by the structural model, the plain sum of the measured operators, and
what the peers predicted.
"""
import ast
import csv
import io
import json
import math
import subprocess
import sys
from pathlib import Path

KINDS = {"P4": "p4", "P100": "p100-pcie-16gb", "T4": "t4", "A100-PCIE-40GB": "a100-pcie-40gb"}
COLUMNS = ["op", "name", "dtype", "batch", "rows", "columns", "depth", "tensors", "in_channels", "out_channels",
           "kernel", "side", "stride", "padding", "us"]
BINARY = ("add", "mul", "div", "pow")  # with u: one tensor and a number


def row_of(row):
    op = row["op"]
    if op == "linear":  # (B M x N) (N x K)
        return {"op": "linear", "rows": int(row["B"]) * int(row["M"]), "depth": row["N"], "columns": row["K"]}
    if op == "bmm":
        return {"op": "bmm", "batch": row["B"], "rows": row["M"], "depth": row["N"], "columns": row["K"]}
    if op == "conv":
        return {"op": "conv2d", "batch": row["B"], "in_channels": row["IC"], "out_channels": row["OC"],
                "kernel": row["KS"], "side": row["IS"], "stride": row["S"], "padding": row["P"]}
    shape = {"rows": row["B"], "columns": row["H"]}
    if op in ("softmax", "ln"):
        return {"op": "softmax" if op == "softmax" else "layer_norm", "tensors": 2, **shape}
    return {"op": "elementwise", "name": op, "tensors": 3 if op in BINARY else 2, **shape}


def text_of(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout
    return path.read_text()


def convert_ops(folder, out):
    out.mkdir(parents=True, exist_ok=True)
    for gpu, kind in KINDS.items():
        path = next(p for p in (folder / f"{gpu}.csv.zst", folder / f"{gpu}.csv") if p.exists())
        with (out / f"{kind}.csv").open("w", newline="") as file:
            file.write(f"# machine: {gpu}\n# device: {kind}\n# library: PyTorch 2.1, CUDA 12.1\n# date: 2026-11-22\n"
                       "# source: sitar-lab/NeuSight@6945927\n# licence: MIT\n")
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for row in csv.DictReader(io.StringIO(text_of(path))):
                writer.writerow({"dtype": "f32", "us": row["us"], **row_of(row)})


class Chain:
    """Ops one behind the other: what they read besides are constants."""

    def __init__(self, name):
        self.ops = []
        self.last = None
        self.name = name

    def tensor(self, shape):
        return {"bytes": 4 * math.prod(shape), "dtype": "f32", "shape": list(shape)}

    def constant(self, shape):
        self.ops.append({"name": f"tensor{len(self.ops)}", "type": "Const", "outputs": [self.tensor(shape)]})
        return self.ops[-1]["name"]

    def add(self, op_type, inputs, output, flops=0):
        names = [self.constant(shape) + ":0" for shape in inputs]
        op = {"name": f"{op_type}{len(self.ops)}", "type": op_type, "inputs": names,
              "outputs": [self.tensor(output)], "flops": flops}
        if self.last:
            op["control"] = [self.last]
        self.last = op["name"]
        self.ops.append(op)

    def operator(self, kind, shape):
        if kind == "Linear":
            m, k, n = shape
            self.add("MatMul", [(m, k), (k, n)], (m, n), 2 * m * k * n)
        elif kind == "BMM":
            b, m, k, n = shape
            self.add("BatchMatMul", [(b, m, k), (b, k, n)], (b, m, n), 2 * b * m * k * n)
        elif kind in ("VECsoftmax", "VECln"):
            self.add("Softmax" if kind == "VECsoftmax" else "LayerNorm", [shape], shape)
        elif kind.startswith("VEC"):
            self.add("Add", [shape] * (2 if kind[3:] in BINARY else 1), shape)
        elif kind == "MEM":  # reads and writes these tensors
            elements = sum(math.prod(one) for one in shape) // 2
            if elements >= 1000:
                self.add("Relu", [(elements,)], (elements,))


def repeated(rows):
    """Which operators belong to the layer: from its first to its last by name, and GPT-2's second residual sum."""
    at = [i for i, row in enumerate(rows) if "h_0" in row["Name"] or "layer_0" in row["Name"]]
    marks = [min(at) <= i <= max(at) for i in range(len(rows))]
    if any("h_0" in row["Name"] for row in rows):
        after = next((i for i in range(max(at) + 1, len(rows)) if rows[i]["Name"].startswith("add_")), None)
        if after is not None:
            marks[after] = True
    return marks


def convert_graph(path, layers, out):
    rows = list(csv.DictReader(path.open()))
    chain = Chain(path.stem)
    inference = "-inf-" in path.stem
    for row, many in zip(rows, repeated(rows)):
        if row["OpName"] in ("misc", "output") or (inference and row["OpName"] in ("dropout", "getitem")):
            continue
        for _ in range(layers if many else 1):
            for column in ("FwOps", "BwOps", "AccOps"):
                for kind, shape in ast.literal_eval(row[column]):
                    chain.operator(kind, shape)
    out.write_text(json.dumps({"format": "berth.graph", "version": 1, "name": chain.name, "ops": chain.ops}))


BOARDS = {"P100": "p100-pcie-16gb", "T4": "t4", "A100-PCIE-40GB": "a100-pcie-40gb", "A100-80GB-PCIe": "a100-pcie-80gb",
          "A100-SXM4-40GB": "a100-sxm-40gb", "H100-80GB-HBM3": "h100"}
PREDICTED = ("neusight_ms", "habitat_ms", "micro_ms", "roofline_ms")


def layers_of(model):
    return 24 if model.startswith("bert") else 36


def sum_of_operators(path, layers):
    if not path.exists():
        return ""
    rows = list(csv.DictReader(path.open()))
    return sum(float(row["latency"] or 0) * (layers if many else 1) for row, many in zip(rows, repeated(rows)))


def simulate(berth, graph, cluster, cost_model=()):
    command = [berth, "simulate", "--graph", graph, "--cluster", cluster, "--placement", "single_gpu", "--json", "-"]
    text = subprocess.run([*command, *cost_model], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["runtime_us"] / 1e3


def convert_models(folder, berth, out):
    out.mkdir(parents=True, exist_ok=True)
    with (out / "models.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["gpu", "model", "simulated", "structural", "operators", *(peer[:-3] for peer in PREDICTED)])
        for case in csv.DictReader((folder / "models/predictions.csv").open()):
            gpu, model = case["gpu"], case["model"]
            if model.endswith(("-dp4", "-tp4")):  # collectives
                continue
            graph, cluster = out / f"{model}.json", out / f"{gpu}.yaml"
            convert_graph(folder / f"opgraph/{model}.csv", layers_of(model), graph)
            cluster.write_text("format: berth.cluster\nversion: 1\ndevices:\n"
                               f"  - {{name: gpu0, kind: {BOARDS[gpu]}, memory: 500TiB}}\n")
            simulated = [simulate(berth, graph, cluster),
                         simulate(berth, graph, cluster, ["--cost-model", "analytic"])]
            operators = sum_of_operators(folder / f"models/{gpu}/{model}.csv", layers_of(model))
            times = [*simulated, operators, *(case[peer] for peer in PREDICTED)]
            measured = float(case["measured_ms"])
            writer.writerow([gpu, model, *(f"{float(time) / measured:.3f}" if time != "" else "" for time in times)])
            graph.unlink()
            cluster.unlink()


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "ops":
        convert_ops(Path(arguments[1]), Path(arguments[2]))
    elif len(arguments) == 4 and arguments[0] == "graph":
        convert_graph(Path(arguments[1]), int(arguments[2]), Path(arguments[3]))
    elif len(arguments) == 4 and arguments[0] == "models":
        convert_models(Path(arguments[1]), arguments[2], Path(arguments[3]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
