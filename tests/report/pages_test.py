#!/usr/bin/env python3
"""Pages of tables: all are there, and they show what cells.csv says, whatever titles say. STOWPLAN_CELLS is a folder of NAME/cells.csv and
NAME/rows.csv, and PYTHONPATH has the package."""

import csv
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CELLS = pathlib.Path(os.environ.get("STOWPLAN_CELLS", ""))
TABLES = pathlib.Path(__file__).resolve().parents[2] / "tables" / "papers"
NAMES = sorted(path.parent.name for path in CELLS.glob("*/cells.csv")) if str(CELLS) != "." else []

if NAMES:
    from stowplan.report import gate, pages, plots
    from stowplan.report.grid import Plot, Series


class Reader(html.parser.HTMLParser):
    """Tags, data attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.plots, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        at = dict(attrs)
        self.tags.append(tag)
        if "data-plot" in at:
            self.plots.append(json.loads(at["data-plot"]))

    def handle_data(self, data):
        self.text.append(data)


def report(*arguments):
    return subprocess.run([sys.executable, "-B", "-m", "stowplan.report", *map(str, arguments)], capture_output=True, text=True, check=False)


@unittest.skipUnless(NAMES, "STOWPLAN_CELLS names no folder with cells.csv of tables")
class Pages(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.results = cls.folder / "results"  # where table.md goes, beside what is read
        for file in [*CELLS.glob("*/cells.csv"), *CELLS.glob("*/rows.csv")]:
            (cls.results / file.parent.name).mkdir(parents=True, exist_ok=True)
            (cls.results / file.parent.name / file.name).symlink_to(file.resolve())
        cls.run_of_all = report("--results", cls.results, "--out", cls.folder, "--write-md", "--tex", "--csv")
        cls.pages = {name: Reader((cls.folder / name / "index.html").read_text(encoding="utf-8")) for name in NAMES
                     if (cls.folder / name / "index.html").is_file()}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_every_table_has_a_page_and_the_index_lists_it(self):
        self.assertEqual(self.run_of_all.stderr, "")
        self.assertEqual(sorted(self.pages), NAMES)
        index = (self.folder / "index.html").read_text(encoding="utf-8")
        for name in NAMES:
            self.assertIn(f'href="{name}/index.html"', index)

    def test_every_page_has_one_heading_and_loads_nothing(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                self.assertEqual(page.tags.count("h1"), 1)
                text = (self.folder / name / "index.html").read_text(encoding="utf-8")
                self.assertIsNone(re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", text))

    def test_every_axis_has_three_labelled_ticks_within_it(self):
        for name, page in self.pages.items():
            self.assertTrue(page.plots, name)
            for plot in page.plots:
                for axis in (plot["x"], plot["y"]):
                    if plot["kind"] == "lanes" and axis is plot["y"]:
                        continue  # as many as there are devices
                    with self.subTest(f"{name}: {axis['label']}"):
                        self.assertGreaterEqual(len({label for _, label in axis["ticks"]}), 3)
                        if plot["kind"] != "dots" or axis is plot["x"]:
                            low, high = axis["domain"]
                            room = 1e-6 * (high - low)
                            self.assertTrue(all(low - room <= tick <= high + room for tick, _ in axis["ticks"]), axis)

    def test_every_axis_of_numbers_says_its_unit(self):
        for name, page in self.pages.items():
            for plot in page.plots:
                self.assertTrue(plot["x"]["label"], name)
                self.assertTrue(plot["kind"] != "steps" or plot["y"]["label"], name)

    def test_cells_are_those_of_the_file(self):
        for name in NAMES:
            with open(CELLS / name / "cells.csv", encoding="utf-8", newline="") as file:
                wanted = sorted(float(at["median_s"]) for at in csv.DictReader(file) if at["median_s"])
            tables = pages.of(name, CELLS, gate.Gate(CELLS)).all_cells
            shown = [one for table in tables for title, cells in table.rows if title != "proven bound" for one in cells]
            self.assertEqual(sorted(one.value for one in shown if one.value is not None), wanted, name)
            text = " ".join(self.pages[name].text)
            self.assertTrue(all(one.text in text for one in shown), name)

    def test_less_than_twice_as_long_is_told_in_percent(self):
        for name, page in self.pages.items():
            for number in re.findall(r"([\d.]+) times as long", " ".join(page.text)):
                self.assertGreaterEqual(float(number), 2, name)

    def test_inference_does_not_train(self):
        for name in {"latency"} & set(NAMES):
            self.assertNotIn("training step", " ".join(self.pages[name].text))
        if "modern" in NAMES:
            labels = [plot["y"]["label"] for plot in self.pages["modern"].plots if plot["kind"] == "steps"]
            self.assertEqual(labels, ["seconds per training step"] * 2 + ["seconds per pass"] + ["seconds per training step"] + ["seconds per pass"]
                             + ["seconds per training step"])

    def test_a_page_of_markdown_is_short(self):
        for name in NAMES:
            text = (self.results / name / "table.md").read_text(encoding="utf-8")
            self.assertLess(len(text.splitlines()), 45, name)
            self.assertLess(len(text.replace("|", " ").split()), 480, name)

    def test_csv_has_the_medians_of_the_file(self):
        for path in self.folder.glob("*/table.csv"):
            with open(path, encoding="utf-8", newline="") as file, \
                    open(CELLS / path.parent.name / "cells.csv", encoding="utf-8", newline="") as cells:
                self.assertEqual([at["ours_s"] for at in csv.DictReader(file)],
                                 ["" if not at["median_s"] else str(float(at["median_s"])) for at in csv.DictReader(cells)], path)


HOSTILE = r"""<script>alert(1)</script> \input{/etc/passwd} & 50 % $x$ {{ 7 * 7 }} | `a`"""


@unittest.skipUnless("baechi" in NAMES, "STOWPLAN_CELLS has no table baechi")
class OnesOwn(unittest.TestCase):
    """A table of a user, with titles that mean something to HTML, LaTeX, Jinja, Markdown and spreadsheets."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "own").mkdir()
        shutil.copy(CELLS / "baechi" / "rows.csv", self.folder / "own" / "rows.csv")
        with open(CELLS / "baechi" / "cells.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["row_title"] = HOSTILE
            row["column_title"] = "=SUM(A1:A9)" if row["column"] == "heft" else row["column_title"]
        with open(self.folder / "own" / "cells.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        self.file = self.folder / "own.yaml"
        self.write("own")

    def write(self, name):
        self.file.write_text(f"name: {name}\ntitle: {json.dumps(HOSTILE)}\nassumptions: [{json.dumps(HOSTILE)}]\n"
                             f"claims: [{{claim: {json.dumps(HOSTILE)}, ours: true, kind: ratio, row: inception_v3, column: m_etf, than: m_topo, below: 1}}]\n",
                             encoding="utf-8")

    def made(self):
        with open(self.folder / "own" / "cells.csv", encoding="utf-8", newline="") as file:
            row = next(csv.DictReader(file))["row"]
        self.file.write_text(self.file.read_text(encoding="utf-8").replace("row: inception_v3", f"row: {row}"), encoding="utf-8")
        done = report(self.file, "--results", self.folder, "--out", self.folder / "site", "--tex", "--csv", "--write-md")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.folder / "site" / "own"

    def test_titles_are_text(self):
        out = self.made()
        page = (out / "index.html").read_text(encoding="utf-8")
        self.assertNotIn("<script>alert", page)
        self.assertIn("7 * 7", page)
        self.assertIn("alert(1)", " ".join(Reader(page).text))
        latex = (out / "table.tex").read_text(encoding="utf-8")
        self.assertNotRegex(latex, r"\\input")
        self.assertNotRegex(latex, r"(?<!\\)[$%&#](?! )|[<>|]")
        self.assertNotRegex((self.folder / "own" / "table.md").read_text(encoding="utf-8"), r"(?<!\\)(<script|[$])")
        with open(out / "table.csv", encoding="utf-8", newline="") as file:
            self.assertIn("'=SUM(A1:A9)", {at["column"] for at in csv.DictReader(file)})

    def test_ones_own_mars_is_not_the_papers(self):
        shutil.copytree(self.folder / "own", self.folder / "mars")
        self.file.write_text("name: mars\ntitle: mine\n", encoding="utf-8")
        self.assertEqual(report(self.file, "--results", self.folder, "--out", self.folder / "site").stderr, "")
        self.assertNotIn("Grouper-placer", (self.folder / "site" / "mars" / "index.html").read_text(encoding="utf-8"))

    def test_what_is_not_installed_is_a_sentence(self):
        for package in ("numpy", "jinja2"):
            (self.folder / f"{package}.py").write_text(f"raise ImportError('no {package}')\n", encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", "-m", "stowplan.report"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": f"{self.folder}:{os.environ['PYTHONPATH']}"})
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(f"python3-{package}", done.stderr)
            (self.folder / f"{package}.py").unlink()

    def test_bad_input_is_a_sentence(self):
        (self.folder / "list.yaml").write_text("- 1\n", encoding="utf-8")
        (self.folder / "broken.yaml").write_text("title: [\n  {", encoding="utf-8")
        (self.folder / "latin.yaml").write_bytes(b"name: a\ntitle: \xe4\n")
        (self.folder / "bare").mkdir()
        (self.folder / "bare.yaml").write_text("title: a\n", encoding="utf-8")
        for name in ("cells.csv", "rows.csv"):
            (self.folder / "bare" / name).write_text("block,row\nnative,a\n", encoding="utf-8")
        self.write("../own")
        for arguments in (["no_such_table", "--results", self.folder], ["baechi", "--results", self.folder / "nowhere"], ["--results", self.folder / "nowhere"],
                          ["--no-such-option"], [self.file, "--results", self.folder / "own"],
                          *([self.folder / f"{name}.yaml", "--results", self.folder] for name in ("list", "broken", "latin", "bare"))):
            done = report(*arguments, "--out", self.folder / "site")
            for name, line in (("broken", 2), ("latin", 2)):
                self.assertEqual(f"{name}.yaml" in str(arguments[0]), f"{name}.yaml: line {line}" in done.stderr, done.stderr)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


@unittest.skipUnless(NAMES, "STOWPLAN_CELLS names no folder with cells.csv of tables")
class Parts(unittest.TestCase):

    def test_only_formulas_are_guarded(self):
        self.assertEqual([pages.cell_of_csv(text) for text in ("=1+1", "+x", "-x", "@x", "-1.5", "+2", "1e-3", "a=b", 0.25)],
                         ["'=1+1", "'+x", "'-x", "'@x", "-1.5", "+2", "1e-3", "a=b", "0.25"])

    def test_every_range_has_three_ticks(self):
        for low, high in ((1, 1.0001), (0.9, 1.1), (1, 9), (0.03, 12.7), (3, 300000), (1e-9, 1e9), (0.999, 1.001), (5, 5)):
            for log in (False, True):
                ticks = [tick for tick, _ in plots.axis("", [low, high], log)["ticks"]]
                self.assertGreaterEqual(len(ticks), 3, (low, high, log))
                self.assertLessEqual(len(ticks), 9, (low, high, log))
                self.assertEqual(ticks, sorted(set(ticks)))

    def test_a_drawing_is_json_whatever_its_numbers(self):
        plot = Plot("", "x", "y", [Series("a", [(float("inf"), 0), (2.0, 1), (3.0, 2)], low=[None, 1.0, 2.0], high=[None, 4.0, float("inf")])], "dots", ["a", "b", "c"])
        points = json.loads(json.dumps(plots.drawing(plot), allow_nan=False))["series"][0]
        self.assertEqual(points["points"], [[None, 0], [2.0, 1], [3.0, 2]])
        self.assertEqual(points["high"], [None, 4.0, None])

    def test_terms_are_explained_once_and_not_within_tags(self):
        terms = pages.Terms({"zero-shot": "never \"seen\"", "shot": "x"})
        text = str(terms("zero-shot <b>zero-shot</b>"))
        self.assertEqual(text.count("<abbr"), 1)
        self.assertNotIn("<b>", text)
        self.assertIn("&#34;seen&#34;", text)

    def test_counts_are_those_of_the_verdicts(self):
        for name in {"placeto", "hierarchical", "mars-pretraining"} & set(NAMES):
            page = pages.of(name, CELLS, gate.Gate(CELLS))
            self.assertEqual(sum(sum(line.counts.values()) for _, _, lines in page.claims for line in lines), len(page.verdicts), name)


if __name__ == "__main__":
    unittest.main()
