#!/usr/bin/env python3
"""agents.py on made-up rows: ratios of medians over two scenarios, who does not fit in one, an opponent without rows.

    agents_test.py ROOT
"""

import contextlib
import csv
import io
import json
import os
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "bench", "sweep"))
import agents  # noqa: E402

PLAN = {"agents": {"slow": {}, "plain": {}, "quick": {}, "large": {}, "absent": {}}}
# Medians of three seeds [us]: quick takes 0.5 and 0.32 of plain, 0.4 in the geometric mean.
BEST = {
    "net": {"plain": (10, 20, 99), "quick": (10, 10, 10), "slow": (40, 40, 40), "large": (1, 1, 1)},
    "tree": {"plain": (100, 100, 100), "quick": (32, 1, 99), "slow": (200, 200, 200), "large": ("", "", 1)},
}


class Agents(unittest.TestCase):
    def run_with(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            plan, rows = os.path.join(folder, "plan.json"), os.path.join(folder, "rows.csv")
            with open(plan, "w", encoding="utf-8") as file:
                json.dump(PLAN, file)
            with open(rows, "w", encoding="utf-8", newline="") as file:
                out = csv.writer(file)
                out.writerow(("scenario", "agent", "seed", "best_runtime_us"))
                for scenario, found in BEST.items():
                    for agent, bests in found.items():
                        out.writerows((scenario, agent, seed, best) for seed, best in enumerate(bests, 1))
            before, sys.argv = sys.argv, ["agents.py", plan, rows, *options]
            text, errors = io.StringIO(), io.StringIO()
            try:
                with contextlib.redirect_stdout(text), contextlib.redirect_stderr(errors):
                    agents.main()
            except SystemExit as end:
                self.assertEqual(end.code, 2)
                return errors.getvalue()
            finally:
                sys.argv = before
            return text.getvalue()

    def test_ratios_of_medians_in_order(self):
        lines = self.run_with("--over", "plain", "slow").splitlines()
        self.assertEqual(lines[0], "| agent | over plain | over slow |")
        self.assertEqual(lines[5:], ["", "Left out, as they do not fit or were not run in some scenario: large, absent."])
        self.assertEqual(lines[2:5], ["| quick | 0.400 | 0.200 |", "| plain | 1.000 | 0.500 |", "| slow | 2.000 | 1.000 |"])

    def test_opponent_without_rows(self):
        self.assertIn("absent has no rows in some scenario", self.run_with("--over", "absent"))
        self.assertIn("large has no rows in some scenario, or does not fit there", self.run_with("--over", "large"))


if __name__ == "__main__":
    unittest.main()
