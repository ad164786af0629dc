#!/usr/bin/env python3
"""host_variables.py moves variables, their updates and the sums that updates read, and nothing else.

    host_variables_test.py ROOT
"""

import os
import sys
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tables", "studies"))
import host_variables  # noqa: E402


def op(name, kind, inputs=(), phase="forward"):
    return {"name": name, "type": kind, "inputs": list(inputs), "phase": phase}


GRAPH = {"ops": [
    op("w", "Variable"),
    op("b", "Variable"),
    op("y", "MatMul", ["w"]),
    op("dw0", "MatMul", ["y"], "backward"),
    op("dw1", "MatMul", ["y"], "backward"),
    op("dh", "AddN", ["dw0:0", "dw1:0"], "backward"),  # a sum that no update reads
    op("dw", "AddN", ["dw0:0", "dw1"], "backward"),
    op("db", "BiasAddGrad", ["dh"], "backward"),
    op("update/w", "ApplyGradientDescent", ["w", "dw:0"], "update"),
    op("update/b", "ApplyGradientDescent", ["b", "db"], "update"),
]}


def outcome(runtime_us, feasible=True):
    return {"feasible": feasible, "runtime_us": runtime_us if feasible else None, "unlimited_runtime_us": runtime_us,
            "devices": [{"name": "cpu0", "busy_us": 5e5}, {"name": "gpu0", "busy_us": 1e6}, {"name": "gpu1", "busy_us": 2e6}],
            "links": [{"name": "a", "busy_us": 25e4}, {"name": "b", "busy_us": 75e4}]}


class HostVariablesTest(unittest.TestCase):
    def test_ops(self):
        self.assertEqual(host_variables.host_ops(GRAPH), {"w", "b", "dw", "update/w", "update/b"})

    def test_moved(self):
        before = {"format": "stowplan.placement", "graph": "g", "placement": {"w": "gpu0", "y": "gpu1"}}
        after = host_variables.moved(before, {"w"}, "cpu0")
        self.assertEqual(after, {"format": "stowplan.placement", "graph": "g", "placement": {"w": "cpu0", "y": "gpu1"}})
        self.assertEqual(before["placement"]["w"], "gpu0")

    def test_line(self):
        line = host_variables.line_of("p", outcome(1e6, feasible=False), outcome(3e6), outcome(2e6), "cpu0")
        self.assertEqual(line, ("p", "1.000 (does not fit)", "3.000", "1.500", "2.000", "0.500", "0.750"))


if __name__ == "__main__":
    unittest.main()
