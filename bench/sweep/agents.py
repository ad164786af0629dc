#!/usr/bin/env python3
"""Tables of a sweep over agents (sweep.py), as Markdown: one for each scenario, or one over all.

    agents.py PLAN ROWS...                      lines of the agents of PLAN; all rows count as opponents
    agents.py PLAN ROWS... --over AGENT...      one table: each agent's median over that of others, geometric means over the scenarios

A line has the median over the seeds. "to random": the geometric mean over the seeds of the agent's best over that of random search
with the same seed and budget, of the three kinds of random search that with the best median (docs/protocol.md#random-search), and the 90 % interval
of that mean when seeds are drawn anew with replacement. Fewer than three seeds give no interval.
"""

import argparse
import itertools
import json
import math
import statistics
import sys

import sweep

RANDOM = ("random, ops", "random, groups", "random, blocks")
NOTHING = "–"


def by_seed(rows, column):
    return {row["seed"]: float(row[column]) for row in rows if row[column]}


def best_random(found):
    """The best runtimes by seed of the kind of random search that is best in the median; empty where none finds anything."""
    kinds = [by_seed(found.get(name, []), "best_runtime_us") for name in RANDOM]
    kinds = [kind for kind in kinds if kind]
    return min(kinds, key=lambda kind: statistics.median(kind.values()), default={})


def interval(logs):
    """5 % and 95 % of the means of all samples with replacement of as many as there are."""
    means = sorted(statistics.fmean(drawn) for drawn in itertools.product(logs, repeat=len(logs)))
    cut = int(0.05 * len(means))
    return math.exp(means[cut]), math.exp(means[-1 - cut])


def ratio_text(own, other):
    logs = [math.log(own[seed] / other[seed]) for seed in own if seed in other]
    if not logs:
        return NOTHING
    text = f"{math.exp(statistics.fmean(logs)):.3f}"
    if len(logs) >= 3:
        low, high = interval(logs)
        text += f" [{low:.3f}, {high:.3f}]"
    return text


def median_of(rows, column, form):
    values = [float(row[column]) for row in rows if row[column]]
    return form.format(statistics.median(values)) if values else NOTHING


def line(name, rows, random):
    own = by_seed(rows, "best_runtime_us")
    seeds = len(rows)
    if own:
        values = sorted(own.values())
        best = f"{statistics.median(values) / 1e3:.1f}"
        best += f" [{values[0] / 1e3:.1f}, {values[-1] / 1e3:.1f}]" if len(values) > 1 else ""
        best += f" ({len(own)} of {seeds} fit)" if len(own) < seeds else ""
        bound = f'{statistics.median(values) / float(rows[0]["lower_bound_us"]):.3f}'
    else:
        best, bound = "does not fit", NOTHING
    draws = any(int(row["samples"]) > 1 for row in rows)
    counts = [median_of(rows, column, "{:.0f}") if draws else NOTHING for column in ("samples_to_best", "samples_to_1pct")]
    ratio = NOTHING if not draws else ratio_text(own, random)
    return f'| {name} | {best} | {bound} | {ratio} | {" | ".join(counts)} | {median_of(rows, "wall_seconds", "{:.1f}")} |'


def print_scenario(scenario, found, names):
    bound = float(next(iter(found.values()))[0]["lower_bound_us"]) / 1e3
    print(f"### {scenario}\n\nProven lower bound {bound:.1f} ms.\n")
    print("| agent | best [ms] | to bound | to random | samples to best | to 1 % | wall [s] |\n|---|---|---|---|---|---|---|")
    for name in names:
        if name in found:
            print(line(name, found[name], best_random(found)))
    print()


def median_by_scenario(scenarios, agent):
    """Infinite where the median seed finds nothing that fits; scenarios without rows of the agent are left out."""
    medians = {}
    for scenario, found in scenarios.items():
        if agent in found:
            medians[scenario] = statistics.median(float(row["best_runtime_us"] or "inf") for row in found[agent])
    return medians


def print_over(scenarios, names, opponents):
    """In the order of the first opponent's column; who does not fit everywhere, or was not run everywhere, is named below."""
    others = [median_by_scenario(scenarios, opponent) for opponent in opponents]
    left_out = []
    lines = []
    for name in names:
        own = median_by_scenario(scenarios, name)
        if own.keys() != others[0].keys() or math.inf in own.values():
            left_out.append(name)
            continue
        lines.append((name, [statistics.geometric_mean(own[s] / other[s] for s in own) for other in others]))
    print(f'| agent | over {" | over ".join(opponents)} |\n|---|{"---|" * len(opponents)}')
    for name, ratios in sorted(lines, key=lambda line: line[1][0]):
        print(f'| {name} | {" | ".join(f"{ratio:.3f}" for ratio in ratios)} |')
    if left_out:
        print(f'\nLeft out, as they do not fit or were not run in some scenario: {", ".join(left_out)}.')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--over", nargs="+", metavar="AGENT", help="one table of ratios to these")
    options = parser.parse_args()
    with open(options.plan) as file:
        plan = json.load(file)
    scenarios = {}
    for path in options.rows:
        for row in sweep.read_rows(path):
            scenarios.setdefault(row["scenario"], {}).setdefault(row["agent"], []).append(row)
    scenarios = {name: found for name, found in scenarios.items() if plan["agents"].keys() & found.keys()}
    if options.over:
        for agent in options.over:
            medians = median_by_scenario(scenarios, agent)
            if medians.keys() != scenarios.keys() or math.inf in medians.values():
                parser.error(f"--over: {agent} has no rows in some scenario, or does not fit there; expected one that fits in each")
        print_over(scenarios, plan["agents"], options.over)
        return
    for scenario, found in scenarios.items():
        print_scenario(scenario, found, plan["agents"])


if __name__ == "__main__":
    main()
