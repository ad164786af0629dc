"""Puts a table's page together: the finding that a person wrote, a plot, the table, its claims, and what is folded."""

import csv
import functools
import io
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import jinja2
import yaml
from markupsafe import Markup, escape

from . import derived, plots, studies, words
from .. import _core
from .._core import InputError
from .claims import UNLEARNED, Verdict, judge
from .facts import WORDS, Facts
from .gate import Gate
from .grid import Plot
from .made import made
from .table import FILES, HERE, Block, Cell, Column, Row, Table, load, spec, yaml_of

D3 = HERE / "d3.js" if (HERE / "d3.js").is_file() else HERE.parents[2] / "output" / "data" / "vendor" / "d3.js"
TEMPLATES = HERE / "templates"
#: Of a paper's table or one of ours that fits on a screen as it is.
MOST_COLUMNS = 12


# ---- filters

#: What Markdown, with formulas, reads as more than itself.
MARKS = r"[|<>&`*_\\[\]$]"


def latex(text: Any) -> str:
    """Every character that LaTeX reads as more than itself."""
    marks = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
             "|": r"\textbar{}", "\n": " ", "–": "--"}
    return "".join(marks.get(c, "\\" + c if c in "{}$&#_%" else c) for c in str(text))


def cell_of_csv(text: Any) -> Any:
    """No spreadsheet takes it for a formula."""
    text = str(text)
    if text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(text)
        except ValueError:
            return "'" + text
    return text


def plain(text: Any) -> str:
    """In a table of Markdown."""
    return re.sub(rf"({MARKS})", r"\\\1", str(text)).replace("\n", " ")


def markdown(text: str) -> Markup:
    """Paragraphs, code and links: all that findings use."""
    def line(paragraph: str) -> str:
        # What a file says was made plain before it came into a sentence.
        html = str(escape(re.sub(rf"\\({MARKS})", lambda found: f"\0{ord(found[1])};", " ".join(paragraph.split()))))
        html = re.sub(r"`([^`]+)`", r"<code>\1</code>", html)
        html = re.sub(r"\[([^\]]+)\]\(((?:https?://|[\w./#-])[^)\s:]*)\)", r'<a href="\2">\1</a>', html)
        return re.sub(r"\0(\d+);", r"&#\1;", html)
    return Markup("".join(f"<p>{line(one)}</p>" for one in re.split(r"\n\s*\n", text.strip()) if one.strip()))


class Terms:
    """Explains each term where it first stands on a page; forms of one term are split by "|"."""

    def __init__(self, terms: Dict[str, str]) -> None:
        self.terms = dict(terms)

    def __call__(self, text: Any) -> Markup:
        html = str(escape(text))
        for term in sorted(self.terms, key=len, reverse=True):
            pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, term.split('|')))})(?![\w-])(?![^<]*>)(?![^<]*</abbr>)", re.IGNORECASE)
            if pattern.search(html):
                tip = str(escape(self.terms.pop(term)))
                html = pattern.sub(lambda found: f'<abbr tabindex="0" data-tip="{tip}">{found[1]}</abbr>', html, count=1)
        return Markup(html)


@functools.lru_cache(None)
def environment() -> jinja2.Environment:
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(str(TEMPLATES)), undefined=jinja2.StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True,
                              autoescape=lambda name: bool(name) and name.endswith(".html"))
    made.filters.update(latex=latex, plain=plain, markdown=markdown, seconds=words.seconds, faster=words.faster, compared=words.compared,
                        longer=words.longer, count=words.count, json=json.dumps)
    return made


@functools.lru_cache(None)
def _words() -> Any:
    return yaml_of(TEMPLATES / "words.yaml")


# ---- the table


@dataclass
class Shown:
    """One cell."""

    text: str
    published: str = ""
    letter: str = ""  # f fitted, p predicted, ! memory judged otherwise
    tip: str = ""
    value: Optional[float] = None
    by: str = ""


@dataclass
class Results:
    title: str
    header: List[str]
    rows: List[Tuple[str, List[Shown]]]
    note: str = ""
    means: int = 0  # columns in front that are means over workloads
    tips: Dict[str, str] = field(default_factory=dict)  # by title of a column of cells.csv

    @property
    def flips(self) -> bool:
        """Whether it lies on its side on a phone, where few workloads fit and many columns do not."""
        return len(self.rows) <= 6 < len(self.header)


