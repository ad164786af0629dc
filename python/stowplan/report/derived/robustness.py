"""Every final placement under rules and costs that its agent never saw (docs/protocol.md#robustness). A change makes all placements of a row faster
or slower; what counts is how much more a placement then trails the row's fastest than it did: its robust gap."""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

import numpy as np

from ... import _core
from ..._core import InputError
from .. import words
from ..grid import Grid
from ..table import Block, Row, Table, geometric_mean, lines_of
from .common import by_row, compared, dots, interval, number, repeats, shared_cell

RULES = {
    "fifo": "a link serves one transfer at a time", "fair": "transfers share links equally", "ideal": "transfers do not disturb one another",
    "ready": "ops are issued as they become ready", "program": "ops are issued in program order",
    "process": "one host thread issues for all devices", "device": "one host thread issues for each device",
    "native": "stowplan's own rules, for placements found under those of the published simulator"}
NATIVE = "native"
#: Draws of costs: each with a factor between 0.9 and 1.1 for each pair of op type and device kind.
DRAWS = 20
FIRST_DRAW = 1 + len(RULES)


@dataclass
class Field:
    """The placements of one row of a table, a line each in `times`: microseconds under its own rules, under each of the others (nan where these are
    its own), with each draw of costs; infinite where it does not fit."""

    table: Table
    block: Block
    row: Row
    columns: List[str]
    seeds: List[int]
    times: Any

    def __post_init__(self) -> None:
        self.best = self.times.min(axis=0)
        self.winner = int(self.times[:, 0].argmin())
        self.gaps = (self.times / self.best) / (self.times[:, :1] / self.best[0])
        costs = np.sort(self.gaps[:, FIRST_DRAW:], axis=1)
        self.costs_median, self.costs_worst = costs[:, DRAWS // 2], costs[:, -1]
        self.worst = np.fmax(np.fmax.reduce(self.gaps[:, 1:FIRST_DRAW], axis=1), self.costs_median)

    def over_seeds(self, column: str, numbers: Any) -> Optional[float]:
        """The median of a column; `numbers` has one for each placement."""
        own = [one for one, key in zip(numbers, self.columns) if key == column and not math.isnan(one)]
        return float(statistics.median(own)) if own else None

    def loss(self, change: int) -> float:
        """Of the row's fastest placement, to the fastest there; nan where the rules are its own."""
        return float(self.times[self.winner, change] / self.best[change])

    def rank(self, change: int) -> int:
        return 1 + int((self.times[:, change] < self.times[self.winner, change]).sum())


def fields(tables: List[Table], path: Path) -> List[Field]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; `stowplan table derive robustness` writes it.")
    found: Dict[Tuple[str, str, str], List[Tuple[str, int, List[float]]]] = {}
    for at in lines_of(path):
        texts = [at["runtime_us"]] + [at[f"{rule}_us"] for rule in RULES] + at["costs_us"].split()
        times = [math.nan if text == "same" else math.inf if text == "oom" else float(text) for text in texts]
        found.setdefault((at["table"], at["block"], at["row"]), []).append((at["column"], int(at["seed"]), times))
    made = []
    for table, block, row in ((table, block, row) for table in tables for block in table.blocks for row in block.rows):
        if (table.name, block.key, row.key) in found:
            columns, seeds, times = map(list, zip(*found[table.name, block.key, row.key]))
            made.append(Field(table, block, row, columns, seeds, np.array(times)))
    return made


def _used(of_rows: List[Field]) -> Dict[str, int]:
    """Rules that differ from some row's own, and their place in `times`."""
    return {rule: i for i, rule in enumerate(RULES, start=1) if any(not math.isnan(one.best[i]) for one in of_rows)}


@dataclass
class Losses:
    """What the fastest placements of all rows lose under other rules; rows that a block repeats count once."""

    rule: str  # of RULES
    ratios: List[float]  # to the fastest placement there, of those that fit
    out_of_memory: int

    @property
    def what(self) -> str:
        return RULES[self.rule]

    @property
    def rows(self) -> int:
        return len(self.ratios) + self.out_of_memory

    @property
    def first(self) -> int:
        return sum(ratio <= 1 for ratio in self.ratios)

    @property
    def mean(self) -> float:
        return geometric_mean(self.ratios) if self.ratios else math.inf

    @property
    def worst(self) -> float:
        return max(self.ratios, default=math.inf)


def losses(of_rows: List[Field]) -> List[Losses]:
    made = []
    for rule, i in _used(of_rows).items():
        ratios = [one.loss(i) for one in of_rows if not repeats(one.table, one.block) and not math.isnan(one.loss(i))]
        made.append(Losses(rule, [ratio for ratio in ratios if math.isfinite(ratio)], sum(map(math.isinf, ratios))))
    return [one for one in made if one.rows]


def by_agent(of_rows: List[Field]) -> Dict[str, Dict[str, List[float]]]:
    """By title of the column and change the robust gap of each row, infinite where it no longer fits. Rows that two tables share count once."""
    changes: Dict[str, Any] = {rule: lambda one, i=i: one.gaps[:, i] for rule, i in _used(of_rows).items()}
    changes.update({"costs, median": lambda one: one.costs_median, "costs, worst": lambda one: one.costs_worst})
    found: Dict[str, Dict[str, List[float]]] = {}
    counted: Set[str] = set()
    for one in of_rows:
        for column in one.block.columns:
            of_agent = found.setdefault(column.title, {change: [] for change in changes})
            shared = shared_cell(one.block, one.row, column)
            for change, gaps in changes.items() if shared not in counted else ():
                gap = one.over_seeds(column.key, gaps(one))
                of_agent[change] += [] if gap is None else [gap]
            counted.add(shared)
    return {title: of for title, of in found.items() if any(of.values())}


def wrong_simulator(of_rows: List[Field]) -> Dict[str, List[Any]]:
    """By row and learner: microseconds of what it found under the published simulator's rules, by these and by stowplan's; of what it found under
    stowplan's; and how many times as long the one takes as the other of the same seed."""
    made, change = {}, _used(of_rows).get(NATIVE)
    for one in of_rows:
        ours = next((other for other in of_rows if (other.table, other.row.key, other.block.rules) == (one.table, one.row.key, NATIVE)), None)
        if one.block.rules == NATIVE or ours is None:
            continue
        same_seed = dict(zip(zip(ours.columns, ours.seeds), ours.times[:, 0]))
        loss = [time / same_seed.get(seed, math.nan) for time, seed in zip(one.times[:, change], zip(one.columns, one.seeds))]
        for column in one.block.columns:
            numbers = [one.over_seeds(column.key, one.times[:, 0]), one.over_seeds(column.key, one.times[:, change]),
                       ours.over_seeds(column.key, ours.times[:, 0]), one.over_seeds(column.key, loss)]
            if column.learner and None not in numbers:
                made[f"{one.row.name}, {column.title}"] = numbers
    return made


def _winners(of_rows: List[Field]) -> Grid:
    used = _used(of_rows)

    def text(one: Field, i: int) -> str:
        return "–" if math.isnan(one.best[i]) else "OOM" if math.isinf(one.loss(i)) else f"{words.faster(one.loss(i))}, rank {one.rank(i)}"

    def line(one: Field) -> List[str]:
        block = "" if one.block is one.table.blocks[0] else f", {one.block.title}"
        first = sum(one.rank(i) == 1 for i in range(FIRST_DRAW, FIRST_DRAW + DRAWS))
        return [f"{one.table.name}, {one.row.name}{block}", one.block.column(one.columns[one.winner]).title, str(len(one.columns)),
                *(text(one, i) for i in used.values()), f"{first} of {DRAWS}"]

    return Grid("Does the winner stay the winner?", ["row", "winner", "placements", *used, "costs, first in"], [line(one) for one in of_rows],
                "The placement that is fastest under the row's own rules, under others: how much slower it is than the fastest placement of the "
                "row there, and its rank; equal placements share a rank.", folded=True)


def _wrong_grid(wrong: Dict[str, List[float]]) -> Grid:
    return Grid("What a wrong simulator costs", ["row and learner", "found by its rules (s)", "judged by ours (s)", "found by ours (s)", "loss"],
                [[name, *(words.seconds(one / 1e6) for one in times), words.faster(loss)] for name, (*times, loss) in wrong.items()],
                "What learners found under the rules of the published simulator, judged by these rules and by stowplan's, beside what the same "
                "learner found under stowplan's. Medians over seeds; the loss is the median of that of each seed's two placements under "
                "stowplan's rules. OOM: it does not fit under stowplan's rules; the published ones know no limit.", folded=True)


def _agents_grid(agents: Dict[str, Dict[str, List[float]]]) -> Grid:
    def text(gaps: List[float]) -> str:
        fit = [gap for gap in gaps if math.isfinite(gap)]
        mean = _core.estimate_mean(fit) if fit else None
        return (f"{mean.value:.2f} ({interval(mean)})" if mean else "–") + (f" +{len(gaps) - len(fit)}" if len(gaps) > len(fit) else "")

    return Grid("Every agent over all rows", ["agent", *next(iter(agents.values()))],
                [[title, *map(text, of.values())] for title, of in agents.items()],
                "The robust gap says how much farther a placement is from the fastest of its row than under its own rules: at 1.20 it loses a "
                "fifth to the others, below 1 it gains. Geometric mean over rows with its 90 % bootstrap interval, medians over seeds first; "
                "+n: in so many rows the placement no longer fits, and these are not in the mean. Rows that two tables share count once. Costs: "
                f"{DRAWS} draws, a factor between 0.9 and 1.1 for each pair of op type and device kind.", folded=True)


def _of_block(of_rows: List[Field]) -> Grid:
    of_row = {one.row.key: one for one in of_rows}
    return by_row(of_rows[0].table, of_rows[0].block, [one.row for one in of_rows], of_rows[0].block.columns,
                  lambda row, column: number(of_row[row.key].over_seeds(column.key, of_row[row.key].worst)),
                  "The largest robust gap over all other rules and the median draw of costs; median over seeds.")


def page(results: Path) -> Tuple[Dict[str, Any], List[Any]]:
    of_rows = fields(compared(results), results / "robustness" / "rows.csv")
    of_rules, wrong = losses(of_rows), wrong_simulator(of_rows)
    ratios = [ratio for one in of_rules for ratio in one.ratios]
    facts = {"cases": sum(one.rows for one in of_rules), "first": sum(one.first for one in of_rules), "mean": geometric_mean(ratios),
             "worst": max(ratios), "out_of_memory": sum(one.out_of_memory for one in of_rules), "rules": of_rules,
             "rows": sum(not repeats(one.table, one.block) for one in of_rows),
             "always": sum(all(math.isnan(one.loss(i)) or one.loss(i) <= 1 for i in range(1, FIRST_DRAW)) for one in of_rows
                           if not repeats(one.table, one.block)),
             "most_rules": max(sum(not math.isnan(one.loss(i)) for i in range(1, FIRST_DRAW)) for one in of_rows)}
    note = "The fastest placement of each row, simulated under other rules, against the fastest placement of the row there."
    plot = dots("What the fastest placement of a row loses under other rules", "step time / that of the fastest placement there",
                [one.rule for one in of_rules], {"mean over rows": ("search", {one.rule: one.mean for one in of_rules}),
                                                 "worst row": ("paper", {one.rule: one.worst for one in of_rules})}, note)
    summary = Grid("What the fastest placements lose", ["rules", "which", "rows", "stays first", "mean loss", "largest loss", "no longer fits"],
                   [[one.rule, one.what, str(one.rows), str(one.first), words.faster(one.mean), words.faster(one.worst),
                     str(one.out_of_memory)] for one in of_rules],
                   f"{note} Unfused graphs are not among the rules: their ops have no place in a placement of fused ones.")
    by_block: Dict[int, List[Field]] = {}
    for one in of_rows:
        by_block.setdefault(id(one.block), []).append(one)
    return facts, [plot, summary] + ([_wrong_grid(wrong)] if wrong else []) + [_agents_grid(by_agent(of_rows)), _winners(of_rows)] \
        + [_of_block(rows) for rows in by_block.values()]
