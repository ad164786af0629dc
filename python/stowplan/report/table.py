"""A table as `stowplan table show` has put it together: cells.csv (a line each), rows.csv (a line a seed) and the table's own file.

Times are seconds for one step. A cell that was not run has no runtimes; a seed that found nothing that fits has an infinite one.
"""

import csv
import functools
import io
import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import yaml

from .. import _core
from .._core import InputError

csv.field_size_limit(sys.maxsize)

STATES = ("absent", "not run", "oom", "fits")
HERE = Path(__file__).resolve().parent
FILES = HERE / "papers" if (HERE / "papers").is_dir() else HERE.parents[2] / "tables" / "papers"  # installed, and in the source tree


def spec(agent: str) -> Tuple[str, Dict[str, str]]:
    """Name and parameters of "placeto(lr=0,preset=paper)"; nested parentheses stay in their value."""
    name, _, rest = agent.partition("(")
    parts = re.findall(r"(\w+)=((?:[^,()]|\([^()]*\))*)", rest)
    return name, dict(parts)


@dataclass(eq=False)
class Record:
    """One seed of one cell."""

    seed: int
    budget: int
    agent: str
    seconds: float
    samples: Optional[float]
    samples_to_best: Optional[float]
    curve: List[Tuple[float, float]]  # samples, best seconds so far; the last point is where the budget was spent
    machine_seconds: List[float]  # by point of the curve
    agent_seconds: List[float]
    placement: str
    fields: Dict[str, str]

    @functools.lru_cache(None)
    def cost_to(self, seconds: float) -> Tuple[float, float, float]:
        """Samples, seconds of the agent and of the machine until something this good was found; infinite where it never was."""
        for i, (samples, best) in enumerate(self.curve):
            if best <= seconds * (1 + 1e-12):  # seconds of rows.csv are decimal texts
                return samples, _at(self.agent_seconds, i), _at(self.machine_seconds, i)
        return math.inf, math.inf, math.inf

    @property
    def on_one_device(self) -> bool:
        return bool(re.fullmatch(r".[0-9]*", self.placement))


def text_of(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line} is not UTF-8: {error.reason}.") from None


def yaml_of(path: Path) -> Any:
    text = text_of(path)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        line = mark.line if mark else text.count("\n", 0, getattr(error, "position", 0))
        raise InputError(f"{path}: line {line + 1}: {getattr(error, 'problem', None) or getattr(error, 'reason', error)}.") from None


def lines_of(path: Path) -> Iterator[Dict[str, str]]:
    """Of a file that the program wrote, without the apostrophe that keeps a spreadsheet from reading a formula."""
    try:
        for number, line in enumerate(csv.DictReader(io.StringIO(text_of(path), newline=""), strict=True), 2):
            if None in line or None in line.values():
                raise InputError(f"{path}: line {number} has more or fewer fields than the header; the program writes the file anew.")
            yield {name: text[1:] if re.match(r"'[=+\-@\t\r]", text) else text for name, text in line.items()}
    except csv.Error as error:
        raise InputError(f"{path}: {error}; the program writes the file anew.") from None


def _at(values: List[float], i: int) -> float:
    return values[i] if i < len(values) else math.inf


def _number(text: str) -> Optional[float]:
    return float(text) if text else None


@dataclass
class Cell:
    """A row's cell of a column; `column` and `row` say what it is of."""

    block: "Block"
    row: "Row"
    column: "Column"
    agent: str
    kind: str  # fitted, predicted, searched
    state: str  # absent, not run, oom, fits
    note: str
    judged: bool  # whether its block knows limits of memory
    budget: int
    seeds: int
    feasible: int
    median: Any  # a number, or none; so are the next four
    low: Any
    high: Any
    bound: Any
    published: Any  # infinite = out of memory
    published_samples: Optional[float]
    samples: Optional[float]
    samples_to_best: Optional[float]
    samples_to_1pct: Optional[float]
    proposals: Optional[float]
    screens: Optional[float]
    settings_before: bool
    records: List[Record] = field(default_factory=list)

    @property
    def run(self) -> bool:
        return self.state in ("oom", "fits")

    @property
    def sampled(self) -> bool:
        return self.column.sampled

    @property
    def times(self) -> Tuple[bool, Dict[int, float]]:
        """As _core.estimate_ratio takes it."""
        return self.sampled, {record.seed: record.seconds for record in self.records}

    @property
    def ratio(self) -> Any:
        """Ours over the paper's, where both are numbers."""
        return self.median / self.published if self.median and self.published and math.isfinite(self.published) else None

    @property
    def same_verdict(self) -> Any:
        """Whether both say the same about memory."""
        if not self.judged or self.published is None or not self.run:
            return None
        return math.isinf(self.published) == (self.state == "oom")


