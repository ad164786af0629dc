"""What several pages need: the tables that are compared, names of rows and cells, numbers as texts, grids and plots of one shape."""

import math
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from ..._core import InputError
from ..claims import LOCAL_SEARCH
from ..grid import Grid, Plot, Series
from ..table import Block, Cell, Column, Estimate, Row, Table, load

#: The tables of the papers that simulate alike, in the order of their pages.
COMPARED = ("hierarchical", "placeto", "placeto-generalization", "sgdp", "mars", "mars-pretraining")
Best = Optional[Tuple[float, str]]  # a mean, and the title of the column that has it


def compared(results: Path) -> List[Table]:
    """Those that were run."""
    tables = [load(name, results) for name in COMPARED if (results / name / "rows.csv").is_file()]
    if not tables:
        raise InputError(f"{results}: holds rows.csv of no table; `stowplan table run NAME --export` writes results/NAME.")
    return tables


def searched(tables: List[Table]) -> Iterator[Tuple[Table, Block]]:
    """The blocks in which placements compete. Where local search alone has a budget, the best found says little."""
    return ((table, block) for table in tables for block in table.blocks
            if any(column.sampled and column.key not in LOCAL_SEARCH for column in block.columns))


def repeats(table: Table, block: Block) -> bool:
    """Whether its rows are those of another block, with as many samples as the paper spent."""
    return any(one["key"] == block.key and one.get("budget") == "paper" for one in table.says.get("blocks", []))


def title_of(table: Table, block: Block) -> str:
    return f"{table.name}: {block.title}"


def name_of(table: Table, cell: Cell) -> str:
    """"NASNet-A, 4 GPUs, expert", behind it the block where it is not the first."""
    return f"{cell.row.name}, {cell.column.title}" + (f" ({cell.block.title})" if cell.block is not table.blocks[0] else "")


def shared_row(block: Block, row: Row) -> str:
    """Equal for rows that two tables share."""
    return f"{row.workload} on {row.cluster}, {block.rules}"


def shared_cell(block: Block, row: Row, column: Column) -> str:
    """Likewise. By title: columns of two tables may have one key and two agents."""
    return f"{shared_row(block, row)}: {column.title}"


def number(value: Optional[float], digits: int = 2) -> str:
    return "–" if value is None or math.isnan(value) else "OOM" if math.isinf(value) else f"{value:.{digits}f}"


def interval(estimate: Estimate, digits: int = 2) -> str:
    return f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"


def duration(seconds: float) -> str:
    """"812.5 ms", "4.204 s", "9 min 31 s", "2 h 05 min"."""
    if seconds >= 300:
        big, small, units = (round(seconds / 60), 60, ("h", "min")) if seconds >= 3600 else (round(seconds), 60, ("min", "s"))
        return f"{big // small} {units[0]} {big % small:02d} {units[1]}"
    value, unit = next(((seconds * factor, unit) for factor, unit in ((1, "s"), (1e3, "ms")) if seconds * factor >= 1), (seconds * 1e6, "us"))
    return f"{value:.{max(0, 4 - len(str(int(value))))}f} {unit}" if value else "0 s"


def by_row(table: Table, block: Block, rows: Sequence[Row], columns: Sequence[Column], text: Callable[[Row, Column], str], note: str,
           tip: Callable[[Row, Column], str] = lambda row, column: "") -> Grid:
    """A block's rows and columns, as on its own page."""
    return Grid(title_of(table, block), ["row"] + [column.title for column in columns],
                [[row.name] + [text(row, column) for column in columns] for row in rows], f"{note} {block.note}".strip(),
                [[row.workload] + [tip(row, column) for column in columns] for row in rows], folded=True)


def dots(title: str, x_label: str, categories: List[str], marks: Dict[str, Tuple[str, Dict[str, float]]], spoken: str, log_x: bool = False) -> Plot:
    """A line for each category, on it a mark for each series: by name its group and the number of each category."""
    series = [Series(name, [(value, float(categories.index(one))) for one, value in of.items()], group)
              for name, (group, of) in marks.items() if of]
    return Plot(title, x_label, "", series, kind="dots", categories=categories, log_x=log_x, spoken=spoken)


def best_of_each_kind(title: str, kinds: Dict[str, str], best: Dict[str, Dict[str, Any]], x_label: str, note: str) -> List[Any]:
    """Plot and grid of the best column of each kind; `kinds` names the group of each, `best` has them by block."""
    marks = {kind: (group, {block: of[kind][0] for block, of in best.items() if of[kind]}) for kind, group in kinds.items()}
    return [dots(title, x_label, list(best), marks, note, log_x=True),
            Grid(title, ["table"] + list(kinds), [[block] + [f"{one[0]:.2f} ({one[1]})" if one else "–" for one in of.values()]
                                                  for block, of in best.items()], note)]
