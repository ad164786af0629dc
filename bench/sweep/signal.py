#!/usr/bin/env python3
"""How much of a placement's runtime single units and pairs of neighbours explain, on every row of a table (PROTOCOL 8, SGDP).

    signal.py TABLE OUT [--samples N] [--grouper G] [--berth PATH]

Each row's workload is placed N times at random, every unit on a GPU of its own draw. Of the variance of the runtime, what part lies between
the devices of one unit, and between two units that exchange data being on one device or on two, without what chance alone would show (omega
squared)? That part decides what a learner can know of a decision: its effect is one standard error after 1 / part samples. Units, and pairs, are drawn
independently of one another, so the parts may be added. Where all GPUs are alike the parts of single units are zero: a placement runs as
long with its devices renamed. OUT is Markdown; rows, workloads and prices are those of results/TABLE.
"""

import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
BERTH = os.path.join(ROOT, "build", "release", "bench", "berth")
RUN = re.compile(r"([a-zA-Z])(\d*)")


def devices_of(kept):
    """The letters of a kept placement, one for each unit: "a3b" is "aaab"."""
    return "".join(letter * int(count or 1) for letter, count in RUN.findall(kept))


def scenarios(table):
    """Row: (title, workload, cluster), in the order of the page."""
    with open(os.path.join(ROOT, "results", table, "table.md"), encoding="utf-8") as page:
        found = re.findall(r"^- (.+): `(\S+) on (\S+)`$", page.read(), re.MULTILINE)
    if not found:
        sys.exit(f"signal.py: results/{table}/table.md names no scenarios (\"- row: `workload on cluster`\")")
    return found


def draw(berth, table, workload, cluster, grouper, samples):
    """Summary, runtimes, whether they fit, by unit the devices in all samples, pairs of units that exchange data."""
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        subprocess.run([berth, "place", "--agent", "random", "--graph", workload, "--cluster", cluster, "--devices", "gpu", "--grouper", grouper,
                        "--cost-model", f"chain(table,fitted,analytic(file=results/{table}/testbed.json))", "--samples", str(samples),
                        "--out", folder, "--trials", "--json", summary], check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        with open(os.path.join(folder, "trials.csv"), newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        with open(summary, encoding="utf-8") as file, open(os.path.join(folder, "units.json"), encoding="utf-8") as units:
            pairs = {tuple(sorted((edge["from"], edge["to"]))) for edge in json.load(units)["edges"] if edge["bytes"] > 0}
            by_unit = list(zip(*(devices_of(row["placement"]) for row in rows)))
            return json.load(file), [float(row["runtime_us"]) for row in rows], [row["status"] == "ok" for row in rows], by_unit, pairs


def part_of(groups, deviations, total):
    """Omega squared: (between - (k - 1) within) / (total + within); `groups` has each sample's."""
    sums, counts = {}, {}
    for group, deviation in zip(groups, deviations):
        sums[group] = sums.get(group, 0.0) + deviation
        counts[group] = counts.get(group, 0) + 1
    between = sum(sums[group] ** 2 / counts[group] for group in sums)
    within = (total - between) / (len(deviations) - len(sums))
    return (between - (len(sums) - 1) * within) / (total + within)


def line_of(title, summary, runtimes, fits, by_unit, pairs):
    mean = statistics.fmean(runtimes)
    deviations = [runtime - mean for runtime in runtimes]
    total = sum(deviation ** 2 for deviation in deviations)

    def explained(parts, degrees):
        share, error = sum(parts), math.sqrt(2 * degrees * len(parts)) / len(runtimes)
        return f"{share:.2f} ± {error:.2f}", f"{len(parts) / share:,.0f}" if share > 3 * error else "–"

    of_units, _ = explained([part_of(devices, deviations, total) for devices in by_unit], len(set(by_unit[0])) - 1)
    apart = ([a == b for a, b in zip(by_unit[one], by_unit[other])] for one, other in sorted(pairs))
    parts = [part_of(together, deviations, total) for together in apart]
    of_pairs, needed = explained(parts, 1)
    return (title, f"{len(by_unit):,}", f"{len(pairs):,}", f"{100 * fits.count(False) / len(fits):.0f} %", f"{mean / 1e6:.3g}",
            f"{100 * math.sqrt(total / (len(runtimes) - 1)) / mean:.1f} %", of_units, of_pairs, f"{100 * max(parts):.1f} %", needed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table")
    parser.add_argument("out")
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--grouper", default="neighbour(groups=2048)")
    parser.add_argument("--berth", default=BERTH)
    options = parser.parse_args()
    header = ("row", "units", "pairs", "do not fit", "mean [s]", "spread", "explained by units", "explained by pairs", "strongest pair",
              "samples for one standard error")
    lines = [header, ["---"] * len(header)]
    for title, workload, cluster in scenarios(options.table):
        summary, *drawn = draw(options.berth, options.table, workload, cluster, options.grouper, options.samples)
        lines.append(line_of(title, summary, *drawn))
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    with open(options.out, "w", encoding="utf-8") as out:
        out.write(f"# What single decisions explain: rows of `{options.table}`\n\n"
                  f"`bench/sweep/signal.py {options.table} {os.path.relpath(options.out, ROOT)} --samples {options.samples} --grouper "
                  f"'{options.grouper}'`, revision {summary['revision']}{' with changes' if summary['dirty'] else ''}.\n\n"
                  f"{options.samples:,} random placements of each row, every unit on a GPU of its own draw, seed 1. *Spread*: standard deviation over mean. "
                  "*Explained*: the part of the variance between the devices of a unit, or between a pair that exchanges data being together and "
                  "apart, less what chance shows, summed over all units or pairs; ± the standard error if there were nothing to explain. "
                  "*Samples for one standard error*: after so many the effect of an average pair is as large as the error of its estimate; "
                  "– where what is explained is within three errors of nothing.\n\n")
        out.writelines("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
