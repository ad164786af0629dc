"""An agent outside of stowplan: greedy steps from random starts.
stowplan place --agent 'external(command=python3 examples/outside_agent.py)' --graph nmt --cluster 'k80(gpus=2)' --devices gpu"""

import json
import random
import sys

BATCH = 64
task = json.loads(sys.stdin.readline())
draw = random.Random(task["seed"])
devices, units = range(len(task["devices"])), range(len(task["units"]))
left = task["budget"]


def evaluate(placements):
    """How bad each is: bytes that do not fit, then microseconds. Ends with the budget."""
    global left
    print(json.dumps({"evaluate": placements}), flush=True)
    answer = json.loads(sys.stdin.readline() or sys.exit())
    left = answer["remaining"]
    over = [sum(max(0, peak - device["capacity_bytes"]) for peak, device in zip(result["peak_bytes"], task["devices"]))
            for result in answer["results"]]
    return [(bytes_, result["runtime_us"]) for bytes_, result in zip(over, answer["results"])]


while left > 0:
    starts = [[draw.choice(devices) for _ in units] for _ in range(BATCH)]
    best, here = min(zip(evaluate(starts), starts))
    for _ in range(20):  # rounds without gain end the climb
        steps = [[draw.choice(devices) if draw.random() < 2 / len(units) else device for device in here] for _ in range(BATCH)]
        found, there = min(zip(evaluate(steps), steps)) if left > 0 else (best, here)
        if found >= best:
            break
        best, here = found, there
