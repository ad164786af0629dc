#!/usr/bin/env python3
"""README: at most 500 words outside code, and its picture is that of the committed rows; so is the table of docs/status.md."""

import csv
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def words_of(text):
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [word for word in text.split() if re.search(r"[A-Za-z0-9]", word)]


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"


class Readme(unittest.TestCase):
    def test_is_read_in_a_minute(self):
        self.assertLessEqual(len(words_of(read("README.md"))), 500)

    def test_the_table_of_status_is_that_of_the_committed_rows(self):
        with open(os.path.join(os.environ["STOWPLAN_CELLS"], "placeto", "cells.csv"), newline="", encoding="utf-8") as file:
            cells = {(row["row_title"], row["gpus"], row["column_title"]): row for row in csv.DictReader(file) if row["block"] == "native"}
        lines = []
        for workload, gpus in dict.fromkeys((workload, gpus) for workload, gpus, _ in cells):
            shown = []
            for column, published in (("expert", True), ("Placeto", True), ("control learner, copying", False), ("local search", False),
                                      ("pilot", False)):
                row = cells[workload, gpus, column]
                ours = "OOM" if row["state"] == "oom" else row["median_s"]
                shown.append(seconds(ours) + (f" ({row['published_s']})" if published else ""))
            lines.append(f"| {workload}, {gpus} | {' | '.join(shown)} |")
        self.assertEqual(len(lines), 6)
        self.assertIn("\n".join(lines), read("docs", "status.md"))

    def test_its_picture_is_that_of_the_committed_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "picture.svg")
            subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tables", "studies", "picture.py"), os.path.join(ROOT, "results", "placeto", "rows.csv"), out],
                           check=True)
            with open(out, encoding="utf-8") as file:
                self.assertEqual(file.read(), read("docs", "picture.svg"), "tables/studies/picture.py draws it anew")

    def test_labels_of_the_picture_do_not_overlap(self):
        spec = importlib.util.spec_from_file_location("picture", os.path.join(ROOT, "tables", "studies", "picture.py"))
        picture = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(picture)
        placed = [y for y, _ in picture.spread([(100, "a"), (98, "b"), (101, "c"), (150, "d")], 15)]
        self.assertTrue(all(later - earlier >= 15 for earlier, later in zip(placed, placed[1:])), placed)


if __name__ == "__main__":
    unittest.main()
