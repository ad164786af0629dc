#!/usr/bin/env python3
"""Derived pages and sections against the numbers that the committed tables print.

STOWPLAN_CELLS names a folder with NAME/rows.csv and NAME/cells.csv of the tables; `stowplan table show NAME` writes the latter.
"""

import functools
import math
import os
import pathlib
import sys
import tempfile
import unittest
from types import SimpleNamespace

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELLS = pathlib.Path(os.environ.get("STOWPLAN_CELLS", ""))
if not (CELLS / "placeto" / "cells.csv").is_file():
    print("skipped: STOWPLAN_CELLS names no folder with placeto/cells.csv, which `stowplan table show placeto` writes")
    sys.exit(77)

import jinja2  # noqa: E402  (what follows needs the package)

from stowplan.report import claims, derived, studies, words  # noqa: E402
from stowplan.report.derived import accuracy, bounds, budget, common, costs, learning, robustness, sanity, units  # noqa: E402
from stowplan.report.facts import Facts  # noqa: E402
from stowplan.report.gate import Gate  # noqa: E402
from stowplan.report.grid import Grid, Plot  # noqa: E402
from stowplan.report.table import geometric_mean, load  # noqa: E402

TABLES = ("ablations", "agents", "baechi", "doppler", "hierarchical", "latency", "mars", "mars-pretraining", "modern", "placeto",
          "placeto-generalization", "sgdp", "sgdp-transfer", "units")
folder = tempfile.TemporaryDirectory()
RESULTS = pathlib.Path(folder.name)  # the cells, and what is committed of the tables that have none
for one in [path for path in CELLS.iterdir() if path.is_dir()] + [ROOT / "results" / name for name in ("robustness", "gate")]:
    if not (RESULTS / one.name).exists():
        (RESULTS / one.name).symlink_to(one.resolve())
table = functools.lru_cache(None)(lambda name: load(name, RESULTS))
page = functools.lru_cache(None)(lambda name: derived.page(name, RESULTS))
compared = functools.lru_cache(None)(lambda: common.compared(RESULTS))


def block(name, key):
    return table(name).block(key)


class Case(unittest.TestCase):
    def near(self, value, wanted, digits=2):
        """To the digits that the committed file prints."""
        self.assertEqual(f"{value:.{digits}f}", wanted)

    def interval(self, estimate, value, low, high, digits=2):
        for number, wanted in ((estimate.value, value), (estimate.low, low), (estimate.high, high)):
            self.near(number, wanted, digits)


class Bounds(Case):
    def test_agents(self):
        of = {one.title: one for one in bounds.agents(compared())}
        self.interval(of["CPU only"].mean, "17.83", "13.61", "23.42")
        self.interval(of["METIS"].mean, "2.23", "2.02", "2.47")
        self.interval(of["Hierarchical"].mean, "1.68", "1.38", "2.07")
        self.interval(of["local search"].mean, "1.48", "1.40", "1.56")
        self.assertEqual((len(of["METIS"].gaps), of["METIS"].at_bound, len(of["GPU only"].gaps), of["GPU only"].out_of_memory), (45, 1, 9, 10))
        self.near(max(of["CPU only"].gaps), "110.77")

    def test_rows(self):
        gaps = bounds.least(compared())
        self.interval(bounds._core.estimate_mean(gaps), "1.32", "1.27", "1.37")
        facts, _ = page("bounds")
        self.assertEqual((len(gaps), facts["rows"], facts["at_bound"], facts["cells"]), (93, 93, 2, 1853))

    def test_best_of_each_kind(self):
        for name, key, group, wanted in (
                ("hierarchical", "native", "search", "1.19 pilot, single ops"), ("placeto", "native", "rule", "36.53 CPU only"),
                ("mars", "process", "scheduler", "1.55 METIS"), ("mars-pretraining", "native", "learner", "1.63 Mars, no pre-training")):
            value, title = bounds.best_of(block(name, key), group)
            self.assertEqual(f"{value:.2f} {title}", wanted)
        self.assertIsNone(bounds.best_of(block("placeto", "process"), "learner"))


