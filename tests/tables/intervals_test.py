#!/usr/bin/env python3
"""intervals.py on made-up rows: where seeds nearly agree on a ratio every interval decides, where they do not few do; two rows have a mean.

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
sys.path.insert(0, os.path.join(ROOT, "tables", "studies"))
import intervals  # noqa: E402

SEEDS = range(1, 11)


def text_of(columns, *options, rows=("net",)):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(("block", "row", "column", "seed", "status", "runtime_us"))
            for row in rows:
                for column, runtimes in columns.items():
                    out.writerows(("native", row, column, seed, "ok", us) for seed, us in zip(SEEDS, runtimes))
        before, sys.argv = sys.argv, ["intervals.py", folder, *options]
        text = io.StringIO()
        try:
            with contextlib.redirect_stdout(text):
                intervals.main()
        finally:
            sys.argv = before
        return text.getvalue()


class Intervals(unittest.TestCase):
    def test_a_ratio_that_all_seeds_nearly_have(self):
        theirs = [3, 5, 4, 7, 9, 8, 2, 6, 10, 11]
        columns = {"ours": [2 * us + 0.001 * seed for seed, us in enumerate(theirs)], "theirs": theirs}
        lines = [line.split(" | ") for line in text_of(columns, rows=("net", "tree")).splitlines()[2:]]
        self.assertEqual([line[:3] for line in lines], [
            ["| a row", "bootstrap", "120"], ["| a row", "Student", "120"], ["| a row", "both", "120"],
            ["| all rows", "bootstrap", "60"], ["| all rows", "Student", "60"], ["| all rows", "both", "60"],
        ])
        for line in lines:
            self.assertEqual(line[5:], ["100.00 %", "0.00 % |"])

    def test_what_a_ratio_of_others_misses(self):
        # Six seeds near 100, four near 200: without the three drawn the median is another more often than with them.
        text = text_of({"ours": [100.0 + seed for seed in range(6)] + [200.0 + seed for seed in range(4)], "rule": [99]})
        both = next(line for line in text.splitlines() if "| both" in line).split(" | ")
        self.assertGreater(float(both[3].split()[0]), float(both[4].split()[0]))

    def test_seeds_on_both_sides_of_a_rule(self):
        text = text_of({"ours": [90, 112] * 5, "rule": [100]}, "--seeds", "5")
        student = next(line for line in text.splitlines() if "| Student" in line)
        self.assertLess(float(student.split(" | ")[5].split()[0]), 10)  # five of ten seeds that all are on one side

    def test_columns_with_fewer_seeds_are_left_out(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as end:
            text_of({"ours": [1, 2, 3], "rule": [1]})
        self.assertEqual(end.exception.code, 2)
        self.assertIn("no two columns of a row", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
