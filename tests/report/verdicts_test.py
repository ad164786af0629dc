#!/usr/bin/env python3
"""Verdicts of all claims are those of verdicts.csv. STOWPLAN_CELLS is a folder of NAME/cells.csv and NAME/rows.csv, and PYTHONPATH has the
package. `verdicts_test.py --write` writes the file anew."""

import csv
import os
import pathlib
import sys
import unittest

CELLS = pathlib.Path(os.environ.get("STOWPLAN_CELLS", ""))
RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results"
GOLDEN = pathlib.Path(__file__).with_name("verdicts.csv")
NAMES = sorted(path.parent.name for path in CELLS.glob("*/cells.csv")) if str(CELLS) != "." else []


def judged():
    from stowplan.report import claims, gate, table
    suite = gate.Gate(RESULTS)
    return [[name, verdict.claim, verdict.word, "" if verdict.ratio is None else f"{verdict.ratio:.9g}"]
            for name in NAMES for verdict in claims.judge(table.load(name, CELLS), suite)]


@unittest.skipUnless(NAMES, "STOWPLAN_CELLS names no folder with cells.csv of tables")
class Verdicts(unittest.TestCase):
    maxDiff = None

    def test_they_are_those_of_the_file(self):
        with open(GOLDEN, encoding="utf-8", newline="") as file:
            known = list(csv.reader(file))[1:]
        made = judged()
        self.assertEqual([row[:3] for row in made], [row[:3] for row in known], f"{sys.argv[0]} --write writes it anew")
        for ours, theirs in zip(made, known):
            self.assertEqual(bool(ours[3]), bool(theirs[3]), ours)
            if ours[3]:
                self.assertAlmostEqual(float(ours[3]), float(theirs[3]), delta=1e-6 * float(theirs[3]), msg=ours[1])

    def test_every_word_occurs(self):
        from stowplan.report.facts import WORDS
        self.assertEqual({row[2] for row in judged()}, set(WORDS))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(GOLDEN, "w", encoding="utf-8", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([["table", "claim", "verdict", "ratio"], *judged()])
    else:
        unittest.main()
