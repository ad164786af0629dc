#!/usr/bin/env python3
"""docs/status.md says of the order of methods what the tables' cells say."""

import os
import pathlib
import re
import unittest

from stowplan.report.derived import accuracy
from stowplan.report.table import load

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELLS = pathlib.Path(os.environ["STOWPLAN_CELLS"])


def orders_of_cells():
    found = {}
    for cells in sorted(CELLS.glob("*/cells.csv")):
        for order in accuracy.orders(load(cells.parent.name, CELLS))[:1]:
            found[cells.parent.name] = f"{order.tau:.2f}"
    return found


class Status(unittest.TestCase):
    def test_orders_of_methods(self):
        line = re.search(r"\| order of methods \|.*", (ROOT / "docs/status.md").read_text(encoding="utf-8")).group()
        told = {name: tau for tau, name in re.findall(r"(-?\d\.\d\d) \(`([\w-]+)`\)", line)}
        told.update(re.findall(r"missed by `([\w-]+)`, (-?\d\.\d\d)", line))
        self.assertEqual(told, orders_of_cells())


if __name__ == "__main__":
    unittest.main()
