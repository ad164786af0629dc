#!/usr/bin/env python3
"""Runs every search that a plan names and appends each as one row of a CSV when it has ended; rows that are there are skipped.

    sweep.py PLAN ROWS [--berth PATH] [--seeds 1,2] [--scenarios a,b]

PLAN is a JSON object:
    samples    budget of each search
    seeds      of searchers that draw; the others run with the first alone
    place      options of `berth place` for all agents without some of their own, as one string
    scenarios  name: options of `berth place` that say what is placed
    agents     name: {"spec": agent, "grid": {parameter: [value, ...], ...}}, one search for each combination of values;
               or {"specs": [agent, ...]}; further "samples": a budget of its own, "place": options of its own,
               "once": true: the first seed alone

Order: seeds, scenarios, agents as they stand, so that an interrupted sweep has whole scenarios of one seed. One search at a time, one
thread each. A row ends with the curve: sample/best [us]/wall [s], one triple for each improvement.
"""

import argparse
import csv
import itertools
import json
import os
import shlex
import subprocess
import sys
import tempfile

INTERRUPTED = 130  # exit status of whatever Ctrl-C stopped (docs/cli.md)
COLUMNS = ("scenario", "agent", "spec", "seed", "budget", "samples", "distinct", "units", "best_runtime_us", "samples_to_best",
           "samples_to_1pct", "lower_bound_us", "reference_runtime_us", "wall_seconds", "simulator_seconds", "revision", "dirty",
           "machine", "date", "curve")
FROM_SUMMARY = COLUMNS[5:19]
BERTH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "release", "bench", "berth")


def specs(agent):
    """All specs of an agent of the plan: rnn(lr=0.001,entropy=0.1), ..."""
    if "specs" in agent:
        yield from agent["specs"]
        return
    grid = agent.get("grid", {})
    for values in itertools.product(*grid.values()):
        chosen = ",".join(f"{key}={value}" for key, value in zip(grid, values))
        spec = agent["spec"]
        if not chosen:
            yield spec
        elif spec.endswith(")"):
            yield f"{spec[:-1]},{chosen})"
        else:
            yield f"{spec}({chosen})"


def searches(plan, seeds, scenarios):
    """(scenario, agent, spec, seed, budget) in the order in which they run."""
    for seed in seeds:
        for scenario in scenarios:
            for name, agent in plan["agents"].items():
                if agent.get("once") and seed != plan["seeds"][0]:
                    continue
                for spec in specs(agent):
                    yield scenario, name, spec, str(seed), str(agent.get("samples", plan["samples"]))


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def key_of(row):
    return tuple(row[column] for column in COLUMNS[:5])


def read_curve(path):
    with open(path, newline="") as file:
        return " ".join(f'{point["sample"]}/{point["best_runtime_us"]}/{point["wall_seconds"]}' for point in csv.DictReader(file))


def search(berth, plan, key):
    scenario, name, spec, seed, budget = key
    options = plan["scenarios"][scenario], plan["agents"][name].get("place", plan.get("place", ""))
    with tempfile.TemporaryDirectory() as folder:
        command = [berth, "place", "--agent", spec, "--samples", budget, "--seed", seed, "--threads", "1", "--out", folder,
                   *shlex.split(" ".join(options)), "--json", "-"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode == INTERRUPTED:
            raise KeyboardInterrupt
        if result.returncode != 0:
            sys.exit(f"sweep.py: {shlex.join(command)}: {result.stderr.strip()}")
        summary = json.loads(result.stdout)
        row = dict(zip(COLUMNS, key))
        row.update((column, summary[column]) for column in FROM_SUMMARY)
        row["curve"] = read_curve(os.path.join(folder, "curve.csv"))
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan")
    parser.add_argument("rows")
    parser.add_argument("--berth", default=BERTH)
    parser.add_argument("--seeds", help="some of the plan's")
    parser.add_argument("--scenarios", help="some of the plan's")
    options = parser.parse_args()
    with open(options.plan) as file:
        plan = json.load(file)
    seeds = [int(seed) for seed in options.seeds.split(",")] if options.seeds else plan["seeds"]
    done = {key_of(row) for row in read_rows(options.rows)}
    scenarios = options.scenarios.split(",") if options.scenarios else plan["scenarios"]
    wanted = list(searches(plan, seeds, scenarios))
    for number, key in enumerate(wanted, 1):
        if key in done:
            continue
        row = search(options.berth, plan, key)
        fresh = not os.path.exists(options.rows)
        with open(options.rows, "a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        print(f'{number}/{len(wanted)} {key[0]} {key[2]} seed {key[3]}: {row["best_runtime_us"]} us, {row["wall_seconds"]:.1f} s', flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("sweep.py: stopped; the rows that are finished are kept, the same command goes on", file=sys.stderr)
        sys.exit(INTERRUPTED)
