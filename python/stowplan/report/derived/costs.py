"""What a search costs, in samples and on three clocks, how far the best found is from the bound, and columns beside one another."""

import math
import statistics
from typing import Any, Dict, List, Optional, Tuple

from .. import words
from ..grid import Grid
from ..table import Block, Cell, Column, Estimate, Table, mean_over
from .common import duration, name_of, number

#: Seconds that one sample costs on a machine beside its steps.
SETUPS = (0, 10, 30)


def clocks(cell: Cell) -> Optional[Tuple[float, ...]]:
    """Seconds of the agent, of the simulator, and of the machine by set-up; medians over seeds of a whole search."""
    keys = ("wall_seconds", "simulator_seconds", "machine_seconds")
    seeds = [[float(record.fields[key]) for key in keys] for record in cell.records if all(record.fields[key] for key in keys)]
    if not cell.column.sampled or not seeds:
        return None
    machine = statistics.median([one[2] for one in seeds])
    return (statistics.median([one[0] - one[1] for one in seeds]), statistics.median([one[1] for one in seeds]),
            *(machine + setup * (cell.samples or 0) for setup in SETUPS))


def _clocks_grid(table: Table) -> Optional[Grid]:
    rows = [[name_of(table, cell)] + [duration(one) if math.isfinite(one) else "–" for one in seconds]
            for cell in table.cells for seconds in [clocks(cell)] if seconds]
    machines = {record.fields["machine"] for cell in table.cells for record in cell.records
                if record.fields["simulator_seconds"] and record.fields["machine_seconds"]}
    several = f" The cells were run on {len(machines)} machines ({words.listed(sorted(machines))}), so seconds of agent and simulator compare " \
        "badly; counts of samples do not depend on a machine's speed." if len(machines) > 1 else ""
    return Grid("Three clocks", ["cell", "agent", "simulator"] + [f"machine, set-up {setup} s" for setup in SETUPS], rows,
                "Medians over seeds of a whole search. Agent: its own work, learning included. Simulator: what stowplan needed. Machine: what "
                "it would have taken to measure the same samples on the simulated machine, with 10 steps of at most 100 s each and a set-up of "
                f"0, 10 or 30 s; a placement that does not fit costs its set-up alone.{several}", folded=True) if rows else None


def _samples_grid(table: Table) -> Optional[Grid]:
    cells = [cell for cell in table.cells if cell.column.sampled and cell.samples is not None]
    approximate = any(cell.screens is not None for cell in cells)

    def text(number: Optional[float]) -> str:
        return "–" if number is None else words.count(number)

    header = ["cell", "to within 1 %", "to the best", "in all", "proposals in all", "published", "approximate evaluations"]
    rows = [[name_of(table, cell), *map(text, (cell.samples_to_1pct, cell.samples_to_best, cell.samples, cell.proposals, cell.published_samples,
                                               cell.screens))] for cell in cells]
    return Grid("Samples", header[:6 + approximate], [row[:6 + approximate] for row in rows],
                "A sample is one simulation of one placement; a proposal is a placement that an agent stands for (one for each episode of a "
                "learner that moves one group at a time); approximate evaluations choose what is sampled and are no samples. Medians over "
                "seeds; within 1 %: the first sample within 1 % of the final best.", folded=True) if cells else None


def _bound_grid(table: Table) -> Optional[Grid]:
    best = [cell for block in table.blocks for row in block.rows for cell in [block.fastest(row.key)] if cell and cell.bound]
    return Grid("Best found and the proven bound", ["row", "best found (s)", "by", "bound (s)", "best / bound"],
                [[cell.row.name + ("" if cell.block.key == "native" else f", {cell.block.title}"), words.seconds(cell.median), cell.column.title,
                  words.seconds(cell.bound), number(cell.median / cell.bound)] for cell in best],
                "The bound holds in this model for every placement on the devices that the column may use. The last column says how much better "
                "any agent could be at most.", folded=True) if best else None


# ---- columns beside one another


def mean_against(block: Block, column: Column, base: Column) -> Tuple[Optional[Estimate], str]:
    """How many times as long, over all rows; without a mean the reason."""
    pairs = [(block.at(row.key, column.key), block.at(row.key, base.key)) for row in block.rows]
    if not all(cell.run for pair in pairs for cell in pair):
        return None, "not run in all rows"
    if any(ours.sampled and theirs.sampled and ours.budget != theirs.budget for ours, theirs in pairs):
        return None, "not the same number of samples"
    no_fit = [ours.row.title for ours, theirs in pairs if ours.median is None or theirs.median is None]
    if no_fit:
        return None, f"{base.title} does not fit in {words.listed(no_fit)}"
    mean = mean_over(pairs, block.more_graphs)
    return (None, "no seed that all cells have") if mean.unpaired or math.isnan(mean.value) else (mean, "")


def means_over(table: Table) -> Optional[Grid]:
    """Each column against those that the table's file names `over`, best first."""
    block = table.blocks[0]
    bases = [block.column(key) for key in table.says.get("over", [])]
    lines: List[Any] = []
    no_fit: Dict[int, List[str]] = {}
    for column in block.columns:
        cells = [block.at(row.key, column.key) for row in block.rows]
        lost = sum(cell.median is None for cell in cells) if all(cell.run for cell in cells) else 0
        if lost:
            no_fit.setdefault(lost, []).append(column.title)
        elif any(cell.run for cell in cells):
            lines.append((column, [mean_against(block, column, base) for base in bases]))
    lines.sort(key=lambda line: line[1][0][0].value if line[1] and line[1][0][0] else math.inf)

    def text(column: Column, base: Column, mean: Optional[Estimate]) -> str:
        return "–" if mean is None or column is base else words.faster(mean.value)

    def tip(column: Column, base: Column, mean: Optional[Estimate], why: str) -> str:
        return "itself" if column is base else words.compared(mean) if mean else why

    out = "".join(f" Out of memory in {rows} of {len(block.rows)} rows: {', '.join(titles)}." for rows, titles in sorted(no_fit.items()))
    return Grid("Beside one another", ["placed by"] + [f"against {base.title}" for base in bases],
                [[column.title] + [text(column, base, mean) for base, (mean, _) in zip(bases, means)] for column, means in lines],
                f"Step time, geometric mean over {len(block.rows)} rows.{out}",
                [[""] + [tip(column, base, *one) for base, one in zip(bases, means)] for column, means in lines]) if bases else None


def sections(table: Table) -> List[Any]:
    return [grid for grid in (_bound_grid(table), _samples_grid(table), _clocks_grid(table)) if grid]
