"""How far every cell is from the lower bound that is proven for it (docs/protocol.md#lower-bound)."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

from ... import _core
from ..grid import Grid
from ..table import Block, Cell, Estimate, Table, geometric_mean
from .common import Best, best_of_each_kind, by_row, compared, interval, number, repeats, searched, shared_cell, shared_row, title_of

#: A placement nearer to the bound is proven optimal, to one part in a hundred.
AT_BOUND = 1.01
KINDS = {"fixed placements": "rule", "partitioners and schedulers": "scheduler", "learners": "learner", "searches": "search"}


def gap(cell: Cell) -> Any:
    return cell.median / cell.bound if cell.median and cell.bound else None


@dataclass
class Gaps:
    """Of one agent over all rows."""

    title: str
    gaps: List[float] = field(default_factory=list)
    out_of_memory: int = 0

    @cached_property
    def mean(self) -> Estimate:
        return _core.estimate_mean(self.gaps)

    @property
    def at_bound(self) -> int:
        return sum(one <= AT_BOUND for one in self.gaps)


def agents(tables: List[Table]) -> List[Gaps]:
    """Rows that two tables share count once."""
    found: Dict[str, Gaps] = {}
    counted: Set[str] = set()
    for _, block in searched(tables):
        for cell in block.cells.values():
            key, title = shared_cell(block, cell.row, cell.column), cell.column.title
            if cell.run and key not in counted:
                counted.add(key)
                agent = found.setdefault(title, Gaps(title))
                agent.out_of_memory += cell.state == "oom"
                agent.gaps += [one for one in [gap(cell)] if one is not None]
    return [agent for agent in found.values() if agent.gaps]


def least(tables: List[Table]) -> List[float]:
    """The smallest gap of each row, by whomever."""
    found: Dict[str, List[float]] = {}
    for _, block in searched(tables):
        for row in block.rows:
            bound = block.bound(row.key)
            found.setdefault(shared_row(block, row), []).extend(cell.median / bound for cell in block.of_row(row.key) if cell.median and bound)
    return [min(found[row]) for row in sorted(found) if found[row]]


def best_of(block: Block, group: str) -> Best:
    """Of the columns that fit in every row."""
    means = []
    for column in block.columns:
        gaps = [gap(block.at(row.key, column.key)) for row in block.rows]
        if column.group == group and not (column.learner and column.untrained) and None not in gaps:
            means.append((geometric_mean(gaps), column.title))
    return min(means, key=lambda one: one[0], default=None)


def _of_block(table: Table, block: Block) -> Grid:
    def text(row: Any, column: Any) -> str:
        cell = block.at(row.key, column.key)
        return "OOM" if cell.state == "oom" else number(gap(cell))

    def tip(row: Any, column: Any) -> str:
        cell = block.at(row.key, column.key)
        return f"{cell.low / cell.bound:.2f} to {cell.high / cell.bound:.2f} over seeds" if gap(cell) and cell.low < cell.high else ""

    rows = [row for row in block.rows if block.of_row(row.key)]
    columns = [column for column in block.columns if any(block.at(row.key, column.key).run for row in rows)]
    return by_row(table, block, rows, columns, text, "Step time divided by the bound, medians over seeds.", tip)


def page(results: Path) -> Tuple[Dict[str, Any], List[Any]]:
    tables = compared(results)
    of_agents, of_rows = agents(tables), least(tables)
    facts = {"best": _core.estimate_mean(of_rows), "rows": len(of_rows), "cells": sum(len(one.gaps) for one in of_agents),
             "at_bound": sum(one.at_bound for one in of_agents)}
    best = {title_of(table, block): {kind: best_of(block, group) for kind, group in KINDS.items()}
            for table, block in searched(tables) if not repeats(table, block)}
    parts = best_of_each_kind("The best of each kind against the proven bound", KINDS, best, "step time / proven lower bound",
                              "Step time divided by the bound, geometric mean over the rows of a table, of the best column of each kind that fits "
                              "in every row. 1.00 cannot be improved.")
    parts.append(Grid(
        "Every agent over all rows", ["agent", "mean", "90 % interval", "least", "largest", "rows", "at the bound", "out of memory"],
        [[one.title, number(one.mean.value), interval(one.mean), number(min(one.gaps)), number(max(one.gaps)), str(len(one.gaps)),
          str(one.at_bound), str(one.out_of_memory)] for one in of_agents],
        "Step time divided by the bound: geometric mean over rows with its bootstrap interval. Agents have different rows, so the means say how "
        "far an agent is from what is proven, not which agent is best; table budget says that. At the bound: within 1 %, which proves the "
        "placement optimal to 1 %. Rows that two tables share count once.", folded=True))
    ran = [(table, block) for table in tables for block in table.blocks if any(cell.run for cell in block.cells.values())]
    return facts, parts + [_of_block(*one) for one in ran]
