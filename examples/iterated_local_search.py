"""Iterated local search outside of stowplan, on exact samples alone: the best of a batch of moves, and kicks from the best placement
where nothing gains. A rival that shares no code with the agents inside, to hold them against (table `search`).
stowplan place --agent 'external(command=python3 examples/iterated_local_search.py)' --graph nmt --cluster 'k80(gpus=2)' --devices gpu

Lourenço, Martin, Stützle: Iterated local search, Handbook of Metaheuristics, 2003."""

import bisect
import heapq
import itertools
import json
import random
import sys

BATCH, KICK, PATIENCE = 16, 4, 400
task = json.loads(sys.stdin.readline())
draw = random.Random(task["seed"])
devices, units = len(task["devices"]), len(task["units"])
capacity = [device["capacity_bytes"] for device in task["devices"]]
left = task["budget"]
best = (float("inf"), [])  # of all that was evaluated


def evaluate(placements):
    """How bad each is: microseconds, or beyond all of those the part by which it does not fit. Ends with the budget."""
    global left, best
    print(json.dumps({"evaluate": placements}), flush=True)
    answer = json.loads(sys.stdin.readline() or sys.exit())
    left = answer["remaining"]
    costs = []
    for placement, result in zip(placements, answer["results"]):
        cost = result["runtime_us"]
        if result["oom"] is not None:
            over = sum(max(0, peak - most) / most for peak, most in zip(result["peak_bytes"], capacity) if most > 0)
            cost += 1e12 * (1 + over)
        costs.append(cost)
        best = min(best, (cost, placement))
    if left <= 0:
        sys.exit()
    return costs


def topological():
    """Units, producers first; where groups wait for one another, the first of them goes on."""
    pairs = {(a, b) for a, b, _ in task["edges"]}
    pairs = {(a, b) for a, b in pairs if a != b and not ((b, a) in pairs and b < a)}
    waits, readers, order, done = [0] * units, [[] for _ in range(units)], [], [False] * units
    for a, b in pairs:
        readers[a].append(b)
        waits[b] += 1
    ready = [unit for unit in range(units) if waits[unit] == 0]
    while len(order) < units:
        unit = heapq.heappop(ready) if ready else done.index(False)
        if done[unit]:
            continue
        done[unit] = True
        order.append(unit)
        for reader in readers[unit]:
            waits[reader] -= 1
            if waits[reader] == 0:
                heapq.heappush(ready, reader)
    return order


order = topological()
neighbours = [[] for _ in range(units)]
for a, b, _ in task["edges"]:
    if a != b:
        neighbours[a].append(b)
        neighbours[b].append(a)
work = list(itertools.accumulate(min(task["units"][unit]["cost_us"]) for unit in order))


def geometric(part):
    count = 1
    while draw.random() >= part:
        count += 1
    return count


def chunk(size):
    """Connected units."""
    chosen = {draw.randrange(units)}
    border = list(chosen)
    while len(chosen) < size and border:
        unit = draw.choice(border)
        more = [near for near in neighbours[unit] if near not in chosen]
        if more:
            chosen.add(more[0] if len(more) == 1 else draw.choice(more))
            border = list(chosen)
        else:
            border.remove(unit)
    return chosen


def move(here):
    there, kind, unit = list(here), draw.choices(range(5), (.3, .25, .2, .15, .1))[0], draw.randrange(units)
    if kind == 0:
        there[unit] = (there[unit] + 1 + draw.randrange(max(1, devices - 1))) % devices
    elif kind == 1:  # a run of the order
        device = draw.randrange(devices)
        for near in order[unit:unit + 1 + geometric(1 / draw.choice((3, 8, 24)))]:
            there[near] = device
    elif kind == 2:
        device = draw.randrange(devices)
        for near in chunk(1 + geometric(.2)):
            there[near] = device
    elif kind == 3 and neighbours[unit]:
        there[unit] = there[draw.choice(neighbours[unit])]
    elif draw.random() < .5:
        other = draw.randrange(units)
        there[unit], there[other] = there[other], there[unit]
    else:  # two devices change places along a run
        first, last = sorted((unit, draw.randrange(units)))
        a, b = draw.randrange(devices), draw.randrange(devices)
        for near in order[first:last + 1]:
            there[near] = b if there[near] == a else a if there[near] == b else there[near]
    return there


def blocks(cuts, onto):
    """Contiguous parts of the work, a device each."""
    placement = [0] * units
    for unit, until in zip(order, work):
        placement[unit] = onto[bisect.bisect_left(cuts, until / max(work[-1], 1e-9) - 1e-12)]
    return placement


starts = [[0] * units, blocks([i / devices for i in range(1, devices)], range(devices))]
for _ in range(3):
    starts.append([draw.randrange(devices) for _ in range(units)])
    starts.append(blocks(sorted(draw.random() for _ in range(devices - 1)), draw.sample(range(devices), devices)))
cost, here = min(zip(evaluate(starts), starts))
seen, fails = set(), 0
while True:
    batch = []
    for _ in range(4 * BATCH):
        there = move(here)
        if tuple(there) not in seen and len(batch) < BATCH:
            seen.add(tuple(there))
            batch.append(there)
    if batch:
        found, there = min(zip(evaluate(batch), batch))
        fails = 0 if found < cost else fails + len(batch)
        if found <= cost:
            cost, here = found, there
    if not batch or fails >= PATIENCE:
        here, fails = best[1], 0
        for _ in range(KICK):
            here = move(here)
        cost = evaluate([here])[0]
