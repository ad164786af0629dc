#!/usr/bin/env python3
"""`pilot` beside local search at equal time, as Markdown, on the rows of the papers' tables under native rules.

    equal_time.py TIMES RESULTS     TIMES: rows.csv files, one folder a table, of

        stowplan table run T --cells 'native:*/local_search,native:*/pilot' --samples 2000 --seeds 1 --threads 1 --out TIMES/T

Two searches of a row run one after the other there, so that what else the machine does slows both. Only their seconds are taken
from them: a sample of local search, and of pilot its first sample (planned) and each further one. What was found, and after
how many samples, is that of the rows in RESULTS (seeds' medians). For each number of samples of pilot, local search gets as many
as it makes in the same seconds.
"""

import csv
import math
import os
import statistics
import sys

TABLES = ("hierarchical", "placeto", "sgdp", "mars")
LEVELS = (1, 300, 1000, 2000)
csv.field_size_limit(1 << 30)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["block"] == "native" and row["status"] == "ok"]


def numbers(text):
    return [float(number) for number in text.split()]


def curve(row):
    return [(int(at), float(us)) for at, us in (point.split(":") for point in row["curve"].split())]


def best_after(rows, samples):
    """The seeds' median, as the tables have it; infinite where half of them have nothing that fits."""
    found = [min((us for at, us in curve(row) if at <= samples), default=math.inf) for row in rows]
    return statistics.median(found) if found else math.inf


def seconds_of(row):
    """A search's seconds until its first sample, which is the first point of its curve, and for each further one."""
    first = numbers(row["curve_agent_seconds"])[0] + float(row["simulator_seconds"]) / int(row["samples"])
    return first, (float(row["wall_seconds"]) - first) / max(1, int(row["samples"]) - 1)


def geometric_mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    times, results = sys.argv[1:]
    ratios, slower = {level: [] for level in LEVELS}, []
    for table in TABLES:
        timed = {(row["row"], row["column"]): row for row in rows_of(os.path.join(times, table, "rows.csv"))}
        found = {}
        for row in rows_of(os.path.join(results, table, "rows.csv")):
            found.setdefault((row["row"], row["column"]), []).append(row)
        for name in sorted({name for name, _ in timed}):
            pair = [timed.get((name, column)) for column in ("pilot", "local_search")]
            searches = [found.get((name, column)) for column in ("pilot", "local_search")]
            if None in pair or None in searches or any(curve(row)[0][0] != 1 for row in pair):
                print(f"{table}: {name} left out: a search is missing, or its first sample does not fit", file=sys.stderr)
                continue
            (plan, step), (first, each) = map(seconds_of, pair)
            slower.append(step / each)
            for level in LEVELS:
                samples = 1 + ((plan + step * (level - 1)) - first) / each
                if samples > min(int(row["budget"]) for row in searches[1]):
                    continue
                ratio = best_after(searches[0], level) / best_after(searches[1], samples)
                if math.isfinite(ratio) and ratio > 0:
                    ratios[level].append((ratio, samples))
    print(f"A sample of pilot takes {geometric_mean(slower):.1f} times as long as one of local search ({min(slower):.1f} to {max(slower):.1f}), plan apart.\n")
    print("| samples of pilot | of local search, median | rows | best found, pilot / local search | least | most | ahead in |")
    print("|---|---|---|---|---|---|---|")
    for level, entries in ratios.items():
        if not entries:
            continue
        values = [ratio for ratio, _ in entries]
        print(f"| {level:,} | {statistics.median(samples for _, samples in entries):,.0f} | {len(values)} | {geometric_mean(values):.3f} | "
              f"{min(values):.3f} | {max(values):.3f} | {sum(value < 1 for value in values)} |")


if __name__ == "__main__":
    main()
