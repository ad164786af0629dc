#!/usr/bin/env python3
"""Where the device's time of recorded steps is (facebookresearch/HolisticTraceAnalysis@f4d0062, MIT, and any others).

    python3 cost_models/rows/traces.py FOLDER build/release/cli/stowplan results/gpu   # FOLDER/*.json.gz, traces of torch.profiler

Writes OUT/traces.csv: of each trace the shares that `stowplan calibrate --steps` prints, in percent of the device's time, or
why it refuses the file.
"""
import csv
import re
import subprocess
import sys
from pathlib import Path

SHARE = re.compile(r" *([0-9.]+) %  ((?:not )?told: .*)")


def account(stowplan, path):
    """[(share or "", what)]"""
    done = subprocess.run([stowplan, "calibrate", "--steps", path.name], cwd=path.parent, capture_output=True, text=True, check=False)
    if done.returncode == 2:
        return [("", "refused: " + done.stderr.strip().removeprefix(f"stowplan: {path.name}: ").removeprefix("refused: "))]
    done.check_returncode()
    return [found.groups() for found in map(SHARE.fullmatch, done.stdout.splitlines()) if found]


def main(folder, stowplan, out):
    with open(Path(out) / "traces.csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["trace", "percent", "what"])
        for path in sorted(Path(folder).glob("*.json.gz")):
            for share, what in account(Path(stowplan).resolve(), path):
                rows.writerow([path.name.removesuffix(".json.gz"), share, what])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
