"""All agents at equal samples: the curves of the other tables, read at every budget up to theirs (docs/protocol.md#budget)."""

import bisect
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from ... import _core
from .. import words
from ..grid import Grid, Plot, Series
from ..table import Block, Cell, Column, Estimate, Row, Table, geometric_mean
from .common import Best, best_of_each_kind, by_row, compared, interval, number, repeats, searched, title_of

#: Samples at which `pilot` is held against local search; beside its first one local search has AGAINST_FIRST.
LEVELS, AGAINST_FIRST = (300, 1_000, 2_000, 10_000, 20_000), 1_000
STEPS = [digit * 10 ** decade for decade in range(6) for digit in (1, 2, 3, 5)]
#: Beside the learners a plot shows so many others, those that end lowest.
OTHERS = 5


def after(cell: Cell, samples: float) -> float:
    """The median over seeds of the best found by then; infinite where half of them found nothing yet."""
    found = []
    for record in cell.records:
        i = bisect.bisect_right(record.curve, (samples, math.inf))
        found.append(record.curve[i - 1][1] if i else math.inf)
    return statistics.median(found)


@dataclass
class Race:
    """A row in which several columns searched with one budget."""

    row: Row
    cells: Dict[str, Cell]  # by column
    budget: int  # the smallest: what has spent more is read where the others ended
    best: float  # seconds


def races(block: Block) -> List[Race]:
    found = []
    for row in block.rows:
        cells = {cell.column.key: cell for cell in block.of_row(row.key) if cell.sampled and not cell.column.has_own_budget}
        budget = min((cell.budget for cell in cells.values()), default=0)
        race = Race(row, cells, budget, min((after(cell, budget) for cell in cells.values()), default=math.inf))
        found += [race] if len(cells) > 1 and math.isfinite(race.best) else []
    return found


@dataclass
class Field:
    """The races of one block."""

    table: Table
    block: Block
    races: List[Race]

    @property
    def title(self) -> str:
        return title_of(self.table, self.block)

    @property
    def columns(self) -> List[Column]:
        return [column for column in self.block.columns if any(column.key in race.cells for race in self.races)]

    @property
    def budget(self) -> int:
        return max(race.budget for race in self.races)

    @property
    def levels(self) -> List[int]:
        return [level for level in (100, 1_000, 10_000, 100_000) if level < self.budget] + [self.budget]

    def ratios(self, column: Column, samples: int) -> List[float]:
        """To the row's best at the full budget; empty where it has found nothing yet in some row that it ran in."""
        found = [after(race.cells[column.key], min(samples, race.budget)) / race.best for race in self.races if column.key in race.cells]
        return found if all(map(math.isfinite, found)) else []

    def mean(self, column: Column, samples: int) -> Optional[float]:
        ratios = self.ratios(column, samples)
        return geometric_mean(ratios) if ratios else None

    def best(self, wanted: Callable[[Column], bool]) -> Best:
        means: List[Any] = [(self.mean(column, self.budget), column.title) for column in self.columns if wanted(column)]
        return min((one for one in means if one[0] is not None), key=lambda one: one[0], default=None)


def fields(tables: List[Table]) -> List[Field]:
    made = [Field(table, block, races(block)) for table, block in searched(tables)]
    return [one for one in made if one.races]


def _random(column: Column) -> bool:
    return column.title.startswith("random")


GROUPS = {"best search": "search", "best learner": "learner", "best random search": "rule"}  # how each is drawn
WANTED: Dict[str, Callable[[Column], bool]] = {
    "best search": lambda column: column.group == "search" and not _random(column),
    "best learner": lambda column: column.learner and not column.untrained,
    "best random search": _random}


@dataclass
class AgainstSearch:
    """`pilot` after so many samples over local search after so many."""

    samples: int
    search_samples: int
    ratios: List[float]
    trivial: List[float]  # over local search from the trivial start

    @property
    def mean(self) -> Estimate:
        return _core.estimate_mean(self.ratios)


def pilot(of_papers: List[Race]) -> List[AgainstSearch]:
    """Over the rows that have both, spent as much, and in which both found something that fits."""
    def ratios(search: str, ours: int, theirs: int) -> List[float]:
        found = [after(race.cells["pilot"], ours) / after(race.cells[search], theirs) for race in of_papers
                 if "pilot" in race.cells and search in race.cells and race.budget >= max(ours, theirs)]
        return [one for one in found if math.isfinite(one) and one > 0]

    made = [AgainstSearch(ours, theirs, ratios("local_search", ours, theirs), ratios("local_search_trivial", ours, theirs))
            for ours, theirs in [(1, AGAINST_FIRST)] + [(level, level) for level in LEVELS]]
    return [one for one in made if one.ratios and one.trivial]


