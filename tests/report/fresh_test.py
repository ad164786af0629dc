#!/usr/bin/env python3
"""results/NAME/table.md is what the report makes of the committed rows, and one screen long."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELLS = pathlib.Path(os.environ.get("STOWPLAN_CELLS", ""))
if not (CELLS / "placeto" / "cells.csv").is_file():
    print("skipped: STOWPLAN_CELLS names no folder with placeto/cells.csv, which `stowplan table show placeto` writes")
    sys.exit(77)


class Fresh(unittest.TestCase):
    def test_pages_in_markdown(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "results"
            shutil.copytree(CELLS, results)
            made = subprocess.run([sys.executable, "-m", "stowplan.report", "--results", results, "--out", f"{folder}/site", "--write-md"],
                                  check=False, capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            pages = sorted(results.glob("*/table.md"))
            self.assertGreaterEqual(len(pages), 18)
            for page in pages:
                with self.subTest(page.parent.name):
                    text = page.read_text(encoding="utf-8")
                    committed = ROOT / "results" / page.parent.name / "table.md"
                    self.assertEqual(committed.read_text(encoding="utf-8"), text, "python3 -m stowplan.report --write-md writes it anew")
                    self.assertLessEqual(len(text.split()), 600)


if __name__ == "__main__":
    unittest.main()
