#!/usr/bin/env python3
"""Kills a stowplan command at random moments and resumes it: its results must be those of a run that nobody disturbed.

    tables/studies/kills.py --stowplan build/release/cli/stowplan --kills 10 --seed 1 table run hierarchical --quick --cells 'rnnlm/*'
    tables/studies/kills.py place --agent annealing --graph nmt --cluster 'k40(gpus=2)' --samples 20000
    tables/studies/kills.py compare --agents random annealing --graph nmt --cluster 'k40(gpus=2)' --samples 4000
    tables/studies/kills.py train --agent sgdp --graph 'chain(ops=20)' --cluster 'k40(gpus=2)' --samples 3000
    tables/studies/kills.py validate --record --workloads 'chain(ops=5)' ...

The command's options follow those of this script, without --out, --store and --resume. Both runs have folders of their own
in a temporary one. Exit status 1 where a kill lost what was finished, a result is missing or another, or the command was
done before the last kill. Not part of ./check: it takes the time of two runs.
"""

import argparse
import csv
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TIMES = {"wall_seconds", "simulator_seconds", "curve_agent_seconds", "agent_seconds", "date", "command"}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [without_times(row) for row in csv.DictReader(file)]


class Command:
    """What is called, what it has kept so far, and its results."""

    def __init__(self, words):
        self.words = words

    def call(self, here):
        return [*self.words, "--resume", "--out", str(here)]

    def kept(self, here):
        """Finished pieces, where they can be counted from outside."""
        return 0

    def results(self, here):
        raise NotImplementedError


class Table(Command):
    def call(self, here):
        return [*super().call(here), "--store", f"{here}.db"]

    def kept(self, here):
        try:
            with sqlite3.connect(f"file:{here}.db?mode=ro", uri=True) as database:
                return database.execute("SELECT count(*) FROM cells").fetchone()[0]
        except sqlite3.OperationalError:  # before there is a store
            return 0

    def results(self, here):
        return rows_of(here / "rows.csv")


class Place(Command):
    def results(self, here):
        return [without_times(json.loads((here / name).read_text())) for name in ("outcome.json", "placement.json")]


class Compare(Command):
    def results(self, here):
        return rows_of(here / "rows.csv")


class Train(Command):
    def results(self, here):
        return [here.read_bytes()]


class Validate(Command):
    """What is measured is never the same twice; which placements were run is."""

    def call(self, here):
        return [*self.words, "--out", str(here)]

    def files(self, here):
        return sorted(path for path in here.rglob("*.json*") if path.is_file()) if here.exists() else []

    def kept(self, here):
        return len(self.files(here))

    def results(self, here):
        return [str(path.relative_to(here)) for path in self.files(here)]


COMMANDS = {"table": Table, "place": Place, "compare": Compare, "train": Train, "validate": Validate}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stowplan", default="build/release/cli/stowplan")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("command", choices=sorted(COMMANDS))
    parser.add_argument("words", nargs=argparse.REMAINDER, help="the command's name and options")
    options = parser.parse_args()
    command = COMMANDS[options.command]([options.stowplan, options.command, *options.words])

    with tempfile.TemporaryDirectory() as temporary:
        whole, killed = (pathlib.Path(temporary) / name for name in ("whole", "killed"))
        start = time.monotonic()
        if subprocess.run(command.call(whole), stdout=subprocess.DEVNULL).returncode != 0:
            return 1
        seconds = time.monotonic() - start
        moments = random.Random(options.seed)
        done, lost, kept = 0, 0, 0
        while done < options.kills:
            # So that all kills together cut a run of this length into pieces.
            after = moments.uniform(0, 2 * seconds / (options.kills + 1))
            running = subprocess.Popen(command.call(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                running.wait(timeout=after)
                print(f"done before kill {done + 1}")
                break
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGKILL)
                running.wait()
                done += 1
                now = command.kept(killed)
                lost += max(0, kept - now)
                kept = now
                print(f"killed after {after:.2f} s: {kept} finished pieces kept", flush=True)
        last = subprocess.run(command.call(killed), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if last.returncode != 0:
            print(last.stderr, end="")
            return 1
        wanted, found = command.results(whole), command.results(killed)
        same = wanted == found
        print(f"{len(wanted)} results in {seconds:.1f} s; after {done} kills {len(found)}, "
              f"{'the same but for times' if same else 'NOT the same'}; {lost} finished pieces lost")
        return 0 if same and done == options.kills and lost == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