class Budget(Case):
    def field(self, title):
        return next(one for one in budget.fields(compared()) if one.title == title)

    def test_means_at_equal_samples(self):
        wanted = {"hierarchical: Own rules": "1.00 1.42 2.50", "placeto: Own rules": "1.00 1.07 1.56",
                  "placeto-generalization: Family ptb": "1.01 1.05 1.34", "sgdp: Own rules": "1.00 1.13 4.99",
                  "mars: Own rules, one host thread": "1.00 1.08 1.31"}
        for title, means in wanted.items():
            best = [self.field(title).best(wanted)[0] for wanted in budget.WANTED.values()]
            self.assertEqual(" ".join(f"{one:.2f}" for one in best), means)

    def test_ranking(self):
        rows = budget._ranking(self.field("hierarchical: Own rules")).rows
        self.assertEqual(rows[0], ["pilot, single ops", "1.14", "1.07", "1.00", "1.00 to 1.01", "5 of 6"])
        self.assertEqual(rows[6], ["Hierarchical", "1.72", "1.55", "1.42", "1.27 to 1.59", "0 of 6"])

    def test_pilot(self):
        races = [race for one in budget.fields(compared()) if one.block.key == "native" for race in one.races]
        against = {(one.samples, one.search_samples): one for one in budget.pilot(races)}
        self.interval(against[1, 1000].mean, "0.729", "0.629", "0.826", 3)
        self.interval(against[300, 300].mean, "0.618", "0.527", "0.712", 3)
        self.interval(against[20000, 20000].mean, "0.975", "0.962", "0.987", 3)
        self.near(geometric_mean(against[10000, 10000].trivial), "0.785", 3)
        self.assertEqual([len(against[n, n].ratios) for n in (300, 10000, 20000)], [29, 26, 6])

    def test_who_spent_more_is_read_where_the_others_ended(self):
        def cell(key, spent, *curves):
            column = SimpleNamespace(key=key, title=key, has_own_budget=False)
            return SimpleNamespace(column=column, sampled=True, budget=spent, records=[SimpleNamespace(curve=curve) for curve in curves])

        short, long = cell("short", 10, [(1, 8.0), (10, 8.0)]), cell("long", 20, [(5, 6.0), (15, 3.0)], [(12, 2.0)], [(1, 9.0)])
        self.assertEqual([budget.after(long, samples) for samples in (4, 5, 12, 15)], [math.inf, 9.0, 6.0, 3.0])  # the second of three seeds
        made = SimpleNamespace(rows=[SimpleNamespace(key="row")], of_row=lambda row: [short, long], columns=[short.column, long.column])
        one = budget.Field(None, made, budget.races(made))
        self.assertEqual((one.budget, one.races[0].best), (10, 8.0))
        self.assertEqual([one.ratios(column, 20) for column in one.columns], [[1.0], [9.0 / 8.0]])

    def test_lead(self):
        facts, parts = page("budget")
        self.assertEqual((facts["search_wins"], facts["blocks"], facts["beats_random"], facts["with_random"]), (9, 9, 9, 9))
        self.assertEqual((facts["least"], facts["most"]), (1.04, 1.42))
        self.assertIsInstance(parts[0], Plot)


class Robustness(Case):
    @classmethod
    def setUpClass(cls):
        cls.rows = robustness.fields(compared(), RESULTS / "robustness" / "rows.csv")

    def test_losses(self):
        of = {one.rule: one for one in robustness.losses(self.rows)}
        wanted = {"fifo": (92, 81, "1.01", "1.56"), "ideal": (92, 71, "1.00", "1.24"), "ready": (92, 34, "1.05", "1.91"),
                  "process": (81, 22, "1.07", "1.64"), "device": (11, 7, "1.06", "1.37"), "native": (6, 0, "1.18", "1.33")}
        self.assertEqual({rule: (one.rows, one.first, f"{one.mean:.2f}", f"{one.worst:.2f}") for rule, one in of.items()}, wanted)
        facts, _ = page("robustness")
        self.assertEqual((facts["first"], facts["cases"], facts["out_of_memory"], facts["rows"]), (215, 374, 0, 98))
        self.near(facts["mean"], "1.03")
        self.near(facts["worst"], "1.91")

    def test_agents(self):
        of = robustness._agents_grid(robustness.by_agent(self.rows))
        line = next(dict(zip(of.header, row)) for row in of.rows if row[0] == "HEFT")
        self.assertEqual((line["fifo"], line["native"], line["costs, worst"]),
                         ("1.01 (0.99 to 1.02)", "1.25 (1.04 to 1.51) +2", "1.02 (1.02 to 1.02)"))

    def test_wrong_simulator(self):
        of = robustness.wrong_simulator(self.rows)
        *times, loss = of["NMT, 2 layers, 2 GPUs, Placeto"]
        self.assertEqual([words.seconds(one / 1e6) for one in times] + [f"{loss:.2f}"], ["1.59", "2.58", "1.58", "1.63"])
        self.assertTrue(math.isinf(of["NMT, 2 layers, 2 GPUs, Placeto (preset paper)"][1]))


