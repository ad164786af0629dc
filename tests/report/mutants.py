#!/usr/bin/env python3
"""How many seeded faults of the report its tests find; not in CI.

    mutants.py BUILD [NUMBER] [SEED]      each fault is one operator, constant or call of one file changed; BUILD/cells as ctest makes it
"""

import ast
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "python" / "stowplan" / "report"
FILES = ["claims.py", "gate.py", "studies.py", "table.py", "words.py", *(f"derived/{path.name}" for path in (REPORT / "derived").glob("*.py"))]
TESTS = ("verdicts_test.py", "claims_test.py", "derived_test.py", "pages_test.py")
SWAPS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add,
         ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def faults(tree):
    """Functions that change one place each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield node, lambda node=node: node.ops.__setitem__(0, SWAPS[type(node.ops[0])]())
        elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS and not isinstance(getattr(node, "left", None), (ast.JoinedStr, ast.List)):
            yield node, lambda node=node: setattr(node, "op", SWAPS[type(node.op)]())
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield node, lambda node=node: setattr(node.func, "id", CALLS[node.func.id])
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            yield node, lambda node=node: setattr(node, "value", not node.value if isinstance(node.value, bool) else node.value + 1)


def main():
    build, number, seed = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv + ["", "60"])[2] or 60), int((sys.argv + ["", "", "1"])[3] or 1)
    places = [(name, i) for name in FILES for i, _ in enumerate(faults(ast.parse((REPORT / name).read_text(encoding="utf-8"))))]
    chosen = random.Random(seed).sample(places, number)
    killed = 0
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder) / "python" / "stowplan"
        shutil.copytree(ROOT / "python" / "stowplan", package)
        for name in build.glob("python/stowplan/_core*.so"):
            (package / name.name).symlink_to(name)
        for name in ("tables", "output", "results", "tests"):
            (pathlib.Path(folder) / name).symlink_to(ROOT / name)
        environment = {**os.environ, "PYTHONPATH": str(package.parent), "STOWPLAN_CELLS": str(build / "cells"), "PYTHONDONTWRITEBYTECODE": "1"}
        for name, i in chosen:
            path = package / "report" / name
            before = path.read_text(encoding="utf-8")
            tree = ast.parse(before)
            node, change = list(faults(tree))[i]
            change()
            path.write_text(ast.unparse(tree), encoding="utf-8")
            found = None
            for test in TESTS:
                if not (ROOT / "tests" / "report" / test).exists():
                    continue
                try:
                    done = subprocess.run(["/usr/bin/python3", ROOT / "tests" / "report" / test], env=environment, capture_output=True, timeout=240, check=False)
                    if done.returncode:
                        found = test
                except subprocess.TimeoutExpired:
                    found = test + " (no end)"
                if found:
                    break
            killed += found is not None
            print(f"{'killed' if found else 'LIVES '} {name}:{node.lineno} {found or ast.unparse(node)[:90]}", flush=True)
            path.write_text(before, encoding="utf-8")
    print(f"{killed} of {number} killed")


main()
