#!/usr/bin/env python3
"""Measured ops of NeuSight (sitar-lab/NeuSight@6945927, MIT) as tables that `stowplan calibrate` reads.

    python3 cost_models/rows/neusight.py ops FOLDER OUT        # FOLDER/{P4,P100,T4,A100-PCIE-40GB}.csv or .csv.zst
    python3 cost_models/rows/neusight.py graph OPGRAPH.csv LAYERS OUT.json
    python3 cost_models/rows/neusight.py models FOLDER STOWPLAN OUT    # of the repository's figures: opgraph/, models/

`ops` writes OUT/KIND.csv, one for each GPU; `graph` writes the operators of a traced model, its layer repeated, as a
chain in a stowplan.graph, to be priced and simulated. `models` simulates every measured model, pipelines, data- and tensor-parallel
steps on four GPUs, and writes OUT/models.csv, each as a ratio to the measured time (simulated, by the structural model, the plain sum of the
measured operators, what the peers predicted), and OUT/order.csv: Kendall's tau of each predictor over what was measured.
"""
import ast
import csv
import io
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = {"P4": "p4", "P100": "p100-pcie-16gb", "T4": "t4", "A100-PCIE-40GB": "a100-pcie-40gb"}
COLUMNS = ["op", "name", "dtype", "batch", "rows", "columns", "depth", "tensors", "in_channels", "out_channels",
           "kernel", "side", "stride", "padding", "us"]
BINARY = ("add", "mul", "div", "pow")  # with u: one tensor and a number
TYPES = {"add": "Add", "mul": "Mul", "div": "RealDiv", "pow": "Pow", "gelu": "Gelu", "relu": "Relu", "tanh": "Tanh"}


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
    return {"op": "elementwise", "name": op.removesuffix("u") if op[:-1] in BINARY else op, "tensors": 3 if op in BINARY else 2, **shape}


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
                if row["op"] == "conv":  # of 3 by 3 at stride 1 alone, which say nothing of others: DeepBench has more kinds
                    continue
                writer.writerow({"dtype": "f32", "us": row["us"], **row_of(row)})


class Chain:
    """Ops one behind the other: what they read besides are constants. Chains of ranks share the list of ops."""

    def __init__(self, ops, rank=0):
        self.ops = ops
        self.last = None
        self.rank = rank

    def tensor(self, shape):
        return {"bytes": 4 * math.prod(shape), "dtype": "f32", "shape": list(shape)}

    def constant(self, shape):
        self.put({"name": f"tensor{len(self.ops)}", "type": "Const", "outputs": [self.tensor(shape)]})
        return self.ops[-1]["name"]

    def put(self, op):
        self.ops.append({**op, "colocate": f"gpu{self.rank}"})

    def make(self, shape):
        """A tensor that is there once the chain has come so far; its name."""
        made = {"name": f"made{len(self.ops)}", "type": "Identity", "outputs": [self.tensor(shape)]}
        if self.last:
            made["control"] = [self.last]
        self.put(made)
        return made["name"] + ":0"

    def receive(self, tensor, shape, wait=True):
        self.put({"name": f"received{len(self.ops)}", "type": "Identity", "inputs": [tensor],
                  "outputs": [self.tensor(shape)]})
        if wait:
            self.last = self.ops[-1]["name"]

    def enter(self, stage, shape):
        """What comes next runs on another GPU, which a tensor of this shape is sent to."""
        if stage != self.rank:
            tensor = self.make(shape)
            self.rank = stage
            self.receive(tensor, shape)

    def add(self, op_type, inputs, output, flops=0):
        names = [self.constant(shape) + ":0" for shape in inputs]
        op = {"name": f"{op_type}{len(self.ops)}", "type": op_type, "inputs": names,
              "outputs": [self.tensor(output)], "flops": flops}
        if self.last:
            op["control"] = [self.last]
        self.last = op["name"]
        self.put(op)

    def operator(self, kind, shape, read=2):
        """`read`: how many whole tensors an element-wise op of two reads."""
        if kind == "Linear":
            m, k, n = shape
            self.add("MatMul", [(m, k), (k, n)], (m, n), 2 * m * k * n)
        elif kind == "BMM":
            b, m, k, n = shape
            self.add("BatchMatMul", [(b, m, k), (b, k, n)], (b, m, n), 2 * b * m * k * n)
        elif kind in ("VECsoftmax", "VECln"):
            self.add("Softmax" if kind == "VECsoftmax" else "LayerNorm", [shape], shape)
        elif kind.startswith("VEC"):
            one = kind[3:-1] if kind[3:-1] in BINARY else kind[3:]
            self.add(TYPES.get(one, "Add"), [shape] * (read if kind[3:] in BINARY else 1), shape)
        elif kind == "MEM":  # reads and writes these tensors
            elements = sum(math.prod(one) for one in shape) // 2
            if elements >= 1000:
                self.add("Relu", [(elements,)], (elements,))