def unit(row: Row, label: str) -> str:
    """Inference trains nothing."""
    return "seconds per pass" if "mode=inference" in row.workload else label


def _tip(cell: Cell, label: str) -> str:
    time = f"{words.seconds(cell.median)} {unit(cell.row, label).replace('seconds', 's', 1)}" if cell.median else "does not fit"
    lines = [f"{cell.kind}: {time}"]
    if cell.sampled and cell.records:
        lines.append(f"median of {cell.seeds} seed{'' if cell.seeds == 1 else 's'}"
                     + (f", {words.seconds(cell.low)} to {words.seconds(cell.high)} s" if cell.low != cell.high else ""))
        lines += [f"{cell.feasible} of them fit"] if cell.feasible < cell.seeds else []
        lines += [f"{words.count(cell.samples)} samples"] if cell.samples else []
    lines += [f"{words.faster(cell.ratio)} than published"] if cell.ratio else []
    lines += ["ours and the paper say different things about memory"] if cell.same_verdict is False else []
    if cell.records:
        lines += [f"agent: {cell.records[0].agent}", f"again: {cell.records[0].fields['command']}"]
    return "\n".join(lines)


@functools.lru_cache(None)
def _agents() -> Dict[str, str]:
    return {agent["name"]: agent["what"] for agent in _core.agents()}


def explain(columns: Sequence[Column]) -> Dict[str, str]:
    """What each places by, and on what."""
    tips = {}
    for column in columns:
        what = _agents().get(spec(column.agent)[0], "")
        tips[column.title] = "\n".join(filter(None, (what, column.agent and f"agent: {column.agent}", column.grouper and f"groups: {column.grouper}",
                                                     column.devices and f"devices: {column.devices}")))
    return tips


def show(cell: Cell, label: str) -> Shown:
    if not cell.run:
        return Shown("–" if cell.state == "absent" else "not run", tip=cell.note)
    published = "" if cell.published is None else "OOM" if math.isinf(cell.published) else f"{cell.published:g}"
    letter = cell.kind[0] if cell.kind in ("fitted", "predicted") else ""
    return Shown(words.seconds(cell.median) if cell.median else "OOM", published, letter + ("!" if cell.same_verdict is False else ""),
                 _tip(cell, label), cell.median)


def by_workload(block: Block, columns: Sequence[Column], label: str) -> Results:
    """Some columns, the best search and the bound; a line for each workload."""
    searches = any(column.group == "search" and column not in columns for column in block.columns)
    rows = []
    for row in block.rows:
        cells = [show(block.at(row.key, column.key), label) for column in columns]
        best = block.fastest(row.key, "search")
        if searches and best:
            cells.append(Shown(words.seconds(best.median), tip=_tip(best, label), value=best.median, by=best.column.title))
        elif searches:
            cells.append(Shown("–"))
        bound = block.bound(row.key)
        rows.append((row.name, cells + [Shown(words.seconds(bound), value=bound)]))
    header = ["workload", *(column.title for column in columns), *(["best search"] if searches else []), "proven bound"]
    return Results(block.title, header, rows, block.note, tips=explain(block.columns))


def by_agent(table: Table, block: Block, label: str) -> Results:
    """Every cell; a line for each agent."""
    rows = [(column.title, [show(block.at(row.key, column.key), label) for row in block.rows]) for column in block.columns]
    bounds = [block.bound(row.key) for row in block.rows]
    rows.append(("proven bound", [Shown(words.seconds(bound), value=bound) for bound in bounds]))
    title = "All agents" + (f": {block.title}" if len(table.blocks) > 1 else "")
    return Results(title, ["placed by"] + [row.name for row in block.rows], rows, block.note, tips=explain(block.columns))


# ---- one page

NONE: Any = None
NOTHING: Any = ()


@dataclass
class Line:
    """Of the table of claims: one claim, or all that differ in one thing alone."""

    claim: str
    ours: str
    counts: Dict[str, int]
    see: str = ""
    members: List[Verdict] = field(default_factory=list)


