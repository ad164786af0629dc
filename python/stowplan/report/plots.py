"""Plots as a page draws them: axes with their ticks are worked out here, page.js sets marks and text with D3."""

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import words
from .grid import Plot, Series
from .table import Block, Cell, Record, Row

MOST_TICKS = 7
#: Within a power of ten, from few to many.
STEPS = ([1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9])


def number(value: float) -> str:
    """At most three digits: "0.05", "1.5", "20k"."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def log_ticks(low: float, high: float) -> List[float]:
    """At least three where the range allows; the densest set that has no more than MOST_TICKS."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    best: List[float] = []
    for steps in STEPS:
        ticks = [tick for power in powers for step in steps for tick in [step * 10.0**power] if low <= tick * 1.0001 and tick <= high * 1.0001]
        if len(ticks) <= MOST_TICKS or len(best) < 3:
            best = ticks if len(ticks) <= MOST_TICKS else ticks[::math.ceil(len(ticks) / MOST_TICKS)]
    return best if len(best) >= 3 else linear_ticks(low, high)


def linear_ticks(low: float, high: float) -> List[float]:
    step = 10.0**math.floor(math.log10((high - low) / 2))
    step *= next(factor for factor in (5, 2, 1, 0.5, 0.2) if (high - low) / (step * factor) >= 3.5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = [round(i * step, 12) for i in range(first, last + 1)]
    return ticks if len(ticks) >= 3 else [low, (low + high) / 2, high]


def axis(label: str, values: Sequence[float], log: bool) -> Dict[str, Any]:
    """With room around the values."""
    values = [value for value in values if math.isfinite(value) and (value > 0 or not log)] or [1.0]
    low, high = min(values), max(values)
    if log:
        room = max(1.02, (high / low)**0.04)
        low, high = low / room, high * room
        ticks = log_ticks(low, high)
    else:
        room = 0.04 * (high - low) or abs(high) or 1.0
        low, high = low - (room if low else 0), high + room
        ticks = linear_ticks(low, high)
    return {"label": label, "log": log, "domain": [low, high], "ticks": [[tick, number(tick)] for tick in ticks]}


def _finite(values: Sequence[Optional[float]]) -> List[Optional[float]]:
    return [value if value is not None and math.isfinite(value) else None for value in values]


def drawing(plot: Plot) -> Dict[str, Any]:
    """What page.js needs. A point at infinity does not fit; of dots an interval is in x, else in y."""
    dots = plot.kind == "dots"
    spread = [value for series in plot.series for value in (*series.low, *series.high) if value is not None]
    xs = [x for series in plot.series for x, _ in series.points] + (spread if dots else [])
    ys = [y for series in plot.series for _, y in series.points] + ([] if dots else spread)
    y: Dict[str, Any] = {"label": plot.y_label, "log": False, "domain": [0, len(plot.categories)],
                         "ticks": [[i, name] for i, name in enumerate(plot.categories)]} if dots else axis(plot.y_label, ys, plot.log_y)
    return {"kind": plot.kind, "x": axis(plot.x_label, xs, plot.log_x), "y": y,
            "series": [{"name": series.name, "group": series.group, "points": [_finite(point) for point in series.points],
                        "low": _finite(series.low), "high": _finite(series.high)} for series in plot.series]}


# ---- what tables plot


@dataclass
class Marks:
    """What a table's finding asks for: which columns, and over what their times are taken."""

    columns: Dict[str, str]  # key: name
    over: str = ""  # a column, "bound", or empty for seconds
    search: bool = True  # the best search too
    label: str = "seconds per training step"


def _base(block: Block, row: Row, over: str) -> Optional[float]:
    return 1.0 if not over else block.bound(row.key) if over == "bound" else block.at(row.key, over).median


def by_row(block: Block, marks: Marks) -> Plot:
    """A line for each workload: ours and published of some columns, and the best search."""
    series: List[Series] = []
    for key, name in list(marks.columns.items()) + ([("", "best search")] if marks.search else []):
        column = block.column(key) if key else None
        ours, theirs = Series(name, [], column.group if column else "best"), Series(name, [], "paper")
        for i, row in enumerate(block.rows):
            cell = block.at(row.key, key) if key else block.fastest(row.key, "search")
            base = _base(block, row, marks.over)
            if cell is None or base is None:
                continue
            if cell.run:
                ours.points.append((math.inf if cell.median is None else cell.median / base, i))
                ours.low.append(cell.low / base if cell.low and math.isfinite(cell.low) else None)
                ours.high.append(cell.high / base if cell.high and math.isfinite(cell.high) else None)
            if key and cell.published is not None and not marks.over:
                theirs.points.append((cell.published, i))
        series += [one for one in (theirs, ours) if one.points]
    names = [row.name for row in block.rows]
    return Plot("", marks.label, "", series, "dots", names, log_x=True,
                spoken=f"For each of {len(names)} workloads: {words.listed([one.name for one in series if one.group != 'paper'])}.")


def by_column(columns: List[Tuple[str, str]], values: List[Tuple[str, str, Dict[str, Any]]], label: str, order: bool = True) -> Plot:
    """A line for each agent. `values`: a series each, of name, group and (value, low, high) by column."""
    if order:
        first = values[0][2]
        columns = sorted(columns, key=lambda column: first.get(column[0], (math.inf,))[0])
    series = []
    for name, group, by_key in values:
        one = Series(name, [], group)
        for i, (key, _) in enumerate(columns):
            if key in by_key:
                value, low, high = by_key[key]
                one.points.append((value, i))
                one.low.append(low)
                one.high.append(high)
        series.append(one)
    return Plot("", label, "", series, "dots", [name for _, name in columns], log_x=True,
                spoken=f"For each of {len(columns)} agents: {words.listed([name for name, _, _ in values])}.")


def _median_record(cell: Cell) -> Optional[Record]:
    """The seed in the middle; of an even number the later one."""
    found = sorted((record for record in cell.records if math.isfinite(record.seconds) and record.curve), key=lambda record: record.seconds)
    return found[len(found) // 2] if found else None


def curves(block: Block, row: Row, keys: Sequence[str], label: str) -> Optional[Plot]:
    """Best seconds so far against samples: the named columns, then the best search and local search, six at most."""
    cells = [block.cells.get((row.key, key)) for key in keys]
    cells += [block.fastest(row.key, "search"), block.cells.get((row.key, "local_search"))]
    series: List[Series] = []
    for cell in filter(None, cells):
        record = _median_record(cell) if cell.sampled else None
        if record is not None and len(record.curve) > 1 and all(one.name != cell.column.title for one in series) and len(series) < 6:
            series.append(Series(cell.column.title, record.curve, cell.column.group))
    if not series:
        return None
    top = 2 * max(one.points[-1][1] for one in series)  # what is far above the ends is cut off
    for one in series:
        kept = [point for point in one.points if point[1] <= top] or one.points[-1:]
        before = [point for point in one.points if point[1] > top]
        one.points = ([(kept[0][0], top)] if before else []) + kept
    return Plot(row.name, "samples", label, series, "steps", log_x=True, log_y=True,
                spoken="; ".join(f"{one.name} ends at {words.seconds(one.points[-1][1])} s" for one in series))


def lanes(row: Row, record: Record, by: str) -> Optional[Dict[str, Any]]:
    """When each device works and sends in one placement, in equal parts of the step."""
    devices: List[Any] = []
    for lane in record.fields["timeline"].split():
        name, *strips = lane.split(":")
        if len(strips) == 2 and set("".join(strips)) - {"0"}:
            devices.append([name] + [[int(part) / 9 for part in strip] for strip in strips])
    if not devices:
        return None
    told = "; ".join(f"{name} works {sum(works) / len(works):.0%}, sends {sum(sends) / len(sends):.0%} of the time"
                     for name, works, sends in devices).replace("%", " %")
    end = record.seconds
    return {"kind": "lanes", "title": f"{row.name}: {by}, {words.seconds(end)} s", "spoken": told, "devices": devices,
            "x": {"label": "seconds", "log": False, "domain": [0, end], "ticks": [[tick, number(tick)] for tick in linear_ticks(0, end)]},
            "y": {"label": "", "log": False, "domain": [0, len(devices)], "ticks": [[i, one[0]] for i, one in enumerate(devices)]}}
