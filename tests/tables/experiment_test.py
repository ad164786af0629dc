#!/usr/bin/env python3
"""experiment.py: the page has its command and where it comes from; a plan or a program that fails ends the script with a sentence.

    experiment_test.py ROOT
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tables", "studies"))
import experiment  # noqa: E402


class ExperimentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.plan, self.out = (os.path.join(folder.name, name) for name in ("plan.json", "out.md"))
        with open(self.plan, "w", encoding="utf-8") as file:
            json.dump({"seeds": [1]}, file)

    def call(self, *options):
        before, sys.argv = sys.argv, ["script.py", *options]
        try:
            return experiment.Experiment("tables/studies/script.py", "What it is.\n\nMore.")
        finally:
            sys.argv = before

    def test_page(self):
        made = self.call(self.plan, self.out)
        self.assertEqual(made.plan, {"seeds": [1]})
        for date in ("2026-01-02T03:04:05Z", "2026-01-02T05:00:00Z"):
            made.count_in({"revision": "0123", "dirty": False, "machine": "one", "date": date})
        made.write("Title", "; text.", [("a", "b"), ("1", "2")])
        with open(self.out, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "# Title")
        self.assertTrue(lines[2].startswith("    tables/studies/script.py ") and lines[2].endswith("out.md"), lines[2])
        self.assertEqual(lines[4:], ["revision 0123, one, 2026-01-02; text.", "", "| a | b |", "| --- | --- |", "| 1 | 2 |"])

    def test_a_plan_that_is_none(self):
        with open(self.plan, "w", encoding="utf-8") as file:
            file.write("{")
        for plan in (self.plan, self.plan + ".absent"):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
                self.call(plan, self.out)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(f"{plan}: ", said.getvalue())

    def test_a_program_that_fails(self):
        made = self.call(self.plan, self.out, "--stowplan", sys.executable)
        made.stowplan("-c", "pass")
        with self.assertRaises(SystemExit) as ended:
            made.stowplan("-c", "import sys; sys.exit('not so')")
        self.assertRegex(str(ended.exception.code), "(?s)script.py: .*: status 1\nnot so")


if __name__ == "__main__":
    unittest.main()
