"""Single samples through profiled models under memory limits: the greedy of msr-fiddle/dnn-partitioning beside stowplan's search.

    python latency.py GRAPH... [--samples N]       GRAPH: files of its latency-inputs, in any of its folders

Its greedy (latency-greedy/greedy.cpp) fills one accelerator after another with nodes in topological order while they fit, by the
sizes in the file; what is left runs on the CPU. Both placements are simulated by the same rules: a link of 2 GiB/s to each
accelerator, as the costs in the files have it, and memory as stowplan counts it (weights for the whole run, tensors while they are needed).
"""

import argparse
import json

import stowplan

LINK = {"bandwidth": "2GiB/s", "latency": "0us"}


def machine(told):
    accelerators = [{"name": f"gpu{i}", "kind": "v100", "memory": f"{int(told['maxSizePerFPGA'])}B"} for i in range(told["maxFPGAs"])]
    return {"devices": [{"name": "cpu0", "kind": "cpu-broadwell", "memory": "1TiB"}, *accelerators], "interconnect": "fair",
            "links": [{"name": f"pcie{i}", "ends": ["cpu0", f"gpu{i}"], **LINK} for i in range(told["maxFPGAs"])]}


def blocks(told):
    """Nodes of one color stay together, and so do colors that reach each other; in topological order, depth first."""
    color = {node["id"]: -1 - node["id"] if node.get("colorClass") is None else node["colorClass"] for node in told["nodes"]}
    edges = {c: set() for c in color.values()}
    for edge in told["edges"]:
        edges[color[edge["sourceId"]]].add(color[edge["destId"]])

    def reach(c):
        seen, open_ = set(), [c]
        while open_:
            for d in edges[open_.pop()] - seen:
                seen.add(d)
                open_.append(d)
        return seen

    reached = {c: reach(c) for c in edges}
    leader = {c: min((d for d in reached[c] if c in reached[d]), default=c) for c in edges}
    members, after, missing = {}, {}, {}
    for node in told["nodes"]:
        members.setdefault(leader[color[node["id"]]], []).append(node)
    for c, others in edges.items():
        after.setdefault(leader[c], set()).update(leader[d] for d in others if leader[d] != leader[c])
    for block in members:
        missing[block] = sum(block in others for others in after.values())
    ready, order = [block for block in members if missing[block] == 0], []
    while ready:
        block = ready.pop()
        order.append(members[block])
        for other in sorted(after[block]):
            missing[other] -= 1
            if missing[other] == 0:
                ready.append(other)
    return order


def greedy(told):
    """Device by node."""
    device, number, used = {}, -1, float("inf")
    for block in blocks(told):
        size = sum(node["size"] for node in block)
        if used + size > told["maxSizePerFPGA"] and size <= told["maxSizePerFPGA"] and number < told["maxFPGAs"]:
            number, used = number + 1, 0  # the next one; behind the last one nothing is left but the CPU
        fits = number < told["maxFPGAs"] and used + size <= told["maxSizePerFPGA"]
        used = used + size if fits else float("inf")
        device.update((node["id"], f"gpu{number}" if fits else "cpu0") for node in block)
    return device


parser = argparse.ArgumentParser()
parser.add_argument("graphs", metavar="GRAPH", nargs="+")
parser.add_argument("--samples", type=int, default=1000)
asked = parser.parse_args()
print(f"{'graph':40} {'greedy':>10} {'stowplan':>10} {'bound':>10}  ms")
for path in asked.graphs:
    with open(path, encoding="utf-8") as file:
        told = json.load(file)
    graph = stowplan.Graph.load(path)
    problem = stowplan.Problem(graph, machine(told))
    by_id = greedy(told)
    run = problem.simulate({op["name"]: by_id[op["attributes"]["msr_id"]] for op in graph.to_dict()["ops"]})
    found = problem.search("portfolio", samples=asked.samples)
    theirs = "no memory" if run.out_of_memory else f"{run.runtime_us / 1e3:.3f}"
    ours = "no memory" if found.placement is None else f"{found.runtime_us / 1e3:.3f}"
    print(f"{graph.name:40} {theirs:>10} {ours:>10} {problem.bounds().runtime_us / 1e3:10.3f}")
