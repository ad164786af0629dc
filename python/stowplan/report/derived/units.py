"""How much of a result is the grouping, and how much the search: each block of table units is a grouping of ops, each column an agent."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from ... import _core
from .. import words
from ..grid import Grid, Plot, Series
from ..table import Column, Estimate, Table, geometric_mean, spec

NOTE = "Step time divided by that of the best that any agent found in the row with any grouping of ops; geometric mean over rows."


def rows_of(table: Table, column: str) -> List[str]:
    """Where the column found something that fits with every grouping."""
    return [row.key for row in table.blocks[0].rows if all(block.at(row.key, column).median is not None for block in table.blocks)]


def columns(table: Table) -> List[Column]:
    """Fixed placements group nothing."""
    return [column for column in table.blocks[0].columns if column.searched and rows_of(table, column.key)]


def mean(table: Table, block: Any, column: str) -> float:
    """Times as long as the best of the row with any grouping."""
    def best(row: str) -> float:
        return min(found[0] for one in table.blocks for found in [one.best(row)] if found)
    return geometric_mean([block.at(row, column).median / best(row) for row in rows_of(table, column)])


def _blind(column: Column) -> bool:
    """Random draws, and the control that learns no more than they know: who would place so?"""
    name, named = spec(column.agent)
    return name == "random" or (name == "factored" and "action" not in named)


@dataclass
class Spread:
    """By row: how many times as long the worst takes as the best, over groupings for each agent, and over agents for each grouping."""

    over_groupings: List[float]
    over_agents: List[float]

    @property
    def groupings(self) -> float:
        return geometric_mean(self.over_groupings)

    @property
    def agents(self) -> float:
        return geometric_mean(self.over_agents)

    @property
    def ratio(self) -> Estimate:
        """How many times more the grouping costs than the agent; its interval is over rows."""
        return _core.estimate_mean([grouping / agent for grouping, agent in zip(self.over_groupings, self.over_agents)])


def spread(table: Table, with_blind: bool) -> Optional[Spread]:
    """Of the columns that have most rows: means over other rows say something else."""
    most = max((len(rows_of(table, column.key)) for column in columns(table)), default=0)
    compared = [column.key for column in columns(table) if len(rows_of(table, column.key)) == most and (with_blind or not _blind(column))]
    if len(compared) < 2:
        return None
    made = Spread([], [])
    for row in sorted(rows_of(table, compared[0])):
        seconds = [[block.at(row, key).median for block in table.blocks] for key in compared]
        for found, lines in ((made.over_groupings, seconds), (made.over_agents, zip(*seconds))):
            found.append(geometric_mean([max(line) / min(line) for line in map(list, lines)]))
    return made


def facts(table: Table) -> Dict[str, Any]:
    """What the lead of its page needs."""
    return {"spread": spread(table, True), "spread_of_seeing": spread(table, False), "groupings": len(table.blocks)}


def sections(table: Table) -> List[Any]:
    shown = columns(table)
    means = {column.key: [mean(table, block, column.key) for block in table.blocks] for column in shown}
    titles = [block.title for block in table.blocks]
    counts = {column.key: len(rows_of(table, column.key)) for column in shown}
    all_rows = len(table.blocks[0].rows)
    plot = Plot("Groupings and agents", "step time / the best found in the row with any grouping", "",
                [Series(column.title, [(value, float(i)) for i, value in enumerate(means[column.key])], column.group) for column in shown],
                kind="dots", categories=titles, log_x=True, spoken=NOTE)
    names = [column.title + (f", {counts[column.key]} rows" if counts[column.key] < all_rows else "") for column in shown]
    grid = Grid("Groupings and agents", ["grouping"] + names,
                [[title] + [words.seconds(means[column.key][i]) for column in shown] for i, title in enumerate(titles)], NOTE)
    return [plot, grid] if shown else []