def in_lines(verdicts: Sequence[Verdict]) -> List[Line]:
    families: Dict[str, List[Verdict]] = {}
    for i, verdict in enumerate(verdicts):
        families.setdefault(verdict.family or f"\0{i}", []).append(verdict)
    lines, told = [], {""}
    for members in families.values():
        first = members[0]
        see = "" if first.see in told else first.see  # once for all lines that have it
        told.add(see)
        counts = {word: n for word in WORDS for n in [sum(one.word == word for one in members)] if n}
        if len(members) == 1:
            lines.append(Line(first.claim, first.ours, counts, see))
            continue
        judged: List[Any] = [one.ratio for one in members if one.word != UNLEARNED]
        ours = "" if not judged or None in judged else f"{words.faster(min(judged))} to {words.faster(max(judged))}"
        lines.append(Line(first.family, ours, counts, see, members))
    return lines


class Page:
    """What the templates show; of a table that is made of others no more than this."""

    table = facts = made = results = brief = NONE
    verdicts = claims = first_claims = curves = lanes = all_cells = assumptions = NOTHING
    label = source = ""

    def __init__(self, name: str, facts: Dict[str, Any], parts: List[Any]) -> None:
        self.name = self.called = name
        self.parts = parts  # what is worked out of other modules
        self.says, self.lead = self._finding(facts)
        self.title: str = self.says.get("title") or _words()["titles"].get(name, name.capitalize())
        self.terms = Terms(_words()["terms"])
        self.cards: List[Dict[str, str]] = self.says.get("cards", [])

    def _finding(self, facts: Dict[str, Any]) -> Tuple[Dict[str, Any], str]:
        """The finding's file: what it asks of the page in front, between lines of three dashes, then the lead."""
        own = f"findings/{self.name}.md" if self.table is None or self.table.file.parent == FILES else ""  # of a user's none is known
        sentences = environment().overlay(trim_blocks=False, lstrip_blocks=False)
        template = sentences.get_template(own if own and (TEMPLATES / own).is_file() else "findings/default.md")
        text = template.render(words=words, studies=studies, **facts).lstrip()
        front, lead = re.findall(r"\A(?:---\n(.*?)\n---\n)?(.*)\Z", text, re.DOTALL)[0]
        return yaml.safe_load(front) or {}, lead.strip()

    @functools.cached_property
    def plot(self) -> Optional[Plot]:
        return next((part for part in self.parts if isinstance(part, Plot)), None)

    @property
    def sections(self) -> List[Any]:
        return [part for part in self.parts if part is not self.plot]

    @property
    def summary(self) -> str:
        """For the index: what the finding says, else the lead's first sentence."""
        return self.says.get("summary") or re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(self.lead.split()))[0]


