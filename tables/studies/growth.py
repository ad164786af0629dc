#!/usr/bin/env python3
"""Which price of a machine makes steps grow with depth, batch and GPUs as the papers' experts do.

    growth.py PLAN OUT [--stowplan PATH]

PLAN is a JSON object:
    machines      by cluster name: kinds of CPU and GPU, GPUs to a switch, GB/s
    families      name, cluster, cost_model, placement (a rule), rows of graph, gpus and published seconds; each machine of the first is fitted
    explanations  by name, what is otherwise than in the tables; any of
        per, order, cost_us   one dispatcher for the process, its order, its price of an op
        latency_us            of a copy between two GPUs; else 25
        bandwidth             GB/s of every link, where less than the machine's
        staged                copies between GPUs go over the host
        blocking              a GPU that copies computes nothing
        serial                a layer waits for the whole of the layers that it reads, as loops of a framework do
        host_variables        parameters, their sums and updates are on the CPU
        unfused               ops as a framework traces them

In each family one factor over all times of ops is chosen so that the first row takes what was published; the others are predicted. A family whose first
row takes longer without any compute has no such factor, and counts with none. OUT is Markdown; each cell is ours over published.
"""

import json
import math
import os
import tempfile

from experiment import Experiment
from host_variables import host_ops, moved

FREE = {"Variable", "Constant", "Const", "Placeholder"}
EXPLAINED = 1.1  # the mean factor that would do
HOST_BYTES_PER_US = 13e3  # of an update on a CPU: three passes over its parameters at 40 GB/s