@dataclass
class Column:
    """Of one block."""

    key: str
    title: str
    agent: str  # empty: each row has its own
    devices: str
    grouper: str  # its own, or empty
    searched: bool  # by an agent; else a placement that a rule fixes
    in_paper: bool
    sampled: bool
    learner: bool
    trained: bool
    zero_shot: bool
    last: bool
    own_samples: str
    pass_every: str

    @property
    def has_own_budget(self) -> bool:
        return bool(self.own_samples or self.pass_every)

    @property
    def untrained(self) -> bool:
        return spec(self.agent)[1].get("lr") == "0"

    @property
    def preset(self) -> str:
        return spec(self.agent)[1].get("preset", "")

    @property
    def group(self) -> str:
        """rule, scheduler, search or learner."""
        if self.learner:
            return "learner"
        if not self.searched:
            return "rule"
        return "search" if self.sampled else "scheduler"

    def differs_only_in(self, parameter: str, other: "Column") -> bool:
        def rest(column: "Column") -> Tuple[Any, ...]:
            name, named = spec(column.agent)
            named.pop(parameter, None)
            return (name, named, column.devices, column.grouper, column.own_samples, column.pass_every, column.trained,
                    column.zero_shot, column.last)
        return rest(self) == rest(other)


@dataclass
class Row:
    """Of one block."""

    key: str
    title: str
    gpus: int
    model: str
    workload: str
    cluster: str

    @property
    def name(self) -> str:
        return f"{self.title}, {self.gpus} GPUs" if self.gpus else self.title


@dataclass
class Block:
    """Rows and columns under one set of rules."""

    key: str
    title: str
    note: str
    rules: str
    more_graphs: bool  # its rows stand for a family of graphs
    rows: List[Row]
    columns: List[Column]
    cells: Dict[Tuple[str, str], Cell]  # by row and column

    def row(self, key: str) -> Row:
        return next(row for row in self.rows if row.key == key)

    def column(self, key: str) -> Any:
        return next((column for column in self.columns if column.key == key), None)

    def at(self, row: str, column: str) -> Cell:
        return self.cells[row, column]

    def of_row(self, row: str, but: str = "") -> List[Cell]:
        """The cells of a row that were run."""
        return [cell for column in self.columns if column.key != but for cell in [self.at(row, column.key)] if cell.run]

    def bound(self, row: str) -> Any:
        """What holds for all that search in this row: the smallest bound of its sampled cells; without such, of all its cells."""
        cells = [self.at(row, column.key) for column in self.columns]
        sampled = [cell.bound for cell in cells if cell.sampled and cell.bound is not None]
        return min(sampled or [cell.bound for cell in cells if cell.bound is not None], default=None)

    def fastest(self, row: str, group: str = "", wanted: Callable[[Cell], bool] = lambda cell: True) -> Optional[Cell]:
        """The cell with the smallest median, of all columns or of a group."""
        cells = [cell for cell in self.of_row(row) if cell.median is not None and group in ("", cell.column.group) and wanted(cell)]
        return min(cells, key=lambda cell: cell.median, default=None)

    def best(self, row: str, but: str = "") -> Optional[Tuple[float, Cell, Record]]:
        """The fastest placement that any seed of any column found."""
        found = None
        for column in self.columns:
            if column.key == but:
                continue
            cell = self.at(row, column.key)
            for record in cell.records:
                if math.isfinite(record.seconds) and (found is None or record.seconds < found[0]):
                    found = (record.seconds, cell, record)
        return found


class Table:
    """What a table says, and what its file says of it."""

    def __init__(self, name: str, folder: Path, file: Path, says: Dict[str, Any]) -> None:
        self.name = name
        self.folder = folder
        self.file = file
        self.says = says
        self.title: str = str(self.says.get("title", name))
        try:
            self.blocks = _blocks(folder, self.says)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder}: cells.csv or rows.csv is not as `stowplan table show {name}` writes it ({error}).") from None
        if not self.blocks:
            raise InputError(f"{folder / 'cells.csv'}: has no cells; `stowplan table run {name}` runs some.")

    @property
    def called(self) -> str:
        """What a command line calls it."""
        return self.name if self.file.parent == FILES else str(self.file)

    def block(self, key: str = "") -> Block:
        return self.blocks[0] if not key else next(block for block in self.blocks if block.key == key)

    @property
    def cells(self) -> Iterator[Cell]:
        return (cell for block in self.blocks for cell in block.cells.values())


def load(name: str, results: Path) -> Table:
    """A table of the papers by its name, or of a user by the path of its file; its cells are in `results`/NAME or in `results` itself."""
    file = Path(name) if name.endswith((".yaml", ".yml")) else FILES / f"{name}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in FILES.glob("*.yaml") if path.stem != "columns"))
        raise InputError(f"there is no table {name}; there are {known}.")
    says = yaml_of(file)
    if not isinstance(says, dict):
        raise InputError(f"{file}: is no file of a table, which begins with `format: stowplan.experiment`.")
    name = str(says.get("name", file.stem))
    folder = results if (results / "cells.csv").is_file() else results / name
    for wanted in ("cells.csv", "rows.csv"):
        if not (folder / wanted).is_file():
            raise InputError(f"{folder / wanted}: there is no such file; `stowplan table show {name}` writes it.")
    return Table(name, folder, file, says)


