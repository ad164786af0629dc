"""How near the simulator is to what was published: fitted and predicted cells, verdicts about memory, the order of methods."""

import math
import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional, Set, Tuple

from .. import words
from ..grid import Grid
from ..table import Block, Cell, Row, Table, spec
from .common import name_of, number

TITLES = {"fitted": ("Fitted cells", "The machine's parameters were chosen to meet these cells, so they confirm nothing; what is left is what the "
                                     "few parameters could not reach."),
          "predicted": ("Predicted cells", "No parameter has seen these cells: they say how accurate the model is on this table.")}


@dataclass
class Closeness:
    """Cells of one kind and block beside their published numbers."""

    kind: str
    block: Block
    cells: List[Cell] = field(default_factory=list)
    seen: List[Cell] = field(default_factory=list)  # of predicted ones: left out, their number was fitted

    @property
    def errors(self) -> List[float]:
        return [abs(cell.ratio - 1) for cell in self.cells]

    @property
    def median(self) -> float:
        return statistics.median(self.errors)

    @property
    def largest(self) -> float:
        return max(self.errors)


def _was_fitted(table: Table, row: Row, column: str) -> bool:
    """Whether the parameters were fitted to this published number, in whatever block or row of the model. Measured prices have no parameters."""
    return spec(row.cluster)[1].get("prices") != "measured" and any(cell.kind == "fitted" and cell.row.model == row.model and cell.column.key == column for cell in table.cells)


def _repeats_fitted(table: Table, cell: Cell) -> bool:
    """Whether it has number and time of a fitted cell, as an expert that puts everything on one GPU."""
    others = [cell.block.at(cell.row.key, column.key) for column in cell.block.columns if column is not cell.column]
    return any((other.median, other.ratio) == (cell.median, cell.ratio) and _was_fitted(table, cell.row, other.column.key) for other in others)


def closeness(table: Table, block: Block, kind: str) -> Optional[Closeness]:
    """None where there are no such cells. A number that stands in several rows of one model is one measurement: the first counts."""
    close = Closeness(kind, block)
    stands: Set[Tuple[str, str, Optional[float]]] = set()
    for cell in block.cells.values():
        key = cell.column.key, cell.row.model, cell.published
        if cell.kind != kind or cell.ratio is None or key in stands:
            continue
        if kind == "predicted" and (_repeats_fitted(table, cell) or _was_fitted(table, cell.row, cell.column.key)):
            close.seen.append(cell)
        else:
            stands.add(key)
            close.cells.append(cell)
    return close if close.cells else None


def _close_grid(table: Table, close: Closeness) -> Grid:
    title, what = TITLES[close.kind]
    shorter, longer = sum(cell.ratio < 1 for cell in close.cells), sum(cell.ratio > 1 for cell in close.cells)
    left = f" {len(close.seen)} are left out whose published number was fitted, or that repeat a fitted one." if close.seen else ""
    return Grid(title + (f": {close.block.title}" if len(table.blocks) > 1 else ""), ["cell", "ours (s)", "published (s)", "ours is"],
                [[name_of(table, cell), words.seconds(cell.median), f"{cell.published:g}", words.faster(cell.ratio)] for cell in close.cells],
                f"{what}{left} Median distance over {len(close.cells)} cells: {100 * close.median:.0f} %. Ours is shorter in {shorter} and "
                f"longer in {longer}.", folded=True)


def _by_block(table: Table) -> List[Grid]:
    """What another machine or rule moves: published cells whose placement is fixed, in every block that has them."""
    cells = [cell for cell in table.blocks[0].cells.values() if cell.kind != "searched" and cell.ratio is not None]
    blocks = [block for block in table.blocks if any(cell is not None and cell.median for one in cells for cell in [_in(block, one)])]
    if len(blocks) < 2:
        return []
    rows = [[name_of(table, one), f"{one.published:g}"] + [f"{words.seconds(cell.median)}, {words.faster(cell.median / one.published)}"
            if cell is not None and cell.median else "–" for block in blocks for cell in [_in(block, one)]] for one in cells]
    return [Grid("Published cells by block", ["cell", "published (s)"] + [block.title for block in blocks], rows,
                 "Cells whose placement a rule fixes: seconds in each block, and how far from the published ones.", folded=True)]


def _in(block: Block, cell: Cell) -> Optional[Cell]:
    return block.cells.get((cell.row.key, cell.column.key))


# ---- memory

PLACED_BY = {"rule": "fixed placements", "scheduler": "partitioners and schedulers", "search": "agents", "learner": "agents"}


def _judged(table: Table) -> List[Cell]:
    """A CPU has memory for everything: that it fits there agrees with nobody."""
    return [cell for cell in table.cells if cell.same_verdict is not None and cell.agent != "cpu_only"]


def memory(table: Table) -> Dict[Tuple[str, str], List[Cell]]:
    """The cells of which both say whether they fit, by title of the block and by what placed them."""
    found: Dict[Tuple[str, str], List[Cell]] = {}
    for cell in _judged(table):
        found.setdefault((cell.block.title, PLACED_BY[cell.column.group]), []).append(cell)
    return found