def _pilot_grid(against: List[AgainstSearch]) -> Grid:
    def samples(one: AgainstSearch) -> str:
        return words.count(one.samples) + (f" against {words.count(one.search_samples)}" if one.samples != one.search_samples else "")

    return Grid("pilot against local search", ["samples", "rows", "pilot is", "least", "most", "against the trivial start"],
                [[samples(one), str(len(one.ratios)), words.compared(one.mean, f"{len(one.ratios)} rows"), words.faster(max(one.ratios)),
                  words.faster(min(one.ratios)), words.faster(geometric_mean(one.trivial))] for one in against],
                "The best found by pilot against that of local search after as many samples: medians over seeds, geometric means over the rows "
                "of the papers' tables under stowplan's own rules. Rows with a smaller budget, and those where one of the two has found nothing that "
                "fits yet, are left out. Pilot rates 80,000 placements in an approximate simulator before its first sample and 32 or more "
                "before each further one, so a sample of it takes longer (results/agents/pilot.md).")


def _curves(field: Field) -> Plot:
    made = []
    for column in field.columns:
        means = [(float(samples), field.mean(column, samples)) for samples in [step for step in STEPS if step < field.budget] + [field.budget]]
        points = [(samples, mean) for samples, mean in means if mean is not None]
        made += [Series(column.title, points, column.group)] if points else []
    made.sort(key=lambda one: (one.group != "learner", one.points[-1][1]))
    shown = made[:sum(one.group == "learner" for one in made) + OTHERS]
    return Plot(field.title, "samples", "step time / the best found in the row", shown, log_x=True,
                spoken="The geometric mean over rows of the best found so far over the best that any column found, against samples, for the "
                "learners and the five others that end lowest.")


def _ranking(field: Field) -> Grid:
    *early, last = field.levels
    alike = all(race.budget == last for race in field.races)
    end, lines = f"{words.count(last)} samples" if alike else "all samples of the row", []
    for column in field.columns:
        ran, ratios = [race for race in field.races if column.key in race.cells], field.ratios(column, last)
        mean = _core.estimate_mean(ratios) if ratios else None
        won = sum(after(race.cells[column.key], race.budget) <= race.best for race in ran)
        lines.append((mean.value if mean else math.inf, [column.title] + [number(field.mean(column, level) or math.inf) for level in field.levels]
                      + [interval(mean) if mean else "–", f"{won} of {len(ran)}"]))
    header = ["agent"] + [f"{words.count(level)} samples" for level in early] + [end, "90 % interval", "best in"]
    return Grid(f"{field.title}, agent by agent", header,
                [line for _, line in sorted(lines, key=lambda one: one[0])],
                f"{len(field.races)} rows. Geometric means over rows of the best found so far over the best that any column found with {end}; "
                "the interval is a bootstrap over rows. Best in: in how many rows nothing else was better. OOM: in some row nothing that fits "
                "was found yet."
                + ("" if alike else " A row that ended before counts as it ended."), folded=True)


def _of_block(field: Field) -> Grid:
    of_row = {race.row.key: race for race in field.races}

    def text(row: Row, column: Column) -> str:
        race = of_row[row.key]
        return number(after(race.cells[column.key], race.budget) / race.best) if column.key in race.cells else "–"

    spent = [words.count(samples) for samples in sorted({min(race.budget for race in field.races), field.budget})]
    return by_row(field.table, field.block, [race.row for race in field.races], field.columns, text,
                  f"After {' to '.join(spent)} samples each: step time of the best found, divided by that of the best that any column found.")


def page(results: Path) -> Tuple[Dict[str, Any], List[Any]]:
    of_blocks = fields(compared(results))
    best = {one.title: {kind: one.best(wanted) for kind, wanted in WANTED.items()} for one in of_blocks if not repeats(one.table, one.block)}
    against = pilot([race for one in of_blocks if one.block.key == "native" for race in one.races])
    # Beside learners alone the best of them is the best of all. Counted as printed: to a hundredth.
    rounded = [[round(one[0], 2) if one else math.inf for one in of.values()] for of in best.values() if of["best search"] and of["best learner"]]
    facts = {"blocks": len(rounded), "search_wins": sum(search < learner for search, learner, _ in rounded),
             "beats_random": sum(learner < random < math.inf for _, learner, random in rounded),
             "with_random": sum(random < math.inf for *_, random in rounded),
             "least": min((learner for _, learner, _ in rounded), default=None), "most": max((learner for _, learner, _ in rounded), default=None),
             "pilot": against}
    parts = best_of_each_kind("The best of each kind at equal samples", GROUPS, best, "step time / the best found in the row",
                              "Step time of the best found, divided by that of the best that any column found with as many samples; geometric "
                              "mean over the rows of a table. 1.00 is the winner.")
    parts += [_pilot_grid(against)] if against else []
    return facts, parts + [make(one) for make in (_curves, _ranking, _of_block) for one in of_blocks]
