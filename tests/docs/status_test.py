#!/usr/bin/env python3
"""docs/status.md says of the order of methods what the tables' pages say."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def orders_on_pages():
    found = {}
    for page in ROOT.glob("results/*/table.md"):
        order = re.search(r"methods' order, tau \(goal [\d.]+\): native (-?[\d.]+)", page.read_text())
        if order:
            found[page.parent.name] = order.group(1)
    return found


class Status(unittest.TestCase):
    def test_orders_of_methods(self):
        line = re.search(r"\| order of methods \|.*", (ROOT / "docs/status.md").read_text()).group()
        told = {name: tau for tau, name in re.findall(r"(-?\d\.\d\d) \(`([\w-]+)`\)", line)}
        told.update(re.findall(r"missed by `([\w-]+)`, (-?\d\.\d\d)", line))
        self.assertEqual(told, orders_on_pages())


if __name__ == "__main__":
    unittest.main()
