#!/usr/bin/env python3
"""Runs placements through the simulator that was published with Placeto, from a checkout of its repository.

    published_peer.py CHECKOUT CASE     prints {"runs": [{"seconds": 0.1, "runtime_us": 123.4, "peak_bytes": [0, 0]}, ...]}

CHECKOUT is the repository's root, or the folder in it that holds the package tf_placement_sim. CASE is a JSON file:
{"devices": 2, "ops": [{"name": "a", "cost_us": 10, "output_bytes": [8], "inputs": ["b:0"]}], "placements": [[0, 1]]}.

The published class reads TensorFlow's protocol buffers by attribute alone, so plain objects with the same attributes stand in
for them and TensorFlow is not needed. `seconds` is the call that simulates, with peak memory; what the class does once for a
graph is not in it. Nothing of the published program is part of this file.
"""

import importlib
import json
import os
import sys
import time
import warnings
from types import SimpleNamespace as Record


def load_simulator(checkout):
    for root in (os.path.join(checkout, "sim"), checkout):
        if os.path.isfile(os.path.join(root, "tf_placement_sim", "tf_pl_simulator.py")):
            sys.path.insert(0, root)
            warnings.simplefilter("ignore", SyntaxWarning)  # it compares texts by `is`
            return importlib.import_module("tf_placement_sim.tf_pl_simulator").ImportantOpsSimulator
    raise SystemExit(f"published_peer.py: {checkout} has no sim/tf_placement_sim/tf_pl_simulator.py, "
                     "as the repository of Placeto has")


def make_simulator(simulator_class, case):
    devices = [f"/device:GPU:{i}" for i in range(case["devices"])]
    nodes = [Record(name=op["name"], op="Op", device=devices[0], input=list(op["inputs"])) for op in case["ops"]]
    memory = [Record(node=op["name"], op_memory=Record(output_memory=list(op["output_bytes"]))) for op in case["ops"]]
    times = [Record(node_name=op["name"], all_start_micros=0, op_start_rel_micros=0, all_end_rel_micros=op["cost_us"],
                    output=[]) for op in case["ops"]]
    steps = Record(dev_stats=[Record(device="/stream:all", node_stats=times)])
    return simulator_class(Record(graph_def=Record(node=nodes)), memory, steps, devices)


def run(simulator, names, placement):
    by_name = dict(zip(names, placement))
    start = time.perf_counter()
    runtime, peaks = simulator.simulate(by_name, sim_mem_usage=True)
    return {"seconds": time.perf_counter() - start, "runtime_us": runtime, "peak_bytes": list(peaks)}


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    simulator_class = load_simulator(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        case = json.load(file)
    simulator = make_simulator(simulator_class, case)
    names = [op["name"] for op in case["ops"]]
    json.dump({"runs": [run(simulator, names, placement) for placement in case["placements"]]}, sys.stdout)


if __name__ == "__main__":
    main()
