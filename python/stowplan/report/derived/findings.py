"""The numbers that the lead of a run table needs."""

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import claims, studies
from ..gate import Gate
from ..table import Block, Cell, Column, Estimate, Row, Table, geometric_mean, mean_over
from . import accuracy, units

WORDS = (claims.HOLDS, claims.FAILS, claims.OPEN, claims.UNLEARNED, claims.UNTESTED)


@dataclass
class Against:
    """A learner against the placement by hand that its paper compares with: times as long, geometric means over rows."""

    title: str
    ours: float
    published: float
    papers_settings: Optional[float] = None  # of the column with the paper's settings; None without such, or not in every row
    not_in_every_row: bool = False


def _best(block: Block, row: str, group: str, own_budgets: bool) -> Optional[Cell]:
    """The fastest of a row's columns of one group, but of learners that are kept from learning."""
    cells = [cell for cell in block.of_row(row) if cell.column.group == group and cell.median and (own_budgets or not cell.column.has_own_budget)
             and claims.spec(cell.agent)[1].get("lr") != "0"]
    return min(cells, key=lambda cell: cell.median, default=None)


def _reference(block: Block) -> Optional[Column]:
    """The last of the fixed placements that the paper has numbers of."""
    numbers = [column for column in block.columns if column.group == "rule"
               and any(cell.published not in (None, math.inf) for cell in (block.at(row.key, column.key) for row in block.rows))]
    return numbers[-1] if numbers else None


def against_paper(block: Block) -> Tuple[Optional[Column], int, List[Against]]:
    """Reference, number of rows, learners. All means are over the same rows: a learner that shares none with those before is left out."""
    base = _reference(block)
    if base is None:
        return None, 0, []

    def fits(column: Column, what: Callable[[Cell], Optional[float]]) -> List[str]:
        return [row.key for row in block.rows if what(block.at(row.key, column.key)) and block.at(row.key, base.key).ratio]

    def mean(column: Column, what: Callable[[Cell], float]) -> float:
        return geometric_mean([what(block.at(row, column.key)) / what(block.at(row, base.key)) for row in rows])

    rows: List[str] = []
    learners: List[Column] = []
    for column in block.columns:
        if column.in_paper and column.learner:
            shared = [row for row in fits(column, lambda cell: cell.ratio) if not learners or row in rows]
            if shared:
                rows = shared
                learners.append(column)
    made = []
    for column in learners:
        made.append(Against(column.title, mean(column, lambda cell: cell.median), mean(column, lambda cell: cell.published)))
        paper = None if column.preset == "paper" else next(
            (other for other in block.columns if other.preset == "paper" and other.differs_only_in("preset", column)), None)
        there = fits(paper, lambda cell: cell.median) if paper else []
        if paper and set(rows) <= set(there):
            made[-1].papers_settings = mean(paper, lambda cell: cell.median)
        made[-1].not_in_every_row = bool(there) and not set(rows) <= set(there)
    return base, len(rows), made


def _rows(table: Table) -> List[Tuple[Block, Row]]:
    """Those of the first block, which the others ask again under other rules; where nothing was published those of all blocks."""
    published = any(cell.published is not None for cell in table.cells)
    return [(block, row) for block in (table.blocks[:1] if published else table.blocks) for row in block.rows]


def learner_against_search(table: Table) -> Dict[str, Any]:
    """At equal samples: the best learner of a row over the best search, and over the better local search; times as long, geometric means. Some
    searches make approximate evaluations (screens) beside their samples: the fewest, and in how many rows the best search does."""
    over_best, over_local, screens, with_screens = [], [], [], 0
    for block, row in _rows(table):
        learner, search = (_best(block, row.key, group, False) for group in ("learner", "search"))
        if learner is None or search is None or learner.budget != search.budget:
            continue
        over_best.append(learner.median / search.median)
        approximate = [int(record.fields["screens"]) for record in search.records if record.fields.get("screens")]
        screens, with_screens = screens + approximate, with_screens + bool(approximate)
        local = [cell.median for key in claims.LOCAL_SEARCH for cell in [block.cells.get((row.key, key))]
                 if cell is not None and cell.median and cell.budget == learner.budget]
        over_local += [learner.median / min(local)] if local else []
    return {"rows": len(over_best), "over_search": geometric_mean(over_best) if over_best else None,
            "over_local_search": geometric_mean(over_local) if over_local and len(over_local) == len(over_best) else None,
            "screens": min(screens, default=None), "rows_with_screens": with_screens}