def _blocks(folder: Path, says: Dict[str, Any]) -> List[Block]:
    notes = {one["key"]: one.get("note", "").strip() for one in says.get("blocks", [])}
    records = _records(folder / "rows.csv")
    blocks: Dict[str, Block] = {}
    for at in lines_of(folder / "cells.csv"):
        def yes(name: str, at: Dict[str, str] = at) -> bool:
            return at[name] == "yes"
        block = blocks.setdefault(at["block"], Block(at["block"], at["block_title"], notes.get(at["block"], ""), at["rules"],
                                                     yes("more_graphs"), [], [], {}))
        if not block.rows or block.rows[-1].key != at["row"]:
            block.rows.append(Row(at["row"], at["row_title"], int(at["gpus"]), at["model"], at["workload"], at["cluster"]))
        column = block.column(at["column"])
        if column is None:
            column = Column(at["column"], at["column_title"], "" if yes("own_agent") else at["agent"], at["devices"], at["own_grouper"],
                            at["column_kind"] == "searched", yes("in_paper"), yes("sampled"), yes("learner"), yes("trained"), yes("zero_shot"), yes("last"),
                            at["own_samples"], at["pass_every"])
            block.columns.append(column)
        published = math.inf if at["published_s"] == "OOM" else _number(at["published_s"])
        block.cells[at["row"], at["column"]] = Cell(
            block, block.rows[-1], column, at["agent"], at["kind"], at["state"], at["note"], yes("memory_judged"), int(at["budget"]),
            int(at["seeds"]), int(at["feasible"]), _number(at["median_s"]), _number(at["low_s"]), _number(at["high_s"]),
            _number(at["bound_s"]), published, _number(at["published_samples"]), _number(at["samples"]),
            _number(at["samples_to_best"]), _number(at["samples_to_1pct"]), _number(at["proposals"]), _number(at["screens"]),
            yes("settings_before"),
            [one for one in records.get((at["block"], at["row"], at["column"]), []) if one.budget == int(at["budget"])])
    for block in blocks.values():
        for row in block.rows:
            for column in block.columns:
                cell = block.cells.get((row.key, column.key))
                if cell is None or cell.state not in STATES:
                    raise InputError(f"{folder / 'cells.csv'}: {block.key}:{row.key}/{column.key} is not there or has no known state; `stowplan table show` "
                                     "writes the file anew.")
                if cell.run and not cell.records:
                    raise InputError(f"{folder}: cells.csv has {block.key}:{row.key}/{column.key} and rows.csv does not; `stowplan table show` makes them one.")
                if cell.median == 0:
                    raise InputError(f"{folder}: {block.key}:{row.key}/{column.key} takes 0 s, which nothing can be compared with.")
    return list(blocks.values())


def _records(path: Path) -> Dict[Tuple[str, str, str], List[Record]]:
    found: Dict[Tuple[str, str, str], List[Record]] = {}
    for at in lines_of(path):
        if at["note"]:
            continue
        pairs = [point.split(":") for point in at["curve"].split()]
        curve = [(float(sample), float(best) / 1e6) for sample, best in pairs]
        if curve and at["samples"]:
            curve.append((float(at["samples"]), curve[-1][1]))
        found.setdefault((at["block"], at["row"], at["column"]), []).append(Record(
            int(at["seed"]), int(at["budget"]), at["agent"], float(at["runtime_us"]) / 1e6 if at["runtime_us"] else math.inf,
            _number(at["samples"]), _number(at["samples_to_best"]), curve, [float(x) for x in at["curve_machine_seconds"].split()],
            [float(x) for x in at["curve_agent_seconds"].split()], at["placement"], at))
    for of_cell in found.values():
        of_cell.sort(key=lambda record: record.seed)
    return found


# ---- comparisons

Estimate = _core.Estimate


def unequal(ours: Cell, theirs: Cell) -> str:
    """Why two searches are not compared: they had unlike numbers of samples, and neither's column says so."""
    if not (ours.sampled and theirs.sampled) or ours.budget == theirs.budget or ours.column.has_own_budget or theirs.column.has_own_budget:
        return ""
    return f"not compared: {ours.budget:,} samples against {theirs.budget:,}"


def over(ours: List[Cell], theirs: List[Cell]) -> Estimate:
    """How many times as long the best of `ours` takes as the best of `theirs`, with its 90 % interval."""
    return _core.estimate_ratio([cell.times for cell in ours if cell.run], [cell.times for cell in theirs if cell.run])


def mean_over(pairs: List[Tuple[Cell, Cell]], more_graphs: bool = False) -> Estimate:
    """Geometric mean of such ratios over rows."""
    return _core.estimate_mean_ratio([(ours.times, theirs.times) for ours, theirs in pairs], more_graphs)


def geometric_mean(values: List[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
