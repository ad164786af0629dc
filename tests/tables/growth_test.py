#!/usr/bin/env python3
"""growth.py finds the explanation that published times were made with, and its barriers make layers wait.

    growth_test.py ROOT
"""

import os
import sys
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tables", "studies"))
import growth  # noqa: E402

MACHINE = {"cpu": "cpu-haswell", "gpu": "k40", "gpus_per_switch": 2, "bandwidth": 10}


class MadeRow:
    """`layers` layers of a second of compute, and what the explanation asks for each of them."""

    def __init__(self, layers, published=None):
        self.layers, self.published = layers, published

    def step(self, explanation, factor):
        return factor * 1.0 + explanation.get("cost_us", 0) * self.layers


def op(name, group, inputs=(), phase="forward", kind="MatMul"):
    return {"name": name, "type": kind, "group": group, "inputs": list(inputs), "phase": phase}


class GrowthTest(unittest.TestCase):
    def test_finds_what_made_the_published_times(self):
        truth = {"cost_us": 0.25}
        rows = [MadeRow(layers, MadeRow(layers).step(truth, 1.5)) for layers in (2, 4, 8)]
        lines = {cost: growth.line_of(str(cost), [growth.judge(rows, {"cost_us": cost})])[0] for cost in (0, 0.125, 0.25, 0.5)}
        self.assertAlmostEqual(lines[0.25], 1, places=2)
        self.assertEqual(min(lines, key=lines.get), 0.25)
        self.assertGreater(lines[0], 1.2)

    def test_says_where_no_factor_matches_the_first_row(self):
        rows = [MadeRow(2, 1.0), MadeRow(4, 1.5)]
        error, line = growth.line_of("slow", [growth.judge(rows, {"cost_us": 1.0})])
        self.assertEqual(line[1], "(2.00) 2.67")
        self.assertAlmostEqual(error, 4 / 1.5)

    def test_a_layer_waits_for_the_whole_layer_before(self):
        ops = [op("w", "a", kind="Variable"), op("a0", "a", ["w"]), op("a1", "a", ["a0:0", "w"]), op("b0", "b", ["a0"]), op("b1", "b", ["b0", "a1"])]
        with_barriers, barriers = growth.serial(ops)
        self.assertEqual(barriers, {"barrier/a/forward": "a1"})
        by_name = {each["name"]: each for each in with_barriers}
        self.assertEqual(by_name["barrier/a/forward"]["control"], ["a0", "a1"])
        self.assertEqual(by_name["b0"]["control"], ["barrier/a/forward"])
        self.assertNotIn("control", by_name["a1"])

    def test_layers_in_a_cycle_keep_their_order(self):
        ops = [op("a0", "a"), op("b0", "b", ["a0"]), op("a1", "a", ["b0"]), op("b1", "b", ["a1"])]
        self.assertEqual(growth.serial(ops), (ops, {}))

    def test_machines_are_trees(self):
        text = growth.cluster_text(MACHINE, 3, {"staged": True, "bandwidth": 2.5, "latency_us": 300})
        self.assertIn("switches: [plx0, plx1]", text)
        self.assertIn("{name: up2, ends: [gpu2, plx1], bandwidth: 2.5GB/s, latency: 150.0us}", text)
        self.assertIn("{from: gpu0, to: gpu2, via: [up0, host0, host1, up2]}", text)
        self.assertNotIn("overlap_copy", text)
        self.assertIn("overlap_copy: 0.001", growth.cluster_text(MACHINE, 1, {"blocking": True}))


if __name__ == "__main__":
    unittest.main()
