#!/usr/bin/env python3
"""explained.py finds what it is given: a reward made of pairs that are together, of units, of noise alone.

    explained_test.py ROOT
"""

import os
import random
import sys
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tables", "studies"))
import explained  # noqa: E402

SAMPLES, UNITS, DEVICES = 1000, 40, 3


class ExplainedTest(unittest.TestCase):
    def setUp(self):
        dice = random.Random(1)
        self.devices = [[dice.choice("abc") for _ in range(SAMPLES)] for _ in range(UNITS)]
        self.noise = [dice.gauss(0, 1) for _ in range(SAMPLES)]
        self.pairs = [(unit, unit + 1) for unit in range(UNITS - 1)]

    def together(self, pair):
        return [a == b for a, b in zip(*(self.devices[unit] for unit in pair))]

    def shares(self, rewards):
        made = explained.Rewards(rewards)
        units = [made.parts([[d == own for d in unit] for own in "abc"]) for unit in self.devices]
        pairs = [made.parts([self.together(pair), [not t for t in self.together(pair)]]) for pair in self.pairs]
        return explained.sum_and_error(units), explained.sum_and_error(pairs)

    def assert_near(self, found, share):
        value, error = found
        self.assertLess(error, 0.1)
        self.assertLess(abs(value - share), 3 * error)

    def test_pairs(self):
        rewards = [sum(column) for column in zip(*map(self.together, self.pairs))]
        units, pairs = self.shares(rewards)
        self.assert_near(units, 0)
        self.assert_near(pairs, 1)

    def test_half_noise(self):
        spread = (len(self.pairs) * (1 / DEVICES) * (1 - 1 / DEVICES)) ** 0.5
        rewards = [sum(column) for column in zip(*map(self.together, self.pairs), [spread * noise for noise in self.noise])]
        self.assert_near(self.shares(rewards)[1], 0.5)

    def test_units(self):
        units, pairs = self.shares([sum(d == "a" for d in column) for column in zip(*self.devices)])
        self.assert_near(units, 1)
        self.assert_near(pairs, 0)

    def test_noise(self):
        for found in self.shares(self.noise):
            self.assert_near(found, 0)

    def test_kept_placements(self):
        self.assertEqual(explained.devices_of("a3bcb12"), "aaabc" + 12 * "b")

    def test_names_hide_no_module(self):
        scripts = {name.removesuffix(".py") for name in os.listdir(os.path.join(ROOT, "tables", "studies")) if name.endswith(".py")}
        self.assertEqual(scripts & sys.stdlib_module_names, set())


if __name__ == "__main__":
    unittest.main()