class Sanity(Case):
    @classmethod
    def setUpClass(cls):
        cls.gate = Gate(RESULTS)
        cls.agents = {agent.title: agent for agent in cls.gate.agents}

    def test_who_met_what(self):
        wanted = {"control: factored": "did not learn 1/6 0/2 4/4 3/3", "control: copy, fast": "learned 6/6 2/2 4/4 3/3",
                  "control: walk": "did not learn 5/6 1/2 3/4 1/3", "one GPU": "did not learn 0/6 0/2 0/4 0/3",
                  "placeto, tuned": "learned 5/5 1/1 4/4 1/1", "doppler, tuned": "learned 6/6 2/2 4/4 3/3",
                  "rnn, paper": "did not learn 2/2 0/1 3/4 0/0", "doppler, paper": "did not learn 0/2 1/1 0/0 0/0"}
        for title, line in wanted.items():
            agent = self.agents[title]
            met = ["{}/{}".format(*sanity.met_of(self.gate, agent, kind)) for kind in sanity.KINDS]
            self.assertEqual(" ".join([sanity.verdict(self.gate, agent)] + met), line)

    def test_facts(self):
        facts, parts = page("gate")
        self.assertEqual((len(facts["learned"]), facts["learners"], facts["presets"]), (8, 16, {"tuned": (8, 8), "paper": (0, 8)}))
        self.assertEqual((facts["runs"], facts["excused"]), (1277, {"placeto, tuned": ["256 ops on 4"]}))
        self.assertEqual((facts["missing"]["rnn, paper"], facts["missing"]["doppler, paper"]), ((22, 36), (29, 36)))
        cells = {(row[0], title): cell for row in parts[2].rows for title, cell in zip(parts[2].header, row)}
        self.assertEqual([cells[one] for one in (("control: factored", "8 ops on 4"), ("placeto, tuned", "RNNLM"), ("rnn, paper", "64 ops on 2"))],
                         ["0.82 !", "0.815", "not run"])


