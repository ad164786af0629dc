#!/usr/bin/env python3
"""`berth speed` over graph sizes, rules and threads, as one CSV or JSON table with machine and revision.

    scaling.py                                  ./berth, or the release build: 1, 2, 4, 8, 16 threads
    scaling.py --berth PATH --out DIR           also writes DIR/scaling.csv and DIR/scaling.json
    scaling.py --quick                          one size, one set of rules, short runs

A row is the best of --repeats runs, each long enough to fill --seconds at the rate that a first short run showed. `threads`
rows are one process with that many threads; `processes` rows are as many single-thread processes started together, their
rates added: what the threads are compared with (`ratio` = threads over processes). More threads than cores are left out.

Needs Python and the program alone, so it runs from the portable folder on a bare machine.
"""

import argparse
import csv
import datetime
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ("graph", "ops", "edges", "cluster", "devices", "rules", "mode", "count", "placements", "seconds",
           "ops_per_second", "ratio", "revision", "dirty", "machine")


def find_program():
    for path in (os.path.join(HERE, "berth"), os.path.join(HERE, "..", "..", "build", "release", "bench", "berth")):
        if os.access(path, os.X_OK):
            return os.path.normpath(path)
    return None


class Bench:
    def __init__(self, options):
        self._berth = options.berth
        self._seconds = options.seconds
        self._repeats = options.repeats

    def _start(self, job, placements, threads, seed):
        command = [self._berth, "speed", "--graph", job["graph"], "--cluster", job["cluster"], "--rules", job["rules"],
                   "--placements", str(placements), "--threads", str(threads), "--seed", str(seed), "--json", "-"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _finish(self, process):
        output, complaint = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"scaling.py: {' '.join(process.args)}\n{complaint.strip()}")
        return json.loads(output)

    def _together(self, job, placements, threads, processes):
        """Results of `processes` runs that were started together, each with its own placements."""
        started = [self._start(job, placements, threads, seed) for seed in range(1, processes + 1)]
        return [self._finish(process) for process in started]

    def measure(self, job, threads, processes):
        first = self._together(job, 8 * threads, threads, processes)[0]
        rate = first["placements"] / first["seconds"]
        placements = max(8 * threads, int(rate * self._seconds))
        runs = [self._together(job, placements, threads, processes) for _ in range(self._repeats)]
        best = max(runs, key=lambda run: sum(each["ops_per_second"] for each in run))
        row = {name: best[0][name] for name in COLUMNS if name in best[0]}
        row |= {"graph": job["graph"], "mode": "threads" if processes == 1 else "processes",
                "count": max(threads, processes), "ratio": "",
                "seconds": round(max(each["seconds"] for each in best), 4), "placements": placements * processes,
                "ops_per_second": round(sum(each["ops_per_second"] for each in best))}
        return row

    def rows(self, job, counts):
        """Threads and processes side by side; the two modes coincide at 1."""
        for count in counts:
            threads = self.measure(job, count, 1)
            if count > 1:
                processes = self.measure(job, 1, count)
                threads["ratio"] = round(threads["ops_per_second"] / processes["ops_per_second"], 3)
                yield processes
            yield threads


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--berth", default=find_program(), help="the program")
    parser.add_argument("--ops", type=int, nargs="+", default=[1000, 10000, 50000], help="sizes of random_dag")
    parser.add_argument("--graph", action="append", default=[], help="a workload or graph file instead of those; repeatable")
    parser.add_argument("--cluster", default="k80(gpus=3)", help="one CPU and three GPUs: four devices")
    parser.add_argument("--rules", nargs="+", default=["published", "native"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=2.0, help="about how long one run takes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", help="folder for scaling.csv and scaling.json")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.berth is None:
        parser.error("no program found beside this script or in build/release; name it with --berth")
    if options.quick:
        options.ops, options.rules, options.seconds, options.repeats = options.ops[:1], options.rules[:1], 0.2, 1
    return options


def write(folder, rows):
    os.makedirs(folder, exist_ok=True)
    document = {"command": " ".join(sys.argv), "cores": len(os.sched_getaffinity(0)), "rows": rows,
                "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
    for name, fill in (("scaling.csv", lambda file: table(file, rows)),
                       ("scaling.json", lambda file: file.write(json.dumps(document, indent=1) + "\n"))):
        path = os.path.join(folder, name)
        with open(path + ".new", "w", encoding="utf-8", newline="") as file:
            fill(file)
        os.replace(path + ".new", path)


def table(file, rows):
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def main():
    options = arguments()
    cores = len(os.sched_getaffinity(0))
    counts = [count for count in options.threads if count <= cores]
    graphs = options.graph or [f"random_dag(ops={ops})" for ops in options.ops]
    bench, rows = Bench(options), []
    printer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    printer.writeheader()
    for rules in options.rules:
        for graph in graphs:
            for row in bench.rows({"graph": graph, "cluster": options.cluster, "rules": rules}, counts):
                rows.append(row)
                printer.writerow(row)
                sys.stdout.flush()
    if options.out:
        write(options.out, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