class OfTable(Page):
    """Of a table that was run."""

    def __init__(self, table: Table, gate: Gate) -> None:
        self.table = table
        self.verdicts = judge(table, gate)
        self.facts = Facts(table, self.verdicts, gate)
        units = derived.units.facts(table) if table.says.get("analysis") == "units" else {}
        super().__init__(table.name, {"f": self.facts, "table": table, **units}, derived.sections(table))
        self.called, self.title = table.called, table.title
        self.label = self.says.get("per", "seconds per training step")
        self.made = made(table)
        self.assumptions = table.says.get("assumptions", [])
        self.source = table.says.get("published_from", "")

    @functools.cached_property
    def plot(self) -> Plot:
        says, block = self.says.get("plot", {}), self.table.blocks[0]
        if not says and self.parts and isinstance(self.parts[0], Plot):
            return self.parts[0]
        if says.get("by") == "pretraining":
            return self._of_pretraining()
        if says.get("by") == "agent":
            return self._of_agents(says)
        columns = says.get("columns") or {column.key: column.title for column in self._columns(block)[:4]}
        for key in columns:
            self._column(key)
        return plots.by_row(block, plots.Marks(columns, says.get("over", ""), says.get("search", True), says.get("label", self.label)))

    def _of_agents(self, says: Dict[str, Any]) -> Plot:
        """In % slower than a column, or than one of each; in seconds of the first row without one."""
        block = self.table.blocks[0]
        against: Dict[str, str] = says.get("against", {})
        wanted = says.get("agents") or list(against) or [column.key for column in block.columns]
        columns = [(key, self._column(key).title) for key in wanted]
        if "over" not in says and not against:
            row = block.rows[0]
            cells = [block.at(row.key, key) for key in wanted]
            ours = {cell.column.key: (cell.median, cell.low, cell.high) for cell in cells if cell.median}
            paper = {cell.column.key: (cell.published, None, None) for cell in cells if cell.published}
            return plots.by_column(columns, [("ours", "learner", ours)] + ([("published", "paper", paper)] if paper else []), self.label)
        values: List[Any] = []
        for one in self.table.blocks:
            by_key = {}
            for key in wanted:
                base = against.get(key, says.get("over"))
                if len(self.facts.pairs(key, base, one.key)) == len(one.rows):
                    estimate = self.facts.ratio(key, base, one.key)
                    ends = [100 * (end - 1) if estimate.sampled and not estimate.open else None for end in (estimate.low, estimate.high)]
                    by_key[key] = (100 * (estimate.value - 1), *ends)
            values.append((one.title if len(self.table.blocks) > 1 else "ours", f"b{len(values)}", by_key))
        columns = [column for column in columns if any(column[0] in by_key for _, _, by_key in values)]
        plot = plots.by_column(columns, values, says["label"])
        plot.log_x = False
        return plot

    def _of_pretraining(self) -> Plot:
        study = studies.Pretraining(self.table)
        rows = self.table.blocks[0].rows
        values: List[Any] = []
        for clock in studies.CLAIMED_CLOCKS:
            estimates = [study.of_row(row, clock) for row in rows] + [study.mean(clock)]
            percents = {str(i): tuple(100 * (x - 1) for x in (one.value, one.low, one.high)) for i, one in enumerate(estimates) if one}
            values.append((clock, f"b{len(values)}", percents))
        values.append(("published", "paper", {str(len(rows)): (-13.2, None, None)}))
        names = [(str(i), name) for i, name in enumerate([row.name for row in rows] + ["geometric mean"])]
        plot = plots.by_column(names, values, self.says["plot"]["label"], order=False)
        plot.log_x = False
        return plot

    def _column(self, key: str) -> Any:
        """One that the finding names."""
        column = self.table.blocks[0].column(key)
        if column is None:
            known = ", ".join(one.key for one in self.table.blocks[0].columns)
            raise InputError(f"findings/{self.name}.md: the table has no column {key}; it has {known}.")
        return column

    def _columns(self, block: Block) -> List[Column]:
        """Those of the main table."""
        wanted = self.says.get("table", {}).get("columns")
        if wanted:
            return [self._column(key) for key in wanted]
        paper = [column for column in block.columns if column.in_paper]
        return paper or (block.columns if len(block.columns) <= MOST_COLUMNS else [c for c in block.columns if c.group != "scheduler"][:MOST_COLUMNS])

    @functools.cached_property
    def results(self) -> Results:
        """The main table."""
        over = self.says.get("table", {}).get("over", "")
        against: Dict[str, str] = self.says.get("plot", {}).get("against", {})
        block = self.table.blocks[0]
        if not over and not against:
            return by_workload(block, self._columns(block), self.label)
        base = self._column(over).title if over else "the whole agent"
        several = len(self.table.blocks) > 1
        rows = []
        for column in block.columns:
            cells = []
            for one in self.table.blocks:
                to = against.get(column.key, over)
                if not to or column.key == to or len(self.facts.pairs(column.key, to, one.key)) < len(one.rows):
                    cells.append(Shown("–" if not to or column.key == to else "does not fit"))
                    continue
                estimate = self.facts.ratio(column.key, to, one.key)
                cells.append(Shown(words.faster(estimate.value), tip=words.compared(estimate), value=estimate.value))
            order = cells[0].value if cells[0].value is not None else 1.0 if cells[0].text == "–" else math.inf
            if not several and len(block.rows) <= 8:
                cells += [show(block.at(row.key, column.key), self.label) for row in block.rows]
            rows.append((order, column.title, cells))
        rows.sort(key=lambda row: row[0])
        header = ["placed by"] + ([one.title for one in self.table.blocks] if several else [f"than {base}"])
        header += [row.name for row in block.rows] if not several and len(block.rows) <= 8 else []
        return Results(block.title, header, [(title, cells) for _, title, cells in rows],
                       base, len(self.table.blocks), explain(block.columns))

    def _whose(self) -> List[Tuple[str, bool]]:
        """Titles of the claims; those of a table that is of no paper are just claims."""
        ours = any(not one.of_paper for one in self.verdicts)
        if not ours and not self.facts.has_published:
            return [("Claims", True)]
        return [("Claims of the paper", True), ("Claims of ours", False)]

    @functools.cached_property
    def brief(self) -> Results:
        """The main table for one screen: of means the plotted agents and no workload alone."""
        full, says = self.results, self.says.get("plot", {})
        wanted = says.get("agents") or list(says.get("against", {}))
        if not full.means or not wanted:
            return full
        titles = {self.table.blocks[0].column(key).title for key in wanted}
        rows = [(name, cells[:full.means]) for name, cells in full.rows if name in titles]
        return Results(full.title, full.header[:1 + full.means], rows, full.note)

    @functools.cached_property
    def claims(self) -> List[Tuple[str, Dict[str, int], List[Line]]]:
        groups = []
        for title, of_paper in self._whose():
            verdicts = [verdict for verdict in self.verdicts if verdict.of_paper == of_paper]
            if verdicts:
                groups.append((title, self.facts.counts(of_paper), in_lines(verdicts)))
        return groups

    @functools.cached_property
    def first_claims(self) -> List[Line]:
        """For a page of one screen: those that the finding names by how they begin, else the first of the paper."""
        lines = [line for _, _, of_group in self.claims for line in of_group]
        wanted = self.says.get("claims", [])
        return [line for start in wanted for line in lines if line.claim.startswith(start)] or lines[:4]

    @functools.cached_property
    def curves(self) -> List[Plot]:
        block = self.table.blocks[0]
        keys = [*self.says.get("plot", {}).get("columns", {}), *(column.key for column in self._columns(block))]  # colours as in the main plot
        made = [plots.curves(block, row, keys, unit(row, self.label)) for row in block.rows]
        return [plot for plot in made if plot]

    @functools.cached_property
    def lanes(self) -> List[Dict[str, Any]]:
        block = self.table.blocks[0]
        best = [(row, block.best(row.key)) for row in block.rows]
        made = [plots.lanes(row, found[2], found[1].column.title) for row, found in best if found]
        return [one for one in made if one]

    @functools.cached_property
    def all_cells(self) -> List[Results]:
        return [by_agent(self.table, block, self.label) for block in self.table.blocks]

    @property
    def units(self) -> str:
        """Of its cells."""
        inference = any("mode=inference" in row.workload for block in self.table.blocks for row in block.rows)
        return self.label.capitalize() + (" (inference: per pass)" if inference else "")


