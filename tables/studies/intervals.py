#!/usr/bin/env python3
"""How often the interval of few seeds holds the ratio of others (docs/protocol_rules.md#statistics), from the rows of tables with ten.

    intervals.py TABLE... [--seeds N]      folders of results/: results/mars results/modern results/latency

For each row, two searched columns, or one and one without seeds; and, as tables claim of all rows of a block, their geometric
means. N of the ten seeds, each choice or 60 drawn, give an interval: percentiles of the bootstrap, Student's of the logarithms of
the seeds' ratios, and what holds both. Printed: how often it holds the ratio of all ten seeds (of which they are a part: too often),
and of the others alone (which errs itself: too seldom), how often it excludes 1 (decides), and how many of these are on
the wrong side of the others' ratio.
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
    return rows


def pairs_of(cells):
    """The pairs of columns of a row that are compared: {(column, column): (runtimes by seed, runtimes by seed)}."""
    sampled = {column: by_seed for column, by_seed in cells.items() if tuple(sorted(by_seed)) == TEN}
    fixed = {column: dict.fromkeys(TEN, by_seed[1]) for column, by_seed in cells.items() if list(by_seed) == [1]}
    columns = [*itertools.combinations(sampled, 2), *itertools.product(sampled, fixed)]
    return {(a, b): (sampled[a], {**sampled, **fixed}[b]) for a, b in columns}


def comparisons(folder):
    """Lists of pairs: each row's alone, and those that two columns have in all rows of a block that has several."""
    blocks = {}
    for (block, _), cells in cells_of(folder).items():
        blocks.setdefault(block, []).append(pairs_of(cells))
    for rows in blocks.values():
        for pairs in rows:
            yield "a row", [[pair] for pair in pairs.values() if differs([pair])]
        shared = set.intersection(*(set(pairs) for pairs in rows)) if len(rows) > 1 else set()
        means = ([pairs[columns] for pairs in rows] for columns in sorted(shared))
        yield "all rows", [mean for mean in means if differs(mean)]


def differs(pairs):
    return any(len({ours[s] / theirs[s] for s in TEN}) > 1 for ours, theirs in pairs)


def log_ratio(pairs, seeds):
    """The mean over the pairs of the logarithm of the ratio of medians."""
    return statistics.fmean(
        math.log(statistics.median_low(ours[s] for s in seeds) / statistics.median_low(theirs[s] for s in seeds)) for ours, theirs in pairs
    )


def bootstrap(pairs, seeds, dice):
    n = len(seeds)
    draws = itertools.product(seeds, repeat=n) if n == 3 else (dice.choices(seeds, k=n) for _ in range(RESAMPLES))
    found = sorted(log_ratio(pairs, drawn) for drawn in draws)
    cut = len(found) // 20
    return found[cut], found[-1 - cut]


def student(pairs, seeds):
    logs = [log_ratio(pairs, [s]) for s in seeds]
    half = STUDENT[len(seeds)] * statistics.stdev(logs) / math.sqrt(len(seeds))
    return statistics.fmean(logs) - half, statistics.fmean(logs) + half


class Score:
    def __init__(self):
        self.intervals = self.hold_all = self.hold_others = self.decide = self.wrong = 0

    def add(self, interval, of_all, of_others):
        low, high = interval[0] - 1e-12, interval[1] + 1e-12
        self.intervals += 1
        self.hold_all += low <= of_all <= high
        self.hold_others += low <= of_others <= high
        if low > 0 or high < 0:
            self.decide += 1
            self.wrong += (low > 0) != (of_others > 0)

    def line(self, of, name):
        parts = [part / self.intervals for part in (self.hold_all, self.hold_others, self.decide)]
        parts.append(self.wrong / max(self.decide, 1))
        return f"| {of} | {name} | {self.intervals:,} | " + " | ".join(f"{100 * part:.2f} %" for part in parts) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--seeds", type=int, default=3, choices=sorted(STUDENT))
    options = parser.parse_args()
    dice = random.Random(1)
    choices = list(itertools.combinations(TEN, options.seeds))
    scores = {}
    for of, compared in itertools.chain.from_iterable(map(comparisons, options.tables)):
        for pairs in compared:
            of_all = log_ratio(pairs, TEN)
            for seeds in dice.sample(choices, CHOICES) if len(choices) > CHOICES else choices:
                of_others = log_ratio(pairs, [s for s in TEN if s not in seeds])
                a, b = bootstrap(pairs, seeds, dice), student(pairs, seeds)
                for name, interval in (("bootstrap", a), ("Student", b), ("both", (min(a[0], b[0]), max(a[1], b[1])))):
                    scores.setdefault((of, name), Score()).add(interval, of_all, of_others)
    if not scores:
        parser.error("no two columns of a row have ten seeds, or ten and none, and differ; expected a table such as mars")
    print(f"| of | interval of {options.seeds} seeds | intervals | hold the ratio of ten | of the others | decide | wrong of these |")
    print("|---|---|---|---|---|---|---|")
    for (of, name), score in scores.items():
        print(score.line(of, name))


if __name__ == "__main__":
    main()
