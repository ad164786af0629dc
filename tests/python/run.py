#!/usr/bin/env python3
"""Runs a test of the Python package with the environment that python/environment makes, else with this interpreter.

    run.py ROOT BUILD TEST      exit status 77, and a sentence, where something that it needs is missing
"""

import os
import pathlib
import sys

root, build, test = (pathlib.Path(argument) for argument in sys.argv[1:])
if not list(build.glob("python/stowplan/_core*.so")):
    print(f"skipped: {build} has no Python package (pybind11-dev and python3-dev were not found, or the build has sanitizers)")
    sys.exit(77)
python = root / "build" / "python-environment" / "bin" / "python"
if not python.exists():
    python = pathlib.Path(sys.executable)
os.environ["PYTHONPATH"] = str(build / "python")
os.environ["STOWPLAN_BUILD"] = str(build)
missing = os.spawnl(os.P_WAIT, python, python, "-c", "import numpy")
if missing:
    print(f"skipped: {python} has no NumPy; python/environment makes an environment that has")
    sys.exit(77)
os.execl(python, python, "-B", str(pathlib.Path(__file__).parent / test))
