#!/usr/bin/env python3
"""equal_time.py on made-up rows: local search gets the samples that fit into pilot's seconds, and too short a run is left out.

    equal_time_test.py ROOT
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
import equal_time  # noqa: E402

FIELDS = ("block", "row", "column", "status", "budget", "samples", "curve", "curve_agent_seconds", "simulator_seconds", "wall_seconds")


def row(column, samples, curve, first, wall, budget=None):
    return ("native", "net", column, "ok", budget or samples, samples, curve, f"{first} 0", 0, wall)


class EqualTime(unittest.TestCase):
    def page(self, times, results):
        with tempfile.TemporaryDirectory() as folder:
            for kind, rows in (("times", times), ("results", results)):
                for table in equal_time.TABLES:
                    os.makedirs(os.path.join(folder, kind, table))
                    with open(os.path.join(folder, kind, table, "rows.csv"), "w", encoding="utf-8", newline="") as file:
                        csv.writer(file).writerows([FIELDS, *(rows if table == "sgdp" else [])])
            out = io.StringIO()
            before, sys.argv = sys.argv, ["equal_time.py", os.path.join(folder, "times"), os.path.join(folder, "results")]
            try:
                with contextlib.redirect_stdout(out):
                    equal_time.main()
            finally:
                sys.argv = before
            return out.getvalue()

    def test_samples_in_the_same_seconds(self):
        # Pilot: 1 s to plan, 0.01 s for each of the other 299 samples; local search 0.001 s each from the start.
        times = [row("pilot", 300, "1:90", 1, 1 + 2.99), row("local_search", 1001, "1:200", 0, 1.0)]
        results = [row("pilot", 300, "1:90 200:80", 0, 0), row("local_search", 10000, "1:200 1000:100 3900:64 9000:50", 0, 0)]
        text = self.page(times, results)
        self.assertIn("takes 10.0 times as long", text)
        self.assertIn("| 1 | 1,001 | 1 | 0.900 |", text)  # after 1 s local search has 100
        self.assertIn("| 300 | 3,991 | 1 | 1.250 |", text)  # after 3.99 s it has 64, pilot 80
        self.assertIn("| 1,000 |", self.page(times, [*results[:1], row("local_search", 20000, "1:200", 0, 0)]))

    def test_a_run_that_was_too_short_is_left_out(self):
        times = [row("pilot", 300, "1:90", 1, 1 + 2.99), row("local_search", 1001, "1:200", 0, 1.0)]
        text = self.page(times, [row("pilot", 300, "1:90", 0, 0), row("local_search", 2000, "1:200", 0, 0)])
        self.assertIn("| 1 | 1,001 | 1 |", text)
        self.assertNotIn("| 300 |", text)


if __name__ == "__main__":
    unittest.main()
