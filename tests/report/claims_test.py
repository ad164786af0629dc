#!/usr/bin/env python3
"""What becomes of claims, on a table of two rows that is made up here: values at the borders of each rule."""

import csv
import pathlib
import tempfile
import unittest

import yaml

from stowplan._core import InputError
from stowplan.report import claims
from stowplan.report.claims import FAILS, HOLDS, OPEN, UNLEARNED, UNTESTED
from stowplan.report.gate import Gate
from stowplan.report.table import load

ROWS = ("small", "large")
#: Column: agent, kind, whether it samples and learns.
COLUMNS = {
    "one": ("single_gpu", "predicted", False, False), "rule": ("expert", "predicted", False, False), "random_op": ("random", "searched", True, False),
    "random_group": ("random", "searched", True, False), "random_block": ("random", "searched", True, False),
    "local_search": ("local_search", "searched", True, False), "local_search_trivial": ("local_search", "searched", True, False),
    "net": ("rnn", "searched", True, True), "still": ("rnn(lr=0)", "searched", True, True), "factored": ("factored", "searched", True, False),
    "factored_copy": ("factored(action=copy)", "searched", True, False)}


def table(claim, times, bound=0.1, budgets=None, before=(), curves=None, published=None):
    """Verdicts of one claim. `times`: of "column" (in both rows) or "row/column" seconds by seed, None where nothing fits; of a rule one."""
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "mine.yaml").write_text(yaml.safe_dump({"name": "mine", "title": "Mine", "claims": [claim]}), encoding="utf-8")
    (folder / "mine").mkdir()
    cells, rows = [], []
    for row in ROWS:
        for column, (agent, kind, sampled, learner) in COLUMNS.items():
            seconds = times.get(f"{row}/{column}", times.get(column))
            fit = sorted(one for one in seconds or [] if one is not None)
            budget = (budgets or {}).get(column, 100) if sampled else 1
            yes = {True: "yes", False: "no"}
            cells.append({
                "block": "native", "block_title": "Native", "rules": "native", "memory_judged": "yes", "more_graphs": "no", "row": row, "row_title": row,
                "gpus": 2, "model": row, "workload": row, "cluster": "k80", "column": column, "column_title": column, "agent": agent, "own_agent": "no",
                "devices": "", "grouper": "", "own_grouper": "", "column_kind": kind, "kind": kind, "in_paper": "yes", "sampled": yes[sampled],
                "learner": yes[learner], "trained": "no", "zero_shot": "no", "last": "no", "own_samples": "", "pass_every": "",
                "state": "absent" if seconds is None else "fits" if fit else "oom", "note": "", "seeds": len(seconds or []), "feasible": len(fit),
                "budget": budget if seconds else 0, "median_s": fit[len(fit) // 2] if fit else "", "low_s": "", "high_s": "", "bound_s": bound if seconds else "",
                "published_s": (published or {}).get(column, ""), "published_samples": "", "samples": "", "samples_to_best": "", "samples_to_1pct": "",
                "proposals": "", "screens": "", "wall_s": "", "settings_before": yes[column in before]})
            for seed, one in enumerate(seconds or [], 1):
                curve = (curves or {}).get(column, f"1:{one * 1e6}" if one else "")
                rows.append({"block": "native", "row": row, "column": column, "agent": agent, "seed": seed, "budget": budget,
                             "runtime_us": one * 1e6 if one else "", "samples": budget, "samples_to_best": 50, "samples_to_1pct": 40, "curve": curve,
                             "curve_machine_seconds": "", "curve_agent_seconds": "", "placement": "a3b2", "note": ""})
    for name, lines in (("cells.csv", cells), ("rows.csv", rows)):
        with open(folder / "mine" / name, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
    return claims.judge(load(str(folder / "mine.yaml"), folder), Gate(folder))


def words(*arguments, **more):
    return [verdict.word for verdict in table(*arguments, **more)]


def of(kind, **fields):
    return {"claim": "c", "kind": kind, **fields}


class Claims(unittest.TestCase):
    def test_a_ratio_holds_where_both_ends_of_its_interval_do(self):
        claim = of("ratio", row="small", column="local_search", than="one", below=1)
        for seconds, word in (([0.9, 0.9, 0.9], HOLDS), ([1.1, 1.1, 1.1], FAILS), ([0.8, 1.0, 1.3], OPEN), ([0.5, 0.5], OPEN)):
            self.assertEqual(words(claim, {"one": [1], "local_search": seconds}), [word], seconds)
        self.assertEqual(words(claim, {"one": [1]}), [UNTESTED])
        self.assertEqual(words(claim, {"one": [None], "local_search": [None] * 3}), [OPEN])

    def test_a_tie_is_no_slower_and_not_faster(self):
        times = {"one": [1], "local_search": [1.0, 1.0, 1.0]}
        self.assertEqual(words(of("ratio", row="small", column="local_search", than="one", below=1), times), [FAILS])
        self.assertEqual(words(of("ratio", row="small", column="local_search", than="one", at_most=1), times), [HOLDS])
        self.assertEqual(words(of("ratio", row="small", column="local_search", than="one", at_most=0.999), times), [FAILS])

    def test_a_placement_exists_where_it_was_found_and_not_where_the_bound_excludes_it(self):
        claim = of("exists", row="small", than="one", by=0.2)
        for found, bound, word in ((0.8, 0.1, HOLDS), (0.81, 0.1, OPEN), (0.81, 0.805, FAILS)):
            self.assertEqual(words(claim, {"one": [1], "local_search": [found] * 3}, bound), [word], (found, bound))
        self.assertEqual(words(claim, {"one": [1]}), [UNTESTED])

    def test_nothing_is_faster_where_the_bound_says_so(self):
        claim = of("nothing_faster", row="small", than="one")
        for found, bound, word in ((0.98, 0.1, FAILS), (0.995, 0.1, OPEN), (0.995, 0.99, HOLDS)):
            self.assertEqual(words(claim, {"one": [1], "local_search": [found] * 3}, bound), [word], (found, bound))

    def test_seconds_are_found_or_excluded(self):
        claim = of("found", row="small", takes="900ms")
        for found, bound, word in ((0.9, 0.1, HOLDS), (0.91, 0.1, OPEN), (0.95, 0.92, FAILS)):
            self.assertEqual(words(claim, {"local_search": [found] * 3}, bound), [word])

    def test_all_rows_are_won_at_equal_samples(self):
        claim = of("beats", column="net", than=["local_search", "one"])
        fast, slow = [0.5] * 3, [2.0] * 3
        self.assertEqual(words(claim, {"net": fast, "local_search": [1.0] * 3, "one": [1]}), [HOLDS])
        self.assertEqual(words(claim, {"small/net": fast, "large/net": slow, "local_search": [1.0] * 3, "one": [1]}), [FAILS])
        self.assertEqual(words(claim, {"small/net": fast, "local_search": [1.0] * 3, "one": [1]}), [OPEN])
        self.assertEqual(words(claim, {"net": fast, "local_search": [1.0] * 3, "one": [1]}, budgets={"net": 50}), [UNTESTED])
        self.assertEqual(words(claim, {"net": [None] * 3, "local_search": [1.0] * 3, "one": [1]}), [FAILS])

    def test_learners_meet_random_and_local_search(self):
        others = {key: [1.0] * 3 for key in ("random_op", "random_group", "random_block", "local_search", "local_search_trivial")}
        claim = {"kind": "opponents", "columns": ["net"]}
        self.assertEqual(words(claim, {"net": [0.5] * 3, **others}), [HOLDS, HOLDS])
        self.assertEqual(words(claim, {"net": [0.5] * 3, **others, "local_search_trivial": [0.4] * 3}), [HOLDS, FAILS])
        self.assertEqual(words(claim, {"net": [0.5] * 3, **{key: others[key] for key in list(others)[:4]}}), [HOLDS, UNTESTED])

    def test_a_mean_wants_every_row(self):
        claim = of("mean_ratio", column="net", than="one", at_most=0.8)
        self.assertEqual(words(claim, {"small/net": [0.5] * 3, "large/net": [1.0] * 3, "one": [1]}), [HOLDS])  # 0.707
        self.assertEqual(words(claim, {"small/net": [0.5] * 3, "large/net": [None] * 3, "one": [1]}), [OPEN])
        self.assertEqual(words(claim, {"small/net": [0.5] * 3, "one": [1]}), [UNTESTED])
        self.assertAlmostEqual(table(claim, {"small/net": [0.5] * 3, "large/net": [1.0] * 3, "one": [1]})[0].ratio, 0.5 ** 0.5)

    def test_samples_are_counted_to_the_others_final_best(self):
        claim = of("fewer_samples", column="net", than="random_op", at_least=2)
        times = {"net": [0.5] * 3, "random_op": [1.0] * 3}
        for at, word in ((20, HOLDS), (21, FAILS)):  # the other needs 40
            self.assertEqual(words(claim, times, curves={"net": f"1:2000000 {at}:1000000"})[0], word)
        self.assertEqual(words(claim, times, curves={"net": "1:2000000"})[0], FAILS, "it never gets there")
        self.assertEqual(words(claim, times, budgets={"net": 50}), [UNTESTED, UNTESTED])

    def test_unlike_numbers_of_samples_are_not_compared(self):
        times, budgets = {"net": [0.5] * 3, "random_op": [1.0] * 3}, {"net": 4000}
        self.assertEqual(words(of("ratio", row="small", column="net", than="random_op", below=1), times, budgets=budgets), [UNTESTED])
        self.assertEqual(words(of("mean_ratio", column="net", than="random_op", below=1), times, budgets=budgets), [UNTESTED])

    def test_growth(self):
        claim = of("grows", rows=["small", "large"], column="rule", at_least=1.25, named="x")
        for large, word in ((1.25, HOLDS), (1.24, OPEN), (1.05, OPEN), (1.04, FAILS)):
            self.assertEqual(words(claim, {"small/rule": [1], "large/rule": [large]}), [word], large)

    def test_rules_that_do_not_fit(self):
        claim = of("others_fit", rows=["small", "large"], columns=["one", "rule"])
        self.assertEqual(words(claim, {"one": [None], "rule": [None], "local_search": [1.0] * 3}), [HOLDS])
        self.assertEqual(words(claim, {"one": [None], "rule": [None], "local_search": [None] * 3}), [OPEN])
        self.assertEqual(words(claim, {"one": [None], "rule": [1], "local_search": [1.0] * 3}), [FAILS])

    def test_the_best_of_one_row_is_longer(self):
        claim = of("best_is_longer", rows=["large", "small"])
        self.assertEqual(words(claim, {"small/one": [0.05], "large/one": [1]}), [HOLDS])  # 0.05 is below the bound of large
        self.assertEqual(words(claim, {"small/one": [1], "large/one": [0.1]}), [FAILS])
        self.assertEqual(words(claim, {"small/one": [1], "large/one": [2]}), [OPEN])
        self.assertEqual(words(claim, {"small/one": [0.1], "large/one": [1]}), [OPEN], "as fast as the bound is not faster")

    def test_close_slower_and_as_long(self):
        self.assertEqual([words(of("close", cells=["small/one"], within=0.1), {"one": [1.09]}, published={"one": at}) for at in (1, 0.99)], [[HOLDS], [FAILS]])
        slower = of("slower", rows=["small"], columns=["rule"], than="one", at_least=2.5)
        self.assertEqual([words(slower, {"one": [1], "rule": [at]}) for at in (2.5, 2.4)], [[HOLDS], [FAILS]])
        takes = of("takes", row="small", column="rule", takes="9s", named="they")
        self.assertEqual([words(takes, {"rule": [at]}) for at in (4.4, 4.5)], [[FAILS], [OPEN]])

    def test_who_lost_to_its_control_did_not_learn(self):
        claim = of("ratio", row="small", column="net", than="one", below=1)
        for net, word in (([0.7] * 3, UNLEARNED), ([0.515] * 3, HOLDS)):  # the control takes 0.5; 3 % are allowed
            self.assertEqual(words(claim, {"one": [1], "net": net, "factored": [0.5] * 3, "factored_copy": [0.6] * 3}), [word])

    def test_what_the_same_network_meets_untrained_is_told(self):
        claim = of("ratio", row="small", column="net", than="one", below=1)
        for still, word in (([0.9] * 3, True), ([1.2] * 3, False)):
            self.assertIs(table(claim, {"one": [1], "net": [0.5] * 3, "still": still})[0].untrained, word)
        self.assertIsNone(table(claim, {"one": [1], "net": [0.5] * 3})[0].untrained)

    def test_settings_before_todays_neither_lose_nor_win(self):
        claim = of("mean_ratio", column="net", than="random_op", at_most=0.9)
        for net, before, word in ((0.5, (), HOLDS), (0.5, ("net",), HOLDS), (0.5, ("random_op",), OPEN), (1.5, (), FAILS), (1.5, ("net",), OPEN)):
            self.assertEqual(words(claim, {"net": [net] * 3, "random_op": [1.0] * 3}, before=before), [word], (net, before))

    def test_what_no_row_can_say(self):
        for why, told in (({}, "no rows"), ({"why": "dispatch is fitted"}, "dispatch is fitted")):
            verdict, = table(of("untested", see="x", **why), {"one": [1]})
            self.assertEqual((verdict.word, verdict.ours), (UNTESTED, told))

    def test_one_claim_of_each(self):
        made = table(of("ratio", claim="{row} is fast", rows="all", column="rule", than="one", below=1), {"one": [1], "rule": [0.5]})
        self.assertEqual([(one.claim, one.family, one.member) for one in made],
                         [(f"{row}, 2 GPUs is fast", "each row is fast", f"{row}, 2 GPUs") for row in ROWS])

    def test_what_is_wrong_is_named(self):
        for claim, said in ((of("rato"), "rato is no kind"), ("hello", "is no claim"), (of(["beats"]), "no kind"), ({"kind": "untested", "see": "x"}, "takes claim"),
                            (of("ratio", row="small", column="one", than="rule"), "takes at_most or below, one of them"),
                            (of("ratio", row="small", column="one", than="rule", below=1, at_most=1), "one of them"),
                            (of("exists", than="one", by=0.1), "takes row"), (of("beats", column="net"), "takes than"),
                            (of("ratio", row="small", column="one", than="rule", below="1"), "below must be a number"),
                            (of("ratio", row="small", column="one", than="rule", below=1, belwo=1), "has belwo"),
                            (of("found", row="small", takes="soon"), "takes must be a time"), (of("close", cells=["small/x"], within=1), "no column x"), (of("ratio", row="smal", column="one", than="rule", below=1), "no row smal"),
                            (of("ratio", row="small", column="on", than="rule", below=1), "no column on"),
                            (of("beats", block="x", column="one", than=["rule"]), "no block x")):
            with self.assertRaisesRegex(InputError, said):
                table(claim, {"one": [1], "rule": [1]})


if __name__ == "__main__":
    unittest.main()
