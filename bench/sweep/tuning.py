#!/usr/bin/env python3
"""Scores the rows of a tuning sweep (sweep.py).

    tuning.py table ROWS                     the table of all configurations as Markdown
    tuning.py halve PLAN ROWS SCENARIO...    the plan of the second stage on other scenarios: of each grid of PLAN the better half

A search's score on a scenario is its best runtime over the best that any search of ROWS found there; a configuration's is the
geometric mean over the scenarios that all finalists of its agent ran on. Nothing that fits counts as 10.
"""

import collections
import json
import math
import sys

import sweep

NOTHING_FITS = 10.0


def scores(rows):
    """{agent: {spec: {scenario: score}}}, in the order of the rows."""
    best = collections.defaultdict(lambda: math.inf)
    for row in rows:
        if row["best_runtime_us"]:
            best[row["scenario"]] = min(best[row["scenario"]], float(row["best_runtime_us"]))
    result = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows:
        found = float(row["best_runtime_us"]) / best[row["scenario"]] if row["best_runtime_us"] else NOTHING_FITS
        result[row["agent"]][row["spec"]][row["scenario"]] = found
    return result


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def ranked(specs):
    """(mean, spec), best first, of those that ran on the most scenarios, then the others."""
    most = max(len(found) for found in specs.values())
    return sorted((len(found) < most, mean(found.values()), spec) for spec, found in specs.items())


def print_table(rows):
    scenarios = list(dict.fromkeys(row["scenario"] for row in rows))
    print(f'| agent | {" | ".join(scenarios)} | mean |')
    print("|---" * (len(scenarios) + 2) + "|")
    for specs in scores(rows).values():
        for place, (stopped, score, spec) in enumerate(ranked(specs)):
            cells = [f"{specs[spec][name]:.3f}" if name in specs[spec] else "" for name in scenarios]
            strong = "**" if place == 0 and len(specs) > 1 else ""
            total = "" if stopped else f"{strong}{score:.3f}{strong}"
            print(f'| {strong}`{spec}`{strong} | {" | ".join(cells)} | {total} |')


def print_second_stage(plan, rows, names):
    found = scores(rows)
    for name, agent in plan["agents"].items():
        if "grid" not in agent:
            continue
        order = [spec for _, _, spec in ranked(found[name])]
        assert len(order) == len(list(sweep.specs(agent))), name
        keep = set(order[: len(order) // 2])
        plan["agents"][name] = {"specs": [spec for spec in sweep.specs(agent) if spec in keep]}
    plan["scenarios"] = {name: plan["scenarios"][name] for name in names}
    print(json.dumps(plan, indent=1))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "table":
        return print_table(sweep.read_rows(sys.argv[2]))
    if len(sys.argv) > 4 and sys.argv[1] == "halve":
        with open(sys.argv[2]) as file:
            plan = json.load(file)
        return print_second_stage(plan, sweep.read_rows(sys.argv[3]), sys.argv[4:])
    sys.exit(__doc__)


if __name__ == "__main__":
    main()
