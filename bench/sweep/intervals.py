#!/usr/bin/env python3
"""How often the interval of few seeds holds the ratio of ten (docs/protocol.md#statistics), from the rows of tables with ten.

    intervals.py TABLE... [--seeds N]      folders of results/: results/mars results/modern results/latency

For each row, two searched columns, or one and one without seeds: the ratio of medians over all ten seeds is taken for true. N of
the ten, each choice or 60 drawn, give an interval: percentiles of the bootstrap, Student's of the logarithms of the
seeds' ratios, and what holds both. Printed: how often it holds the true ratio, how often it excludes 1 (decides), and
how many of these are on the wrong side.
"""

import argparse
import csv
import itertools
import math
import os
import random
import statistics

STUDENT = {3: 2.920, 4: 2.353, 5: 2.132, 6: 2.015, 7: 1.943, 8: 1.895, 9: 1.860}  # 95th percentile
TEN = tuple(range(1, 11))
CHOICES, RESAMPLES = 60, 300


def cells_of(folder):
    """Runtimes by seed of the cells of each row: all ten fit, or no seeds."""
    csv.field_size_limit(1 << 30)
    rows = {}
    with open(os.path.join(folder, "rows.csv"), newline="") as file:
        for row in csv.DictReader(file):
            if row["status"] == "ok" and row["runtime_us"]:
                found = rows.setdefault((row["block"], row["row"]), {}).setdefault(row["column"], {})
                found[int(row["seed"])] = float(row["runtime_us"])
    return rows.values()


def pairs_of(cells):
    sampled = [by_seed for by_seed in cells.values() if tuple(sorted(by_seed)) == TEN]
    fixed = [dict.fromkeys(TEN, by_seed[1]) for by_seed in cells.values() if list(by_seed) == [1]]
    for ours, theirs in [*itertools.combinations(sampled, 2), *itertools.product(sampled, fixed)]:
        if len(set(ours.values()) | set(theirs.values())) > 2:  # some seeds differ
            yield ours, theirs


def log_ratio(ours, theirs, seeds):
    return math.log(statistics.median_low(ours[s] for s in seeds) / statistics.median_low(theirs[s] for s in seeds))


def bootstrap(ours, theirs, seeds, dice):
    n = len(seeds)
    draws = itertools.product(seeds, repeat=n) if n == 3 else (dice.choices(seeds, k=n) for _ in range(RESAMPLES))
    found = sorted(log_ratio(ours, theirs, drawn) for drawn in draws)
    cut = len(found) // 20
    return found[cut], found[-1 - cut]


def student(ours, theirs, seeds):
    logs = [math.log(ours[s] / theirs[s]) for s in seeds]
    half = STUDENT[len(seeds)] * statistics.stdev(logs) / math.sqrt(len(seeds))
    return statistics.fmean(logs) - half, statistics.fmean(logs) + half


class Score:
    def __init__(self):
        self.intervals = self.hold = self.decide = self.wrong = 0

    def add(self, interval, truth):
        low, high = interval
        self.intervals += 1
        self.hold += low - 1e-12 <= truth <= high + 1e-12
        if low > 0 or high < 0:
            self.decide += 1
            self.wrong += (low > 0) != (truth > 0)

    def line(self, name):
        parts = (self.hold / self.intervals, self.decide / self.intervals, self.wrong / max(self.decide, 1))
        return f"| {name} | {self.intervals:,} | " + " | ".join(f"{100 * part:.2f} %" for part in parts) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--seeds", type=int, default=3, choices=sorted(STUDENT))
    options = parser.parse_args()
    dice = random.Random(1)
    choices = list(itertools.combinations(TEN, options.seeds))
    scores = {name: Score() for name in ("bootstrap", "Student", "both")}
    for folder in options.tables:
        for cells in cells_of(folder):
            for ours, theirs in pairs_of(cells):
                truth = log_ratio(ours, theirs, TEN)
                for seeds in dice.sample(choices, CHOICES) if len(choices) > CHOICES else choices:
                    a, b = bootstrap(ours, theirs, seeds, dice), student(ours, theirs, seeds)
                    for name, interval in (("bootstrap", a), ("Student", b), ("both", (min(a[0], b[0]), max(a[1], b[1])))):
                        scores[name].add(interval, truth)
    if scores["both"].intervals == 0:
        parser.error("no two columns of a row have ten seeds, or ten and none, and differ; expected a table such as mars")
    print(f"| interval of {options.seeds} seeds | intervals | hold the ratio of ten | decide | wrong of these |\n|---|---|---|---|---|")
    for name, score in scores.items():
        print(score.line(name))


if __name__ == "__main__":
    main()