def same(cells: Iterable[Cell]) -> str:
    """"11 of 12": how many are judged as published."""
    verdicts = [cell.same_verdict for cell in cells]
    return f"{sum(verdicts)} of {len(verdicts)}" if verdicts else "–"


def _memory_grids(table: Table) -> List[Grid]:
    counts = Grid("Does it fit?", ["rules", "placed by", "as published", "of the published OOMs"],
                  [[*key, same(cells), same(cell for cell in cells if math.isinf(cell.published))] for key, cells in memory(table).items()],
                  "How many cells fit, or do not, as published. Sizes were chosen so that fixed placements come out; what the published "
                  "partitioners and agents placed is not known. Blocks after the first ask the same published cells again under other rules and are no further "
                  "evidence.", folded=True)
    otherwise = Grid("Where memory is judged otherwise", ["cell", "ours", "published", "fullest device"], [
        [name_of(table, cell), words.seconds(cell.median or math.inf), words.seconds(cell.published), _fullest(cell)]
        for cell in _judged(table) if not cell.same_verdict], "Seconds per step.", folded=True)
    return [grid for grid in (counts, otherwise) if grid.rows]


def _fullest(cell: Cell) -> str:
    fields = cell.records[0].fields
    if not fields["fullest_peak_bytes"] or not fields["fullest_capacity_bytes"]:
        return "–"
    return f"{int(fields['fullest_peak_bytes']) / 1e9:.2f} GB of {int(fields['fullest_capacity_bytes']) / 1e9:.2f} GB on {fields['fullest_device']}"


# ---- order of methods

#: Beyond all times: out of memory. Fewer methods have no order. What is held to be good agreement.
BEYOND, FEWEST, GOAL = 1e30, 3, 0.6


@dataclass
class Order:
    """Kendall's tau-b against the paper over the rows of a block, in the mean."""

    block: Block
    rows: int = 0
    tau: float = 0.0
    pairs: int = 0
    otherwise: int = 0  # pairs that stand otherwise than in the paper
    column: str = ""  # most of them are with this column
    with_column: int = 0
    without: Optional[float] = None  # tau without it


def _tau(methods: List[Tuple[str, float, float]], order: Order, count: Dict[str, int]) -> Optional[float]:
    """Over the pairs that the paper tells apart; None where there are none."""
    agree = tied = pairs = 0
    for i, (name, published, ours) in enumerate(methods):
        for other, their_published, their_ours in methods[:i]:
            if published == their_published:
                continue
            same = ours != their_ours and (published < their_published) == (ours < their_ours)
            pairs, agree, tied = pairs + 1, agree + same, tied + (ours == their_ours)
            for title in () if same else (name, other):
                count[title] = count.get(title, 0) + 1
    order.pairs, order.otherwise = order.pairs + pairs, order.otherwise + pairs - agree
    if pairs == tied:
        return 0.0 if pairs else None
    return (agree - (pairs - tied - agree)) / math.sqrt(pairs * (pairs - tied))


def _order(block: Block, but: str) -> Order:
    order, count, taus = Order(block), Counter[str](), []
    for row in block.rows:
        methods = [(cell.column.title, min(cell.published, BEYOND), cell.median or BEYOND) for cell in block.of_row(row.key)
                   if cell.published is not None and cell.column.title != but]
        if len(methods) >= FEWEST:
            tau = _tau(methods, order, count)
            taus += [] if tau is None else [tau]
    order.rows = len(taus)
    order.tau = sum(taus) / len(taus) if taus else 0.0
    if count:
        order.column = max(sorted(count), key=count.__getitem__)
        order.with_column = count[order.column]
    return order


def orders(table: Table) -> List[Order]:
    made = [one for block in table.blocks for one in [_order(block, "")] if one.rows]
    for one in made:
        rest = _order(one.block, one.column) if one.column else None
        one.without = rest.tau if rest and rest.rows else None
    return made


def _order_grid(made: List[Order]) -> Grid:
    rows = [[one.block.title, number(one.tau), str(one.rows), f"{one.otherwise} of {one.pairs}",
             f"{one.column} ({one.with_column})" if one.column else "–", number(one.without)] for one in made]
    return Grid("Order of methods", ["rules", "tau", "rows", "pairs that stand otherwise", "most of them with", "tau without it"], rows,
                "Kendall's tau against the paper, in the mean over rows: 1 = all methods stand as published, 0 = no relation. The goal was "
                f"{GOAL}.", folded=True)


def sections(table: Table) -> List[Grid]:
    close = [one for kind in TITLES for block in table.blocks for one in [closeness(table, block, kind)] if one]
    made = [_close_grid(table, one) for one in close]
    of_blocks = orders(table)
    return made + _by_block(table) + ([_order_grid(of_blocks)] if of_blocks else []) + _memory_grids(table)