def whole_inputs(row):
    """One where the other input is a number or a mask that is stretched, else two; the output is of full size."""
    shapes = ast.literal_eval(row["InputShapes"] or "[]")
    whole = math.prod(ast.literal_eval(row["OutputShape"] or "()"))
    return 1 if len(shapes) > 1 and sum(math.prod(shape) >= whole for shape in shapes) == 1 else 2


def repeated(rows):
    """Which operators belong to the layer: from its first to its last by name, and GPT-2's second residual sum."""
    at = [i for i, row in enumerate(rows) if "h_0" in row["Name"] or "layer_0" in row["Name"]]
    marks = [min(at) <= i <= max(at) for i in range(len(rows))]
    if any("h_0" in row["Name"] for row in rows):
        after = next((i for i in range(max(at) + 1, len(rows)) if rows[i]["Name"].startswith("add_")), None)
        if after is not None:
            marks[after] = True
    return marks


def passes(rows, layers, stages):
    """(stage, row) in the order of a step's forward pass, layers cut into stages of the same number."""
    marks = repeated(rows)
    first = marks.index(True)
    last = len(marks) - 1 - marks[::-1].index(True)
    yield from ((0, row) for row in rows[:first])
    for layer in range(layers):
        yield from ((layer * stages // layers, row) for row, many in zip(rows, marks) if many)
    yield from ((stages - 1, row) for row, many in zip(rows[first:], marks[first:]) if not many)


def all_reduce(chains, shape, wait):
    """Of a tensor of each rank; behind the chains unless they wait for it."""
    tensors = [chain.make(shape) for chain in chains]
    ops = chains[0].ops
    name = f"all{len(ops)}"
    ops.append({"name": name, "type": "AllReduce", "inputs": tensors, "outputs": [chains[0].tensor(shape)] * len(chains)})
    for rank, chain in enumerate(chains):
        chain.receive(f"{name}:{rank}", shape, wait)


def convert_graph(path, layers, out, stages=1, ranks=1):
    """Forward, then backward in reverse; between stages what one layer hands to the next, between ranks what they add.
    Ops of one GPU are colocated as "gpu0"."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    ops = []
    chains = [Chain(ops, rank) for rank in range(ranks)]
    inference = "-inf-" in path.stem
    skipped = ("misc", "output", *(("dropout", "getitem") if inference else ()))
    step = [(stage, row) for stage, row in passes(rows, layers, stages) if row["OpName"] not in skipped]
    handed = hidden_shape(rows) if stages > 1 else ()
    for order, columns in ((step, ("FwOps",)), (step[::-1], ("BwOps", "AccOps"))):
        for stage, row in order:
            if stages > 1:
                chains[0].enter(stage, handed)
            for column in columns:
                for kind, shape in ast.literal_eval(row[column]):
                    if kind.startswith("ALLREDUCE"):
                        all_reduce(chains, shape, wait=kind == "ALLREDUCE")
                        continue
                    for chain in chains:
                        chain.operator(kind, shape, whole_inputs(row))
    out.write_text(json.dumps({"format": "stowplan.graph", "version": 1, "name": path.stem, "ops": ops}))


def hidden_shape(rows):
    """Of what the first of the repeated rows that makes a tensor of three axes makes."""
    shapes = [ast.literal_eval(row["OutputShape"]) for row, many in zip(rows, repeated(rows)) if many and row["OutputShape"]]
    return next(shape for shape in shapes if isinstance(shape, tuple) and len(shape) == 3)


BOARDS = {"P100": "p100-pcie-16gb", "T4": "t4", "A100-PCIE-40GB": "a100-pcie-40gb", "A100-80GB-PCIe": "a100-pcie-80gb",
          "A100-SXM4-40GB": "a100-sxm-40gb", "H100-80GB-HBM3": "h100"}
NVLINK = {"A100-SXM4-40GB": "nvlink-a100", "H100-80GB-HBM3": "nvlink-h100"}
PREDICTED = ("neusight_ms", "habitat_ms", "micro_ms", "roofline_ms")
FEWEST = 10
CLOSE = 2  # pairs whose measured times differ by less say more than others


def layers_of(model):
    return 24 if model.startswith("bert") else 36


def sum_of_operators(path, layers):
    if not path.exists():
        return ""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return sum(float(row["latency"] or 0) * (layers if many else 1) for row, many in zip(rows, repeated(rows)))


def simulate(stowplan, graph, cluster, cost_model=(), placement="single_gpu"):
    command = [stowplan, "simulate", "--graph", graph, "--cluster", cluster, "--placement", placement, "--json", "-"]
    text = subprocess.run([*command, *cost_model], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["runtime_us"] / 1e3


def cluster_text(gpu, count):
    """GPUs of one box, each with its own NVLink to every other."""
    text = "format: stowplan.cluster\nversion: 1\ndevices:\n"
    for i in range(count):
        text += f"  - {{name: gpu{i}, kind: {BOARDS[gpu]}, memory: 500TiB}}\n"
    text += "links:\n" if count > 1 else ""
    for i in range(count):
        for j in range(i):
            text += f"  - {{name: link{j}{i}, ends: [gpu{j}, gpu{i}], kind: {NVLINK[gpu]}}}\n"
    return text


def simulated_ms(stowplan, folder, gpu, model):
    """By prices of real GPUs, and by the structural model."""
    stages, ranks = (4 if "-pp4" in model else 1), (4 if model.endswith(("-dp4", "-tp4")) else 1)
    with tempfile.TemporaryDirectory() as scratch:
        graph, cluster, placement = (Path(scratch) / name for name in ("graph.json", "cluster.yaml", "placement.json"))
        convert_graph(folder / f"opgraph/{model}.csv", layers_of(model), graph, stages, ranks)
        if ranks > 1:  # a placement names the ops of the rings
            rings = graph.with_name("rings.json")
            subprocess.run([stowplan, "graph", "convert", graph, "--out", rings], check=True, capture_output=True)
            graph = rings
        devices = {op["name"]: op["colocate"] for op in json.loads(graph.read_text())["ops"]}
        cluster.write_text(cluster_text(gpu, stages * ranks))
        placement.write_text(json.dumps({"format": "stowplan.placement", "version": 1, "graph": model, "placement": devices}))
        return [simulate(stowplan, graph, cluster, model_of, placement) for model_of in ((), ("--cost-model", "analytic"))]


def tau(pairs):
    """Kendall's, of (measured, predicted) pairs of cases; no two measured times are the same."""
    same = sum(1 if (a[0] > b[0]) == (a[1] > b[1]) else -1 for a, b in pairs)
    return same / len(pairs) if pairs else None


def orders(cases):
    """What was measured that has an order: name and pairs of cases."""
    def is_single(case):
        return not case["model"].endswith(("-pp4_1", "-dp4", "-tp4"))

    single = [case for case in cases if is_single(case)]
    several = [case for case in cases if not is_single(case)]
    batch = re.compile(r"\d+$")
    groups = [("all cases", cases, lambda a, b: True),
              ("models and batches on one GPU", single, lambda a, b: a["gpu"] == b["gpu"]),
              ("batches of one model on one GPU", single,
               lambda a, b: a["gpu"] == b["gpu"] and batch.sub("", a["model"]) == batch.sub("", b["model"])),
              ("GPUs for one model and batch", single, lambda a, b: a["model"] == b["model"]),
              ("steps on four GPUs", several, lambda a, b: True),
              ("pipeline, data or tensor parallel", several,
               lambda a, b: a["gpu"] == b["gpu"] and re.sub("-[^-]*$", "", a["model"]) == re.sub("-[^-]*$", "", b["model"]))]
    for name, of, comparable in groups:
        pairs = [(a, b) for i, a in enumerate(of) for b in of[:i] if comparable(a, b)]
        yield name, pairs
        close = [(a, b) for a, b in pairs if max(a["measured"], b["measured"]) < CLOSE * min(a["measured"], b["measured"])]
        if FEWEST <= len(close) < len(pairs):
            yield f"{name}, less than {CLOSE} times apart", close


def convert_models(folder, stowplan, out):
    out.mkdir(parents=True, exist_ok=True)
    predictors = ["simulated", "structural", "operators", *(peer[:-3] for peer in PREDICTED)]
    cases = []
    for case in csv.DictReader((folder / "models/predictions.csv").open()):
        gpu, model = case["gpu"], case["model"]
        operators = sum_of_operators(folder / f"models/{gpu}/{model}.csv", layers_of(model))
        times = [*simulated_ms(stowplan, folder, gpu, model), operators, *(case[peer] for peer in PREDICTED)]
        cases.append({"gpu": gpu, "in_fit": "yes" if gpu in KINDS else "no", "model": model,
                      "measured": float(case["measured_ms"]),
                      **{name: float(time) if time != "" else None for name, time in zip(predictors, times)}})
    with (out / "models.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["gpu", "in_fit", "model", *predictors])
        for case in cases:
            ratios = (f"{case[name] / case['measured']:.3f}" if case[name] is not None else "" for name in predictors)
            writer.writerow([case["gpu"], case["in_fit"], case["model"], *ratios])
    with (out / "order.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "pairs", *predictors])
        for name, pairs in orders(cases):
            taus = []
            for predictor in predictors:
                told = [((a["measured"], a[predictor]), (b["measured"], b[predictor])) for a, b in pairs
                        if a[predictor] is not None and b[predictor] is not None]
                taus.append(f"{tau(told):.2f}" if len(told) == len(pairs) else "")
            writer.writerow([name, len(pairs), *taus])


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