def cluster_text(machine, gpus, explanation):
    """A tree of PCI Express as the tables' (scenarios/clusters/clusters.cpp), with unlimited memory."""
    bandwidth = min(machine["bandwidth"], explanation.get("bandwidth", math.inf))
    link = f"bandwidth: {bandwidth}GB/s, latency: {explanation.get('latency_us', 25) / 2}us"
    cost = f"{explanation['cost_us']}us" if "cost_us" in explanation else "auto"
    switch = [gpu // machine["gpus_per_switch"] for gpu in range(gpus)]
    overlap = ", overlap_copy: 0.001" if explanation.get("blocking") else ""
    lines = ["format: stowplan.cluster", "version: 1", "name: growth", "interconnect: fair",
             f"dispatch: {{per: {explanation.get('per', 'device')}, order: {explanation.get('order', 'program')}, cost: {cost}}}",
             "devices:", f"  - {{name: cpu0, kind: {machine['cpu']}, memory: 4TiB}}"]
    lines += [f"  - {{name: gpu{gpu}, kind: {machine['gpu']}, memory: 1TiB{overlap}}}" for gpu in range(gpus)]
    lines += [f"switches: [{', '.join(f'plx{i}' for i in range(switch[-1] + 1))}]", "links:"]
    lines += [f"  - {{name: host{i}, ends: [cpu0, plx{i}], {link}}}" for i in range(switch[-1] + 1)]
    lines += [f"  - {{name: up{gpu}, ends: [gpu{gpu}, plx{switch[gpu]}], {link}}}" for gpu in range(gpus)]
    if explanation.get("staged"):
        lines.append("routes:")
        lines += [f"  - {{from: gpu{a}, to: gpu{b}, via: [up{a}, host{switch[a]}, host{switch[b]}, up{b}]}}"
                  for a in range(gpus) for b in range(gpus) if a != b]
    return "\n".join(lines) + "\n"


def producer(ref):
    name, _, output = ref.rpartition(":")
    return name if name and output.isdigit() else ref


def reachable(edges):
    """By node, all nodes that a path leads to."""
    reached = {}
    for start in edges:
        seen, left = set(), [start]
        while left:
            for after in edges.get(left.pop(), ()):
                if after not in seen:
                    seen.add(after)
                    left.append(after)
        reached[start] = seen
    return reached


def serial(ops):
    """Ops with a barrier behind each layer and phase that another waits for, and whose last op each barrier stands behind. Layers in a cycle, as
    a decoder with attention, keep their order."""
    by_name = {op["name"]: op for op in ops}
    layer = {op["name"]: f"{op.get('group', '')}/{op.get('phase', 'forward')}" for op in ops}
    reads = {op["name"]: {layer[name] for name in map(producer, op.get("inputs", [])) if by_name[name]["type"] not in FREE} - {layer[op["name"]]}
             for op in ops}
    edges = {}
    members = {}
    for op in ops:
        for before in reads[op["name"]]:
            edges.setdefault(before, set()).add(layer[op["name"]])
        if op["type"] not in FREE:
            members.setdefault(layer[op["name"]], []).append(op["name"])
    reached = reachable(edges)
    result, barriers = [], {}
    for op in ops:
        waits = [] if op.get("phase") == "update" else sorted(b for b in reads[op["name"]] if b not in reached.get(layer[op["name"]], ()))
        barriers.update({f"barrier/{before}": members[before][-1] for before in waits})
        result.append({**op, "control": [*op.get("control", []), *(f"barrier/{before}" for before in waits)]} if waits else op)
    result += [{"name": name, "type": "NoOp", "control": members[name.removeprefix("barrier/")], "outputs": [], "cost_us": 0} for name in barriers]
    return result, barriers


class Row:
    """One row's graph with the time of each op as the table prices it."""

    def __init__(self, experiment, family, row, unfused, folder):
        self.experiment, self.folder, self.published = experiment, folder, row["published"]
        self.gpus, self.machine = row["gpus"], experiment.plan["machines"][family["cluster"]]
        graph = f"{row['graph'][:-1]},granularity=unfused)" if unfused else row["graph"]
        self.write("c.yaml", cluster_text(self.machine, self.gpus, {}))
        experiment.stowplan("graph", "convert", graph, "--out", self.file("g.json"))
        experiment.stowplan("simulate", "--graph", self.file("g.json"), "--cluster", self.file("c.yaml"), "--placement", family["placement"],
                         "--cost-model", family["cost_model"], "--ops", "--json", self.file("o.json"), "--save-placement", self.file("p.json"))
        self.graph, self.placement = self.read("g.json"), self.read("p.json")
        self.time = {op["name"]: op["end_us"] - op["start_us"] for op in self.read("o.json")["ops"]}

    def file(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return json.load(file)

    def write(self, name, what):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(what if isinstance(what, str) else json.dumps(what))

    def step(self, explanation, factor):
        """Seconds a step, times of ops multiplied by `factor`."""
        ops = [{**op, "cost_us": self.time[op["name"]] * factor} for op in self.graph["ops"]]
        placement = self.placement
        if explanation.get("host_variables"):
            host = host_ops(self.graph)
            placement = moved(placement, host, "cpu0")
            ops = [{**op, "cost_us": sum(output["bytes"] for output in op.get("outputs", [])) / HOST_BYTES_PER_US} if op["name"] in host else op for op in ops]
        if explanation.get("serial"):
            ops, barriers = serial(ops)
            where = placement["placement"]
            placement = {**placement, "placement": {**where, **{name: where[last] for name, last in barriers.items()}}}
        self.write("g.json", {**self.graph, "ops": ops})
        self.write("p.json", placement)
        self.write("c.yaml", cluster_text(self.machine, self.gpus, explanation))
        self.experiment.stowplan("simulate", "--graph", self.file("g.json"), "--cluster", self.file("c.yaml"), "--placement", self.file("p.json"),
                              "--json", self.file("o.json"))
        return self.read("o.json")["runtime_us"] / 1e6


def fitted_factor(step, wanted):
    """The factor at which step(factor) is `wanted` within 0.5 %, by secants; 0 where compute for nothing is too slow already."""
    before, seconds_before = 0.0, step(0.0)
    if seconds_before >= wanted:
        return 0.0
    factor = 1.0
    for _ in range(8):
        seconds = step(factor)
        if abs(seconds / wanted - 1) < 0.005 or seconds == seconds_before:
            break
        following = factor + (wanted - seconds) * (factor - before) / (seconds - seconds_before)
        before, seconds_before, factor = factor, seconds, max(following, factor / 10)
    return factor


def judge(rows, explanation):
    """Ours over published for each row, the first fitted."""
    factor = fitted_factor(lambda f: rows[0].step(explanation, f), rows[0].published)
    return [row.step(explanation, factor) / row.published for row in rows]


def line_of(name, families):
    """`families`: lists of ratios, the first of each fitted."""
    predicted = [ratio for ratios in families for ratio in ratios[1:]]
    error = math.exp(sum(abs(math.log(ratio)) for ratio in predicted) / len(predicted))
    worst = math.exp(max(abs(math.log(ratio)) for ratio in predicted))
    cells = [("" if abs(ratios[0] - 1) < 0.02 else f"({ratios[0]:.2f}) ") + ", ".join(f"{ratio:.2f}" for ratio in ratios[1:]) for ratios in families]
    return error, (name, *cells, f"{error:.2f}", f"{worst:.2f}")


def verdict(lines):
    """`lines` as line_of() makes them, the first that of the tables."""
    (error, best), (today, _) = min(lines, key=lambda line: line[0]), lines[0]
    said = f'**"{best[0]}" explains the published steps: it' if error <= EXPLAINED else f'**None of {len(lines) - 1} explanations serves all rows: the nearest, "{best[0]}",'
    return (f"""{said} is off by a factor of {error:.2f} (geometric mean), worst {best[-1]}; the tables are by {today:.2f}.** Cells are the expert's
step, ours over published, in the rows behind a family's first. That one is matched by a factor over all times of ops; in brackets where no factor does.""")


def main():
    experiment = Experiment(__file__, __doc__)
    plan = experiment.plan
    lines = []
    with tempfile.TemporaryDirectory() as root:
        rows = {}
        for name, explanation in plan["explanations"].items():
            unfused = bool(explanation.get("unfused"))
            for index, family in enumerate(plan["families"]):
                if (index, unfused) not in rows:
                    folders = [tempfile.mkdtemp(dir=root) for _ in family["rows"]]
                    rows[index, unfused] = [Row(experiment, family, row, unfused, folder) for row, folder in zip(family["rows"], folders)]
            lines.append(line_of(name, [judge(rows[index, unfused], explanation) for index in range(len(plan["families"]))]))
            print(*lines[-1][1], sep=" | ", flush=True)
    text = verdict(lines)
    lines.sort(key=lambda line: line[0])
    header = ("explanation", *(family["name"] for family in plan["families"]), "mean factor", "worst")
    experiment.write("Why steps grow", text, [header, *(line[1] for line in lines)])


if __name__ == "__main__":
    main()
