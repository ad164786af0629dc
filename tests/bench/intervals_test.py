#!/usr/bin/env python3
"""intervals.py on made-up rows: where all seeds agree on a ratio every interval is that ratio; where they do not, few decide.

    intervals_test.py ROOT
"""

import contextlib
import csv
import io
import os
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "bench", "sweep"))
import intervals  # noqa: E402

SEEDS = range(1, 11)


def text_of(columns, *options):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(("block", "row", "column", "seed", "status", "runtime_us"))
            for column, runtimes in columns.items():
                out.writerows(("native", "net", column, seed, "ok", us) for seed, us in zip(SEEDS, runtimes))
        before, sys.argv = sys.argv, ["intervals.py", folder, *options]
        text = io.StringIO()
        try:
            with contextlib.redirect_stdout(text):
                intervals.main()
        finally:
            sys.argv = before
        return text.getvalue()


class Intervals(unittest.TestCase):
    def test_a_ratio_that_all_seeds_have(self):
        theirs = [3, 5, 4, 7, 9, 8, 2, 6, 10, 11]
        text = text_of({"ours": [2 * us for us in theirs], "theirs": theirs})
        for name in ("bootstrap", "Student", "both"):
            self.assertIn(f"| {name} | 60 | 100.00 % | 100.00 % | 0.00 % |", text)

    def test_seeds_on_both_sides_of_a_rule(self):
        text = text_of({"ours": [90, 112] * 5, "rule": [100]}, "--seeds", "5")
        student = next(line for line in text.splitlines() if line.startswith("| Student"))
        self.assertLess(float(student.split("|")[4].split()[0]), 10)  # five of ten seeds that all are on one side

    def test_columns_with_fewer_seeds_are_left_out(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as end:
            text_of({"ours": [1, 2, 3], "rule": [1]})
        self.assertEqual(end.exception.code, 2)
        self.assertIn("no two columns of a row", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
