"""What a page folds: distance from the paper, memory, bounds, what searches cost, how the cells were made."""

import statistics
from typing import Any, Callable, Dict, List, Optional

from . import words
from .facts import Facts
from .grid import Grid
from .table import Block, Cell, Record, Table, median

SETUPS = (0, 10, 30)


def name_of(table: Table, cell: Cell) -> str:
    block = "" if len(table.blocks) == 1 else f"{cell.block.title}: "
    return f"{block}{cell.row.name}, {cell.column.title}"


def _close(facts: Facts, notes: Dict[str, str], kind: str) -> List[Grid]:
    grids = []
    for block in facts.table.blocks:
        cells, seen = facts.close(kind, block)
        if not cells:
            continue
        rows = [[f"{cell.row.name}, {cell.column.title}", words.seconds(cell.median), f"{cell.published:g}", words.faster(cell.ratio)] for cell in cells]
        title = notes[kind + "_title"] + (f" ({block.title})" if len(facts.table.blocks) > 1 else "")
        note = notes[kind].format(median=100 * statistics.median([abs(cell.ratio - 1) for cell in cells]), cells=len(cells), seen=len(seen))
        grids.append(Grid(title, ["cell", "ours [s]", "published [s]", "ours is"], rows, note, folded=True))
    return grids


def _memory(table: Table, notes: Dict[str, str]) -> List[Grid]:
    """Verdicts about memory that differ; a CPU has memory for everything, so it agrees with nobody."""
    judged = [cell for cell in table.cells if cell.same_verdict is not None and cell.agent != "cpu_only"]
    if not judged:
        return []

    def need(record: Record) -> str:
        peak, capacity = (float(record.fields[key] or 0) / 2**30 for key in ("fullest_peak_bytes", "fullest_capacity_bytes"))
        return f"{peak:.1f} of {capacity:.1f} GiB on {record.fields['fullest_device']}" if peak and capacity else "–"

    rows = [[name_of(table, cell), words.seconds(cell.median) + " s" if cell.median else "OOM", words.seconds(cell.published) + ("" if cell.state == "fits" else " s"),
             need(cell.records[0])] for cell in judged if not cell.same_verdict]
    note = notes["memory"].format(same=sum(bool(cell.same_verdict) for cell in judged), cells=len(judged))
    return [Grid(notes["memory_title"], ["cell that differs", "ours", "published", "fullest device"], rows, note, folded=True)]


def _gaps(table: Table, notes: Dict[str, str]) -> List[Grid]:
    rows = []
    for block in table.blocks:
        for row in block.rows:
            cell = min((one for one in block.of_row(row.key) if one.median is not None), key=lambda one: one.median, default=None)
            if cell is not None and cell.bound:
                name = row.name + (f" ({block.title})" if len(table.blocks) > 1 else "")
                rows.append([name, words.seconds(cell.median), cell.column.title, words.seconds(cell.bound), f"{100 * (cell.median / cell.bound - 1):.0f} %"])
    return [Grid(notes["gap_title"], ["workload", "best found [s]", "by", "proven bound [s]", "slower by"], rows, notes["gap"], folded=True)] if rows else []


def _time(seconds: Optional[float]) -> str:
    if seconds is None:
        return "–"
    size, unit = next((one for one in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")) if seconds >= one[0]), (1e-3, "ms"))
    return f"{seconds / size:.3g}\u00a0{unit}"


def _median_of(cell: Cell, value: Callable[[Dict[str, str]], float], *needs: str) -> Optional[float]:
    found = [value(record.fields) for record in cell.records if all(record.fields.get(need) for need in needs)]
    return median(found) if found else None


def _costs(table: Table, notes: Dict[str, str]) -> List[Grid]:
    """Samples of a search and three clocks, medians over seeds."""
    def count(value: Optional[float]) -> str:
        return "–" if value is None else words.count(value)

    grids = []
    for block in table.blocks:
        rows = []
        for cell in block.cells.values():
            if not cell.sampled or not cell.samples:
                continue
            machine = _median_of(cell, lambda f: float(f["machine_seconds"]), "machine_seconds")
            rows.append([f"{cell.row.name}, {cell.column.title}", *map(count, (
                cell.samples_to_1pct, cell.samples_to_best, cell.samples, cell.proposals, cell.screens, cell.published_samples)),
                _time(_median_of(cell, lambda f: float(f["wall_seconds"]) - float(f["simulator_seconds"]), "wall_seconds", "simulator_seconds")),
                _time(_median_of(cell, lambda f: float(f["simulator_seconds"]), "simulator_seconds")),
                *(_time(None if machine is None else machine + setup * cell.samples) for setup in SETUPS)])
        if rows:
            title = notes["cost_title"] + (f" ({block.title})" if len(table.blocks) > 1 else "")
            header = ["search", "samples to within 1 %", "to the best", "in all", "proposals", "surrogate evaluations", "published samples", "agent",
                      "simulator", *(f"machine, set-up {setup} s" for setup in SETUPS)]
            used = [i for i in range(len(header)) if any(row[i] != "–" for row in rows)]
            grids.append(Grid(title, [header[i] for i in used], [[row[i] for i in used] for row in rows], notes["cost"], folded=True))
    return grids


def sections(facts: Facts, notes: Dict[str, str]) -> List[Grid]:
    table = facts.table
    return _close(facts, notes, "predicted") + _close(facts, notes, "fitted") + _memory(table, notes) + _gaps(table, notes) + _costs(table, notes)


def not_run(block: Block) -> List[str]:
    return sorted({f"{cell.row.name}, {cell.column.title}: {cell.note}" for cell in block.cells.values() if cell.state == "not run"})


def made(table: Table) -> Dict[str, Any]:
    """How the cells were made: a template has the words."""
    records = [record for cell in table.cells for record in cell.records]

    def all_of(field: str, length: int = 100) -> List[str]:
        return sorted({record.fields[field][:length] for record in records if record.fields.get(field)})

    return {
        "revisions": all_of("revision", 12), "dates": all_of("date", 10), "machines": all_of("machine"), "prices": all_of("cost_model"),
        "clusters": sorted({row.cluster for block in table.blocks for row in block.rows}),
        "budgets": sorted({cell.budget for cell in table.cells if cell.run and cell.sampled and cell.budget > 1}),
        "seeds": sorted({len(cell.records) for cell in table.cells if cell.run and cell.sampled}),
        "hours": sum(float(record.fields["wall_seconds"] or 0) for record in records) / 3600,
        "fitted": [fit.get("kind") for fit in table.says.get("fit", [])],
        "presets": sorted({f"{cell.column.title}: {cell.column.preset or 'tuned'}" for cell in table.cells if cell.column.learner and cell.run}),
        "not_run": [text for block in table.blocks for text in not_run(block)]}
