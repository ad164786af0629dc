#!/usr/bin/env python3
"""Puts rows.csv and cells.csv of every committed table into BUILD/cells, as `stowplan table show` makes them.

    make_cells.py ROOT BUILD PROGRAM
"""

import os
import pathlib
import shutil
import subprocess
import sys

root, build, program = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
cells = build / "cells"
cells.mkdir(exist_ok=True)
for rows in sorted((root / "results").glob("*/rows.csv")):
    folder = cells / rows.parent.name
    folder.mkdir(exist_ok=True)
    shutil.copyfile(rows, folder / "rows.csv")
    if rows.read_text(encoding="utf-8").startswith("block,row,column"):
        subprocess.run([program, "table", "show", rows.parent.name, "--out", folder], check=True, cwd=root, stdout=subprocess.DEVNULL)
        if not os.path.getsize(folder / "cells.csv"):
            sys.exit(f"{folder}: cells.csv is empty")
