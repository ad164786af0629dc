#!/usr/bin/env python3
"""How much of the reward of a random placement single units and pairs of neighbours explain.

    explained.py PLAN OUT [--stowplan PATH]

PLAN is a JSON object:
    samples    random placements of each scenario, seed 1
    place      options of `stowplan place` for all, as one string
    scenarios  name: options of `stowplan place` that say what is placed

The reward is the learners': -sqrt(runtime / reference), and what does not fit loses 1 and the excess (docs/protocol_rules.md#tuned). Of its variance, what part lies
between the devices of one unit, and between two units that exchange data being on one device or on two, without what chance alone would show
(omega squared)? Units are drawn independently, and whether pairs are together is pairwise independent, so their parts may be added. The error is
that of a jackknife over ten blocks of samples. OUT is Markdown.
"""

import csv
import json
import math
import operator
import os
import re
import shlex
import statistics
import sys
import tempfile
from itertools import compress

from experiment import Experiment

RUN = re.compile(r"([a-zA-Z])(\d*)")
BLOCKS = 10
CHANCE = 10 * math.sqrt(2)  # times 1 / samples: of ten thousand pairs that explain nothing one is above
HEADER = ("row", "units", "pairs", "do not fit", "mean [s]", "spread", "units explain", "pairs explain", "pairs above chance", "they explain",
          "samples for one standard error")


def devices_of(kept):
    """The letters of a kept placement, one for each unit: "a3b" is "aaab"."""
    return "".join(letter * int(count or 1) for letter, count in RUN.findall(kept))


def draw(experiment, options, samples):
    """Summary, rows of samples.csv, pairs of units that exchange data."""
    with tempfile.TemporaryDirectory() as folder:
        experiment.stowplan("place", "--agent", "random", *shlex.split(options), "--samples", str(samples), "--seed", "1", "--out", folder, "--log-samples")
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            summary = json.load(file)
        with open(os.path.join(folder, "samples.csv"), newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        with open(os.path.join(folder, "units.json"), encoding="utf-8") as units:
            pairs = sorted({tuple(sorted(edge[:2])) for edge in json.load(units)["edges"] if edge[2] > 0})
        return summary, rows, pairs


def reward_of(row, reference_us):
    reward = -math.sqrt(float(row["runtime_us"]) / reference_us)
    return reward if row["status"] == "ok" else reward - 1 - float(row["excess"])


class Rewards:
    """Rewards less their mean, in blocks; what a decision explains of them."""

    def __init__(self, rewards):
        mean = statistics.fmean(rewards)
        cuts = [i * len(rewards) // BLOCKS for i in range(BLOCKS + 1)]
        self.spans = list(zip(cuts, cuts[1:]))
        self.blocks = [[reward - mean for reward in rewards[a:b]] for a, b in self.spans]
        counts, sums, squares = [len(b) for b in self.blocks], [sum(b) for b in self.blocks], [sum(x * x for x in b) for b in self.blocks]
        self.all = [self.total(counts, sums, squares, left_out) for left_out in (None, *range(BLOCKS))]

    @staticmethod
    def total(counts, sums, squares, left_out):
        rest = [b for b in range(BLOCKS) if b != left_out]
        return sum(counts[b] for b in rest), sum(sums[b] for b in rest), sum(squares[b] for b in rest)

    def parts(self, groups):
        """Omega squared of a split into groups (a list of booleans each), of all samples and without each block."""
        splits = []
        for group in groups:
            inside = [group[a:b] for a, b in self.spans]
            counts, sums = [sum(block) for block in inside], [sum(compress(y, block)) for y, block in zip(self.blocks, inside)]
            splits.append((sum(counts), sum(sums), counts, sums))
        result = []
        for left_out, (n, s, q) in enumerate(self.all, start=-1):
            taken = [(c - cs[left_out], t - ss[left_out]) if left_out >= 0 else (c, t) for c, t, cs, ss in splits]
            between = sum(t * t / c for c, t in taken if c) - s * s / n
            total = q - s * s / n
            free = sum(c > 0 for c, _ in taken) - 1
            within = (total - between) / (n - free - 1)
            result.append((between - free * within) / (total + within))
        return result


def sum_and_error(parts):
    """Sum over decisions of parts(), and its standard error."""
    sums = [sum(column) for column in zip(*parts)]
    mean = statistics.fmean(sums[1:])
    return sums[0], math.sqrt((BLOCKS - 1) / BLOCKS * sum((s - mean) ** 2 for s in sums[1:]))


def line_of(name, summary, rows, pairs):
    runtimes = [float(row["runtime_us"]) for row in rows]
    rewards = Rewards([reward_of(row, summary["reference_runtime_us"]) for row in rows])
    by_unit = list(zip(*(devices_of(row["placement"]) for row in rows)))
    devices = sorted(set(by_unit[0]))
    units, units_error = sum_and_error([rewards.parts([[d == own for d in unit] for own in devices]) for unit in by_unit])
    parts = []
    for one, other in pairs:
        together = list(map(operator.eq, by_unit[one], by_unit[other]))
        parts.append(rewards.parts([together, [not t for t in together]]))
    share, error = sum_and_error(parts)
    strong = [part[0] for part in parts if part[0] > CHANCE / len(rows)]
    needed = f"{len(pairs) / share:,.0f}" if share > 3 * math.sqrt(2 * len(pairs)) / len(rows) else "–"
    return (name, f"{len(by_unit):,}", f"{len(pairs):,}", f"{100 * sum(row['status'] == 'oom' for row in rows) / len(rows):.0f} %",
            f"{statistics.fmean(runtimes) / 1e6:.3g}", f"{100 * statistics.stdev(runtimes) / statistics.fmean(runtimes):.1f} %",
            f"{units:.2f} ± {units_error:.2f}", f"{share:.2f} ± {error:.2f}", f"{len(strong):,}", f"{sum(strong):.2f}", needed)


def main():
    experiment = Experiment(__file__, __doc__)
    plan, lines = experiment.plan, [HEADER]
    for name, scenario in plan["scenarios"].items():
        summary, *drawn = draw(experiment, f"{scenario} {plan['place']}", plan["samples"])
        experiment.count_in(summary)
        lines.append(line_of(name, summary, *drawn))
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    experiment.write("What single decisions explain of the reward", f""". How much of the variance of the reward single units, and pairs of units that exchange data, explain:
{plan['samples']:,} random placements of each row, every unit on a GPU of its own draw.

- *Spread*: standard deviation of the runtime over its mean.
- *Explain*: the part of the variance between the devices of a unit, or between a pair together and apart, less what chance shows, summed; ± one
  standard error (jackknife).
- *Above chance*: pairs that explain more than {100 * CHANCE / plan['samples']:.2f} % each, as one in ten thousand does that explains nothing.
- *Samples for one standard error*: after so many the effect of an average pair is as large as the error of its estimate; – where all
  pairs together are within three errors of chance.""", lines)


if __name__ == "__main__":
    main()