def search_against_bound(table: Table) -> Optional[Dict[str, Any]]:
    """The best search of a row over the proven bound, and which search it is most often."""
    gaps, won = [], {}
    for block, row in _rows(table):
        best, bound = _best(block, row.key, "search", True), block.bound(row.key)
        if best is not None and bound:
            gaps.append(best.median / bound)
            won[best.column.title] = won.get(best.column.title, 0) + 1
    most = max(sorted(won), key=won.__getitem__, default="")
    return {"over_bound": geometric_mean(gaps), "rows": len(gaps), "search": most, "won": won[most]} if gaps else None


def count_claims(table: Table, verdicts: Sequence[claims.Verdict], gate: Gate) -> Dict[str, Any]:
    """By `paper` and `ours`: verdicts, claims (those that differ in a row or block alone are one), verdicts by word. Beside them who did not learn,
    and why, over all rows of the first block; who lost in one row alone is named in its claims."""
    made: Dict[str, Any] = {}
    for whose, of in (("paper", [one for one in verdicts if one.of_paper]), ("ours", [one for one in verdicts if not one.of_paper])):
        distinct = {(one.entry, one.claim if not one.family or one.member == one.claim else one.family) for one in of}
        made[whose] = {"verdicts": len(of), "claims": len(distinct), "words": {word: sum(one.word == word for one in of) for word in WORDS}}
    subjects = {subject for one in verdicts if one.word == claims.UNLEARNED for subject in one.subjects}
    why = [claims.why_not_learned(gate, table.blocks[0], [], column.key) for column in table.blocks[0].columns if column.key in subjects]
    return {**made, "did_not_learn": [one for one in why if one]}


def zero_shot(table: Table, ours: str, theirs: str) -> Optional[Estimate]:
    """One column over another on all unseen graphs where both fit."""
    pairs = [(block.at(row.key, ours), block.at(row.key, theirs)) for block in table.blocks for row in block.rows]
    fit = [(a, b) for a, b in pairs if a.median is not None and b.median is not None]
    return mean_over(fit, True) if fit else None


def findings(table: Table, verdicts: Optional[Sequence[claims.Verdict]] = None) -> Dict[str, Any]:
    """`verdicts` are those of claims.judge, where they are known already."""
    gate, study, block = Gate(table.folder.parent), table.says.get("analysis", ""), table.blocks[0]
    base, rows, learners = against_paper(block)
    fixed = accuracy.memory(table).get((block.title, accuracy.PLACED_BY["rule"]), [])
    facts: Dict[str, Any] = {
        "reference": base.title if base else "", "reference_rows": rows, "against_paper": learners,
        "claims": count_claims(table, claims.judge(table, gate) if verdicts is None else verdicts, gate),
        "learner": learner_against_search(table), "search": search_against_bound(table),
        "close": {kind: accuracy.closeness(table, block, kind) for kind in accuracy.TITLES}, "orders": accuracy.orders(table),
        "memory": {"same": sum(bool(cell.same_verdict) for cell in fixed), "cells": len(fixed),
                   "out_of_memory": sum(cell.published is not None and math.isinf(cell.published) for cell in block.cells.values())}}
    if study == "pretraining":  # time with it over time without
        facts["training_time"] = {clock: studies.Pretraining(table).mean(clock) for clock in studies.CLOCKS}
    if study == "generalisation":
        facts["over_trained"], facts["over_one_gpu"], facts["walk_over_one_gpu"] = (zero_shot(table, *pair) for pair in (
            (studies.ZERO_SHOT, studies.OPTIMISED), (studies.ZERO_SHOT, "single_gpu"), ("zero_shot_walk", "single_gpu")))
        facts["graphs"], facts["walks_on_one_device"] = sum(len(one.rows) for one in table.blocks), studies.on_one_device(table, "zero_shot_walk")
    if study == "units":
        facts["spread"], facts["spread_of_seeing"] = units.spread(table, True), units.spread(table, False)
        facts["groupings"] = len(table.blocks)
    return facts
