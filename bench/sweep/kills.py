#!/usr/bin/env python3
"""Kills `berth table` at random moments and resumes it: the rows must be those of a run that nobody disturbed.

    bench/sweep/kills.py --berth build/release/bench/berth --kills 10 --seed 1 hierarchical --quick --cells 'rnnlm/*'

The table's name and options follow those of this script. Both runs have a working store and a folder of their own in a
temporary one. Exit status 1 where a kill lost a cell that was finished, a row is missing or another, or the table was
done before the last kill. Not part of ./check: it takes the time of two tables.
"""

import argparse
import csv
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TIMES = {"wall_seconds", "simulator_seconds", "curve_agent_seconds", "date"}


def rows_of(folder):
    with open(folder / "rows.csv", newline="", encoding="utf-8") as file:
        return [{key: value for key, value in row.items() if key not in TIMES} for row in csv.DictReader(file)]


def cells_in(store):
    """Finished cells; 0 before there is a store."""
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM cells").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", default="build/release/bench/berth")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("table", nargs=argparse.REMAINDER, help="the table's name and options")
    options = parser.parse_args()
    if not options.table:
        parser.error("the table's name is wanted, and its options behind it")

    with tempfile.TemporaryDirectory() as temporary:
        def command(name):
            here = pathlib.Path(temporary) / name
            return here, [options.berth, "table", *options.table, "--resume", "--out", str(here),
                          "--store", str(here) + ".db"]

        whole, call = command("whole")
        start = time.monotonic()
        if subprocess.run(call, stdout=subprocess.DEVNULL).returncode != 0:
            return 1
        seconds = time.monotonic() - start
        killed, call = command("killed")
        moments = random.Random(options.seed)
        done, lost, kept = 0, 0, 0
        while done < options.kills:
            # So that all kills together cut a run of this length into pieces.
            after = moments.uniform(0, 2 * seconds / (options.kills + 1))
            running = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                running.wait(timeout=after)
                print(f"the table was done before kill {done + 1}")
                break
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGKILL)
                running.wait()
                done += 1
                now = cells_in(str(killed) + ".db")
                lost += max(0, kept - now)
                kept = now
                print(f"killed after {after:.2f} s: {kept} cells kept")
        if subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return 1
        wanted, found = rows_of(whole), rows_of(killed)
        same = wanted == found
        print(f"{len(wanted)} rows in {seconds:.1f} s; after {done} kills {len(found)} rows, "
              f"{'the same but for times' if same else 'NOT the same'}; {lost} finished cells lost")
        return 0 if same and done == options.kills and kept > 0 and lost == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