class RunTables(Case):
    def test_units(self):
        every, seeing = (units.spread(table("units"), blind) for blind in (True, False))
        for value, wanted in ((every.groupings, "2.42"), (every.agents, "2.30"), (seeing.groupings, "1.77"), (seeing.agents, "1.46")):
            self.near(value, wanted)
        self.interval(every.ratio, "1.05", "0.96", "1.17")
        self.interval(seeing.ratio, "1.21", "1.12", "1.33")
        grid = derived.sections(table("units"))[1]
        self.assertEqual(grid.rows[1], ["256 groups", "3.64", "3.62", "1.60", "1.40", "1.58", "1.14"])

    def test_order_of_methods(self):
        of = {one.block.key: one for one in accuracy.orders(table("placeto"))}
        self.near(of["native"].tau, "0.82")
        self.near(of["published"].tau, "0.76")
        self.assertEqual((of["native"].otherwise, of["native"].pairs, of["native"].column, of["native"].with_column), (7, 82, "RNN", 4))
        self.near(of["published"].without, "0.94")

    def test_closeness(self):
        def close(name, kind="predicted"):
            return accuracy.closeness(table(name), table(name).block(), kind)
        self.assertEqual((len(close("placeto", "fitted").cells), len(close("placeto").cells), len(close("placeto").seen)), (5, 4, 1))
        for value, wanted in (
                (close("placeto").median, "0.06"), (close("placeto").largest, "0.18"),
                (close("sgdp").median, "0.25"), (close("hierarchical").largest, "0.63")):
            self.near(value, wanted)

    def test_measured_prices_have_seen_no_cell(self):
        close = accuracy.closeness(table("sgdp"), block("sgdp", "measured"), "predicted")
        self.assertEqual((len(close.cells), len(close.seen)), (14, 0))
        grid = next(one for one in accuracy.sections(table("mars")) if one.title == "Published cells by block")
        self.assertEqual(grid.rows[0][1:], ["0.071", "0.0710, as fast", "0.0710, as fast", "0.0819, 15 % slower", "0.0308, 57 % faster"])

    def test_memory(self):
        cells = accuracy.memory(table("sgdp"))
        self.assertEqual({key[1]: accuracy.same(of) for key, of in cells.items()},
                         {"fixed placements": "14 of 14", "partitioners and schedulers": "6 of 14", "agents": "28 of 28"})

    def test_means_over(self):
        of, column = block("agents", ""), block("agents", "").column
        mean, _ = costs.mean_against(of, column("pilot"), column("local_search"))
        self.interval(mean, "0.980", "0.976", "0.983", 3)
        grid = costs.means_over(table("doppler"))
        self.assertEqual(grid.rows[0][:2], ["pilot", "38 % faster"])  # 0.625
        self.assertEqual([row[0] for row in grid.rows[-2:]], ["random", "one device"])

    def test_pretraining(self):
        study = studies.Pretraining(table("mars-pretraining"))
        mean = study.mean("machine and agent, set-up 10 s")
        self.assertEqual([round(100 * (1 - value), 1) for value in (mean.value, mean.high, mean.low)], [-25.3, -60.7, 11.5])
        mean = study.mean("agent seconds")
        self.assertEqual([round(100 * (1 - value), 1) for value in (mean.value, mean.high, mean.low)], [-6.2, -38.3, 15.8])

    def test_generalisation(self):
        families = table("placeto-generalization").blocks
        for column, wanted in (("single_gpu", ("1.542", "1.188", "1.545")), ("zero_shot", ("1.272", "1.086", "1.003")),
                               ("rnn_zero_shot", ("1.297", "1.058", "0.967")), ("local_search", ("0.964", "0.960", "0.956"))):
            self.assertEqual(tuple(f"{learning.mean(family, column).value:.3f}" for family in families), wanted)
        self.assertEqual([f"{learning.bound(family):.3f}" for family in families], ["0.787", "0.564", "0.770"])
        for theirs, wanted in (("single_gpu", "0.788"), (studies.OPTIMISED, "1.11")):
            self.near(studies.against(table("placeto-generalization"), studies.ZERO_SHOT, theirs, "").ratio, wanted, len(wanted) - 2)
        self.assertEqual(studies.on_one_device(table("placeto-generalization"), "zero_shot_walk"), "128 of 144")

    def test_leads(self):
        def facts(name):
            return Facts(table(name), claims.judge(table(name), Gate(RESULTS)), Gate(RESULTS))
        placeto = facts("placeto")
        for ours, wanted, paper in (("placeto", "0.821", "5.5 % faster"), ("rnn", "0.835", "3.0 % faster")):
            self.near(placeto.ratio(ours, "expert", published=True).value, wanted, 3)
            self.assertEqual(placeto.paper(ours, "expert"), paper)
        self.assertEqual(list(placeto.counts(True).values()), [11, 3, 10, 3])
        self.assertEqual(list(placeto.counts(False).values()), [2, 3, 1, 2])
        self.assertEqual(facts("mars").best_searcher, ("pilot", 3, 3))

    def test_clocks_and_samples(self):
        grids = {grid.title: {row[0]: row[1:] for row in grid.rows} for grid in costs.sections(table("placeto"))}
        self.assertEqual(grids["Samples"]["Inception-V3, 2 GPUs, pilot"], ["1", "18,712", "20,000", "20,000", "–", "1,119,343"])
        self.assertEqual(grids["Best found and the proven bound"]["NMT, 4 layers, 4 GPUs"], ["1.21", "pilot", "1.09", "1.10"])
        self.assertEqual([common.duration(one) for one in (0, 2e-6, 0.8125, 4.2044, 571, 7500)],
                         ["0 s", "2.000 us", "812.5 ms", "4.204 s", "9 min 31 s", "2 h 05 min"])


class Pages(Case):
    def test_parts_are_whole(self):
        parts = {name: page(name)[1] for name in derived.DERIVED}
        parts.update({name: derived.sections(table(name)) for name in TABLES if (RESULTS / name / "cells.csv").is_file()})
        for name, part in ((name, part) for name, of in parts.items() for part in of):
            with self.subTest(table=name, part=part.title):
                self.assertTrue(part.rows if isinstance(part, Grid) else part.series)
                for row in (part.rows + part.tips) if isinstance(part, Grid) else []:
                    self.assertEqual(len(row), len(part.header))

    def test_leads_are_written(self):
        folder = pathlib.Path(derived.__file__).parents[1] / "templates"
        templates = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), undefined=jinja2.StrictUndefined)
        templates.globals["words"] = words
        facts = {**{name: page(name)[0] for name in derived.DERIVED}, "units": units.facts(table("units"))}
        for name, lead in (("bounds", "32 % slower (90 % interval 27 to 37; 93 rows)"), ("budget", "in 9 of 9 blocks"),
                           ("robustness", "In 215 of 374 cases (57 %) it is still the fastest. Under all the rules tried it is so in 9 of the 98 rows. On average it is 3.5 % slower"),
                           ("gate", "8 of 8 with settings `tuned`"), ("units", "a factor of 2.42 over its best")):
            text = " ".join(templates.get_template(f"findings/{name}.md").render(facts[name]).split())
            self.assertIn(lead, text)


if __name__ == "__main__":
    unittest.main()