def of(name: str, results: Path, gate: Gate) -> Page:
    """Of a table that was run, or of one that is made of others."""
    if name in derived.DERIVED:
        return Page(name, *derived.page(name, results))
    table = load(name, results)
    if not re.fullmatch(r"[\w-]+", table.name):  # its page has a folder of that name
        raise InputError(f"{table.file}: name {table.name!r}: letters, digits, _ and - are allowed.")
    return OfTable(table, gate)


def render(template: str, **values: Any) -> Any:
    style, script, d3 = (Markup(path.read_text(encoding="utf-8")) for path in (HERE / "page.css", HERE / "page.js", D3))
    return environment().get_template(template).render(style=style, script=script, d3=d3, drawing=plots.drawing, **values)


def as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["block", "workload", "gpus", "column", "kind", "state", "ours_s", "low_s", "high_s", "seeds", "published_s",
                     "proven_bound_s", "note"])
    for cell in table.cells:
        writer.writerow([cell_of_csv("" if value is None else "OOM" if value == math.inf else value) for value in (
            cell.block.key, cell.row.title, cell.row.gpus or "", cell.column.title, cell.kind, cell.state, cell.median, cell.low, cell.high,
            cell.seeds, cell.published, cell.block.bound(cell.row.key), cell.note)])
    return out.getvalue()
