"""What becomes of each claim: holds, does not hold, undecided, did not learn, cannot be tested here (docs/protocol.md#claims)."""

import math
import re
import statistics
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Optional, Tuple

from .. import _core
from .._core import InputError
from . import studies, words
from .gate import Gate
from .table import Block, Cell, Column, Estimate, Table, geometric_mean, mean_over, over, spec, unequal

HOLDS, FAILS, OPEN, UNLEARNED, UNTESTED = "holds", "does not hold", "undecided", "did not learn", "cannot be tested here"
#: What is nearer than this is a tie.
TIE = 0.01
RANDOM = ("random_op", "random_group", "random_block")
LOCAL_SEARCH = ("local_search", "local_search_trivial")
#: A learner that takes so many times as long as its control did not learn.
LOST_TO_CONTROL = 1.03
LEAST_GROWTH = 1.05


@dataclass
class Verdict:
    """Of one claim in one place."""

    claim: str
    word: str = UNTESTED
    ours: str = "not run"
    of_paper: bool = True
    see: str = ""
    family: str = ""  # claims that differ in one thing alone have one; a page shows a line for each
    member: str = ""
    subjects: List[str] = field(default_factory=list)  # columns; where one is a learner that did not learn, nothing is judged
    ratio: Optional[float] = None  # what is judged, where it is one number
    untrained: Optional[bool] = None  # whether the same network without learning meets it too
    unlearned: str = ""  # title of the column that did not learn


@dataclass
class Claim:
    """One entry of the file for one block, row or column of those that it names."""

    kind: str
    says: Dict[str, Any]
    block: Block
    text: str
    family: str = ""
    member: str = ""
    rows: List[str] = field(default_factory=list)
    columns: List[str] = field(default_factory=list)
    than: List[str] = field(default_factory=list)

    def verdict(self, text: str = "") -> Verdict:
        of_paper = self.kind != "opponents" and not self.says.get("ours", False)
        return Verdict(text or self.text, of_paper=of_paper, see=self.says.get("see", ""), family=self.family, member=self.member)

    @property
    def pairs(self) -> List[Tuple[Cell, Cell]]:
        """Of each row the cells of its column and of the other."""
        return [(self.block.at(row.key, self.columns[0]), self.block.at(row.key, self.than[0])) for row in self.block.rows]

    @property
    def limit(self) -> Any:
        if "takes" in self.says:
            return _seconds(self.says["takes"])
        return float(next(self.says[key] for key in ("by", "at_most", "below", "at_least", "above", "within") if key in self.says))

    @property
    def strict(self) -> bool:
        """What is equal to the limit does not meet it."""
        return "below" in self.says or "above" in self.says


def _seconds(text: Any) -> Any:
    found = re.fullmatch(r"([\d.]+(?:e-?\d+)?) ?(us|ms|s)?", str(text))
    return float(found[1]) * {"us": 1e-6, "ms": 1e-3}.get(found[2], 1) if found else None


def _list(value: Any) -> List[str]:
    return [] if value is None else value if isinstance(value, list) else [value]


# ---- words of an interval


def both_ends(estimate: Estimate, word: Callable[[float], str]) -> str:
    """What is said at both ends of the interval, undecided where they differ."""
    low = word(estimate.low)
    return low if low == word(estimate.high) else OPEN


def at_most(estimate: Estimate, limit: float, strict: bool) -> str:
    """A tie is no slower (at most 1), and not faster (below 1)."""
    if limit == 1 and estimate.tie:
        return FAILS if strict else HOLDS
    return both_ends(estimate, lambda ratio: HOLDS if (ratio < limit if strict else ratio <= limit) else FAILS)


def _at_least(estimate: Estimate, claim: Claim) -> str:
    return both_ends(estimate, lambda ratio: HOLDS if (ratio > claim.limit if claim.strict else ratio >= claim.limit) else FAILS)


def _judge(verdict: Verdict, estimate: Estimate, claim: Claim, more_graphs: bool = False) -> None:
    verdict.word = at_most(estimate, claim.limit, claim.strict)
    verdict.ours = words.compared(estimate)
    if claim.limit == 1 and estimate.tie:
        verdict.ours += ", a tie"
    if verdict.word == OPEN and not estimate.open and not more_graphs:
        seeds = estimate.seeds_to_decide(claim.limit)
        verdict.ours += f"; about {seeds} seeds would decide" if seeds else "; more than 1,000 seeds would decide"


# ---- kinds


def _against_baseline(claim: Claim, verdict: Verdict) -> Optional[float]:
    """The best that anything else found; None where there is nothing to compare."""
    row, baseline = claim.rows[0], claim.than[0]
    base = claim.block.at(row, baseline)
    if base.median is None or not claim.block.of_row(row, but=baseline):
        return None
    best = claim.block.best(row, but=baseline)
    if best is None:
        verdict.ours = f"nothing but {base.column.title} fits"
        return math.inf
    verdict.ours = f"{_by(best)} found {words.seconds(best[0])} s, {words.faster(best[0] / base.median)} than {base.column.title}"
    return best[0]


def _by(best: Tuple[float, Cell, Any]) -> str:
    return best[1].column.title + (f" (seed {best[2].seed})" if best[1].sampled else "")


def _exists(claim: Claim) -> List[Verdict]:
    """Found by any seed holds; excluded by the proven bound does not; else undecided, since not finding it is no proof."""
    verdict = claim.verdict()
    best = _against_baseline(claim, verdict)
    if best is not None:
        wanted = (1 - claim.limit) * claim.block.at(claim.rows[0], claim.than[0]).median
        bound = claim.block.bound(claim.rows[0])
        verdict.word = HOLDS if best <= wanted else OPEN
        if bound is not None and bound > wanted:
            verdict.word = FAILS
            verdict.ours += f"; nothing below {words.seconds(bound)} s is possible"
    return [verdict]


def _nothing_faster(claim: Claim) -> List[Verdict]:
    verdict = claim.verdict()
    best = _against_baseline(claim, verdict)
    if best is not None:
        as_fast = (1 - TIE) * claim.block.at(claim.rows[0], claim.than[0]).median
        bound = claim.block.bound(claim.rows[0])
        verdict.word = FAILS if best < as_fast else OPEN
        if bound is not None and bound >= as_fast:
            verdict.word = HOLDS
            verdict.ours += f"; nothing below {words.seconds(bound)} s is possible"
    return [verdict]


def _found(claim: Claim) -> List[Verdict]:
    """In seconds, where a part of a baseline says little because the baseline itself is not met."""
    verdict = claim.verdict()
    best = claim.block.best(claim.rows[0])
    if best is not None:
        verdict.ours = f"{_by(best)} found {words.seconds(best[0])} s"
        verdict.word = HOLDS if best[0] <= claim.limit else OPEN
        bound = claim.block.bound(claim.rows[0])
        if bound is not None:
            verdict.word = FAILS if bound > claim.limit else verdict.word
            verdict.ours += f"; nothing below {words.seconds(bound)} s is possible"
    return [verdict]


def _ratio(claim: Claim) -> List[Verdict]:
    verdict = claim.verdict()
    ours, theirs = (claim.block.at(claim.rows[0], key) for key in (claim.columns[0], claim.than[0]))
    if not ours.run or not theirs.run:
        return [verdict]
    if unequal(ours, theirs):
        verdict.ours = unequal(ours, theirs)
        return [verdict]
    verdict.subjects = [ours.column.key, theirs.column.key]
    if ours.median is None and theirs.median is None:
        verdict.ours, verdict.word = "neither fits", OPEN
        return [verdict]
    estimate = over([ours], [theirs])
    if ours.median is not None and theirs.median is not None:
        verdict.ratio = estimate.value
    _judge(verdict, estimate, claim)
    return [verdict]


def _beats_all(claim: Claim, text: str, column: str, opponents: List[str]) -> Verdict:
    """Holds if every row is won, does not if one is lost; a tie is not won. At equal samples alone."""
    verdict = claim.verdict(text)
    verdict.subjects = [column]
    tally = _Tally()
    for row in claim.block.rows:
        learner = claim.block.at(row.key, column)
        cells = [claim.block.at(row.key, key) for key in opponents]
        if learner.run and all(cell.run and (not cell.sampled or cell.budget == learner.budget) for cell in cells):
            estimate = over([learner], cells)
            tally.add(row.name, at_most(estimate, 1, True), words.faster(estimate.value))
    tally.fill(verdict, len(claim.block.rows), len(claim.block.rows))
    return verdict


class _Tally:
    """Rows by word."""

    def __init__(self) -> None:
        self.rows: Dict[str, List[str]] = {HOLDS: [], FAILS: [], OPEN: []}

    def add(self, row: str, word: str, figure: str) -> None:
        self.rows[word].append(f"{row} ({figure})")

    def fill(self, verdict: Verdict, rows: int, wanted: int) -> None:
        """Of so many rows, run or not, `wanted` are to be won."""
        if not any(self.rows.values()):
            return
        won, lost = len(self.rows[HOLDS]), len(self.rows[FAILS])
        verdict.word = HOLDS if won >= wanted else FAILS if rows - lost < wanted else OPEN
        verdict.ours = f"won {won} of {rows} rows" + "".join(
            f"; {name} {len(those)}: {words.listed(those)}" for name, those in (("lost", self.rows[FAILS]), ("undecided", self.rows[OPEN]))
            if those)


def _opponents(claim: Claim) -> List[Verdict]:
    verdicts = []
    for key in claim.columns:
        title = claim.block.column(key).title
        for opponents, name in ((RANDOM, "three kinds of random search"), (LOCAL_SEARCH, "both local searches")):
            beats = f" beats {name} at equal samples in every row"
            verdict = _beats_all(claim, title + beats, key, list(opponents))
            if len(claim.columns) > 1:
                verdict.family, verdict.member = "each learner" + beats, title
            verdicts.append(verdict)
    return verdicts


def _fits(record: Any) -> float:
    return record.samples_to_best or 0 if math.isfinite(record.seconds) else math.inf


def _median_over(cell: Cell, seeds: List[int], value: Callable[[Any], float]) -> float:
    by_seed = {record.seed: record for record in cell.records}
    return statistics.median([value(by_seed[seed]) for seed in seeds])


def _speedup(ours: float, theirs: float) -> float:
    """How many times fewer; 0 = never, 1 where neither gets anywhere."""
    if math.isinf(ours):
        return 1 if math.isinf(theirs) else 0
    return theirs / ours


def _to_match(ours: Cell, theirs: Cell, seeds: List[int]) -> Tuple[float, float]:
    """Samples of ours to be as good as the final median of theirs, and of theirs to within 1 % of its own final best."""
    goal = _median_over(theirs, seeds, lambda record: record.seconds)
    return (_median_over(ours, seeds, lambda record: record.cost_to(goal)[0]),
            _median_over(theirs, seeds, lambda record: float(record.fields["samples_to_1pct"] or math.inf)))


def _to_own_best(ours: Cell, theirs: Cell, seeds: List[int]) -> Tuple[float, float]:
    """As the papers count, whatever the bests are."""
    return _median_over(ours, seeds, _fits), _median_over(theirs, seeds, _fits)


def _end_on_one(ours: Cell, theirs: Cell) -> bool:
    """Then the counts say when each first drew greedily: unlike draws."""
    return all(cell.records and all(record.on_one_device for record in cell.records) for cell in (ours, theirs))


def _fewer_samples(claim: Claim) -> List[Verdict]:
    """Two readings: samples to be as good as the other, and samples of both to their own best, as the papers count."""
    verdicts = []
    for samples, reading in ((_to_match, ""), (_to_own_best, "; counted to the own best, as papers do")):
        verdict = claim.verdict(claim.text + reading)
        verdict.family += reading if verdict.family else ""
        verdict.subjects = [claim.columns[0], claim.than[0]]
        tally, on_one = _Tally(), []
        for ours, theirs in claim.pairs:
            uncounted = samples is _to_own_best and any(_fits(record) == 0 for cell in (ours, theirs) for record in cell.records)
            if not ours.run or not theirs.run or ours.budget != theirs.budget or uncounted:
                continue
            estimate = _core.estimate_over([ours.times, theirs.times], lambda seeds: _speedup(*samples(ours, theirs, seeds)))
            if _end_on_one(ours, theirs):
                on_one.append(ours.row.name)
                tally.add(ours.row.name, OPEN, "both end on one device")
                continue
            word = _at_least(estimate, claim) if ours.median is not None or theirs.median is not None else OPEN
            tally.add(ours.row.name, word, words.fewer(estimate.value))
        tally.fill(verdict, len(claim.block.rows), claim.says.get("in_rows", len(claim.block.rows)))
        if on_one and len(on_one) == sum(map(len, tally.rows.values())):
            verdict.word, verdict.ours = OPEN, "both end on one device in every row"
        verdicts.append(verdict)
    return verdicts


def _fewer_samples_on_average(claim: Claim) -> List[Verdict]:
    verdict = claim.verdict()
    verdict.subjects = [claim.columns[0], claim.than[0]]
    pairs = claim.pairs
    if not all(ours.run and theirs.run and ours.budget == theirs.budget for ours, theirs in pairs):
        return [verdict]
    pairs = [pair for pair in pairs if not _end_on_one(*pair)]
    if not pairs:
        verdict.word, verdict.ours = OPEN, "both end on one device in every row"
        return [verdict]

    def statistic(seeds: List[int]) -> float:
        samples = [[min(number, pair[0].budget) for number in _to_match(*pair, seeds)] for pair in pairs]
        return geometric_mean([theirs / ours for ours, theirs in samples])

    estimate = _core.estimate_over([cell.times for pair in pairs for cell in pair], statistic)
    verdict.ours = "no seed that all cells have" if estimate.unpaired else words.samples(estimate, pairs[0][0].column.title, pairs[0][1].column.title)
    verdict.word = _at_least(estimate, claim)
    return [verdict]


def _mean_ratio(claim: Claim) -> List[Verdict]:
    verdict = claim.verdict()
    verdict.subjects = [claim.columns[0], claim.than[0]]
    pairs = claim.pairs
    if not all(cell.run for pair in pairs for cell in pair):
        return [verdict]
    apart = [why for pair in pairs for why in [unequal(*pair)] if why]
    if apart:
        verdict.ours = apart[0]
        return [verdict]
    verdict.word = OPEN
    no_fit = [ours.row.name for ours, theirs in pairs if ours.median is None or theirs.median is None]
    if no_fit:
        verdict.ours = "no mean, out of memory in " + words.listed(no_fit)
        return [verdict]
    estimate = mean_over(pairs, claim.block.more_graphs)
    if estimate.unpaired:
        verdict.ours = "no seed that all cells have"
        return [verdict]
    verdict.ratio = estimate.value
    _judge(verdict, estimate, claim, claim.block.more_graphs)
    return [verdict]


def _out_of_memory(claim: Claim) -> List[Verdict]:
    """Beside it how often one card alone holds the model, so that memory cannot be why."""
    verdict = claim.verdict()
    pairs = claim.pairs
    if all(cell.run for pair in pairs for cell in pair):
        papers = [(cell, one) for cell, one in pairs if cell.published is not None and math.isinf(cell.published)]
        verdict.ours = (f"out of memory in {sum(cell.state == 'oom' for cell, _ in pairs)} of {len(pairs)} rows here, in "
                        f"{sum(cell.state == 'oom' for cell, _ in papers)} of the paper's {len(papers)}; in "
                        f"{sum(one.state == 'fits' for _, one in papers)} of the latter the whole model fits on one card here")
    return [verdict]


def _slower(claim: Claim) -> List[Verdict]:
    """Every cell of some rows and columns, rules alone."""
    verdict = claim.verdict()
    pairs = [(claim.block.at(row, column), claim.block.at(row, claim.than[0])) for row in claim.rows for column in claim.columns]
    ratios = [ours.median / one.median for ours, one in pairs if ours.median is not None and one.median is not None]
    if ratios and all(cell.run for pair in pairs for cell in pair):
        verdict.ours = f"{words.faster(min(ratios))} to {words.faster(max(ratios))}"
        verdict.word = HOLDS if min(ratios) >= claim.limit else FAILS
    return [verdict]


def _grows(claim: Claim) -> List[Verdict]:
    """From the first row to the last; less than a twentieth is no growth."""
    verdict = claim.verdict()
    verdict.subjects = [claim.columns[0]]
    cells = [claim.block.at(row, claim.columns[0]) for row in claim.rows]
    if all(cell.median is not None for cell in cells):
        growth = over([cells[-1]], [cells[0]])
        verdict.ours = ", ".join(words.seconds(cell.median) for cell in cells) + f" s, {words.compared(growth)} {claim.says['named']}"
        verdict.word = both_ends(growth, lambda r: HOLDS if r >= claim.limit else FAILS if r < LEAST_GROWTH else OPEN)
    return [verdict]


def _close(claim: Claim) -> List[Verdict]:
    """Cells of rules beside their published numbers, and those of another block."""
    verdict = claim.verdict()
    cells = [one.split("/") for one in claim.says["cells"]]
    ratios = [claim.block.at(*cell).ratio for cell in cells]
    if None not in ratios:
        verdict.word = HOLDS if all(abs(ratio - 1) <= claim.limit for ratio in ratios) else FAILS
        verdict.ours = "; ".join(f"{claim.block.row(row).title} {words.faster(ratio)} than published" for (row, _), ratio in zip(cells, ratios))
    return [verdict]


def _others_fit(claim: Claim) -> List[Verdict]:
    """Some rules fit in none of the rows, and something else does in each."""
    verdict = claim.verdict()
    cells = [claim.block.at(row, column) for row in claim.rows for column in claim.columns]
    if all(cell.run for cell in cells):
        fail = all(cell.state == "oom" for cell in cells)
        some = all(any(cell.feasible for cell in claim.block.of_row(row, but=claim.says.get("except", ""))) for row in claim.rows)
        verdict.ours = ("they do not fit" if fail else "some of them fit") + ("; others do" if some else "; nothing else does")
        verdict.word = FAILS if not fail else HOLDS if some else OPEN
    return [verdict]


def _best_is_longer(claim: Claim) -> List[Verdict]:
    """The best step of one row against that of another: what is found in one and proven of the other decides."""
    verdict = claim.verdict()
    first, last = claim.rows[0], claim.rows[-1]
    longer, shorter = (claim.block.best(row, but=claim.says.get("except", "")) for row in (first, last))
    bounds = [claim.block.bound(row) for row in (first, last)]
    if longer and shorter and None not in bounds:
        verdict.ours = " and ".join(f"{words.seconds(best[0])} s on {claim.block.row(row).gpus} GPUs (at least {words.seconds(bound)})"
                                    for best, row, bound in zip((longer, shorter), (first, last), bounds))
        verdict.word = FAILS if longer[0] <= bounds[1] else HOLDS if shorter[0] < bounds[0] else OPEN
    return [verdict]


def _takes(claim: Claim) -> List[Verdict]:
    """Placements that nobody searched for and that take less than half of it refute it."""
    verdict = claim.verdict()
    cell = claim.block.at(claim.rows[0], claim.columns[0])
    if cell.median is None:
        verdict.ours = f"{claim.says['named']} do not fit" if cell.state == "oom" else verdict.ours
    else:
        verdict.ours = f"{claim.says['named']} take {words.seconds(cell.median)} s"
        verdict.word = FAILS if cell.median < claim.limit / 2 else OPEN
    return [verdict]


@dataclass(frozen=True)
class Kind:
    """Fields that a claim of it must have, one of each pair, and those that it may have."""

    judge: Callable[[Claim], List[Verdict]]
    required: str
    optional: str = ""


KINDS: Dict[str, Kind] = {
    "exists": Kind(_exists, "row than by"), "nothing_faster": Kind(_nothing_faster, "row than"), "found": Kind(_found, "row takes"),
    "ratio": Kind(_ratio, "row|rows column than at_most|below"), "mean_ratio": Kind(_mean_ratio, "column|columns than at_most|below"),
    "beats": Kind(lambda claim: [_beats_all(claim, claim.text, claim.columns[0], claim.than)], "column than"), "opponents": Kind(_opponents, "columns"),
    "fewer_samples": Kind(_fewer_samples, "column than at_least|above", "in_rows"),
    "fewer_samples_on_average": Kind(_fewer_samples_on_average, "column than at_least|above"), "out_of_memory": Kind(_out_of_memory, "column than"),
    "slower": Kind(_slower, "rows columns than at_least"), "grows": Kind(_grows, "rows column at_least named"), "close": Kind(_close, "cells within"),
    "others_fit": Kind(_others_fit, "rows columns", "except"), "best_is_longer": Kind(_best_is_longer, "rows", "except"),
    "takes": Kind(_takes, "row column takes named"), "untested": Kind(lambda claim: [replace(claim.verdict(), ours=claim.says.get("why", "no rows"))], "see", "why")}
COMMON = {"claim", "kind", "see", "ours", "block", "blocks", "each"}
NUMBERS = ("by", "at_most", "below", "at_least", "above", "within", "in_rows")


def _check(where: str, says: Any) -> None:
    """That it has what its kind asks for, and nothing else."""
    if not isinstance(says, dict):
        raise InputError(f"{where}: is no claim; one is like {{claim: a sentence, kind: ratio, row: ..., column: ..., than: ..., below: 1}}.")
    name = says.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(f"{where}: {name} is no kind of claim; there are {', '.join(KINDS)}.")
    kind = KINDS[name]
    groups = [group.split("|") for group in kind.required.split()] + ([["claim"]] if name != "opponents" else [])
    for group in groups:
        if sum(key in says for key in group) != 1:
            raise InputError(f"{where}: a claim of kind {name} takes {' or '.join(group)}" + (", one of them." if len(group) > 1 else "."))
    unknown = sorted(set(map(str, says)) - COMMON - {key for group in groups for key in group} - set(kind.optional.split()))
    if unknown:
        raise InputError(f"{where}: has {', '.join(unknown)}, which a claim of kind {name} has not.")
    for key in NUMBERS:
        if key in says and (isinstance(says[key], bool) or not isinstance(says[key], (int, float))):
            raise InputError(f"{where}: {key} must be a number, but is {says[key]}.")
    if "takes" in says and _seconds(says["takes"]) is None:
        raise InputError(f"{where}: takes must be a time such as 1.5s, but is {says['takes']}.")


# ---- of a table


def _read(table: Table, says: Dict[str, Any]) -> List[Claim]:
    """All that an entry makes: of each block, row or column that it names one."""
    where = f"{table.file.name}: claim \"{says.get('claim', says.get('kind')) if isinstance(says, dict) else says}\""
    _check(where, says)
    kind, keys = says["kind"], _list(says.get("blocks"))
    claims = []
    for key in keys or [says.get("block", "")]:
        try:
            block = table.block(key)
        except StopIteration:
            raise InputError(f"{where}: there is no block {key}; there are {', '.join(one.key for one in table.blocks)}.") from None
        rows = _list(says.get("row")) or ([row.key for row in block.rows] if says.get("rows") == "all" else _list(says.get("rows")))
        columns = _list(says.get("column")) or _list(says.get("columns"))
        cells = [str(cell).partition("/") for cell in _list(says.get("cells"))]
        named = columns + _list(says.get("than")) + _list(says.get("except")) + [cell[2] for cell in cells]
        if kind == "opponents":
            named += [*RANDOM, *LOCAL_SEARCH]
        for name, given, known in (("row", rows + [cell[0] for cell in cells], [row.key for row in block.rows]),
                                   ("column", named, [column.key for column in block.columns])):
            for one in given:
                if one not in known:
                    raise InputError(f"{where}: block {block.key} has no {name} {one}; it has {', '.join(known)}.")
        claim = Claim(kind, says, block, says.get("claim", ""), "", "", rows, columns, _list(says.get("than")))
        if keys:
            claim = _named(claim, "{block}", block.title, says.get("each", "each block"), len(keys))
        each = [claim]
        if kind == "ratio" and says.get("rows") == "all":
            each = [_named(claim, "{row}", block.row(row).name, says.get("each", "each row"), len(rows), rows=[row]) for row in rows]
        elif kind == "mean_ratio" and "columns" in says:
            each = [_named(claim, "{column}", block.column(column).title, says.get("each", "each agent"), len(columns), columns=[column])
                    for column in columns]
        claims += each
    return claims


def _named(claim: Claim, mark: str, title: str, each: str, of: int, **changed: Any) -> Claim:
    """With a title for the mark; one of a family where there are more."""
    if of > 1:
        changed.update(family=claim.text.replace(mark, each), member=title)
    return replace(claim, text=claim.text.replace(mark, title), **changed)


def _gate_spec(agent: str) -> str:
    """"rnn(preset=tuned)", as the sanity suite names it; empty for a variant that it does not run."""
    name, named = spec(agent)
    return "" if set(named) - {"preset"} else f"{name}(preset={named.get('preset', 'tuned')})"


def why_not_learned(gate: Gate, block: Block, rows: List[str], key: str) -> str:
    """Empty where it learned, or where nothing says."""
    column = block.column(key)
    if column is None or not column.learner or column.untrained:
        return ""
    missed = gate.missed.get(_gate_spec(column.agent))
    if missed:
        return f"{column.title} {missed}"
    asked: List[Estimate] = []
    for row in block.rows:
        learner = block.at(row.key, key)
        controls: List[Any] = [block.cells.get((row.key, one)) for one in ("factored", "factored_copy")]
        if (rows and row.key not in rows) or not learner.run or any(one is None or not one.run or one.budget != learner.budget for one in controls):
            continue
        asked.append(over([learner], controls))
    lost = [one for one in asked if one.low > LOST_TO_CONTROL]
    if 2 * len(lost) <= len(asked):
        return ""
    return f"{column.title} is {words.compared(lost[0])} than its control" if len(asked) == 1 \
        else f"{column.title} lost to its control in {len(lost)} of {len(asked)} rows"


def _settings_before(table: Table, block: Optional[Block], rows: List[str], key: str) -> bool:
    return any(cell.settings_before and cell.run for cell in table.cells
               if cell.column.key == key and (block is None or cell.block is block) and (not rows or cell.row.key in rows))


def _excuse(table: Table, gate: Gate, block: Optional[Block], rows: List[str], verdict: Verdict) -> None:
    """Not judged for a learner that did not learn; not lost where settings have changed since, nor won against an opponent whose have."""
    if verdict.word == UNTESTED:
        return
    for subject in verdict.subjects:
        why = why_not_learned(gate, block or table.block(), rows, subject)
        if why:
            column = (block or table.block()).column(subject)
            verdict.word, verdict.unlearned = UNLEARNED, column.title
            if _gate_spec(column.agent) not in gate.missed:  # which the page says once
                verdict.ours = f"{why}; {verdict.ours}"
            if not verdict.family and subject == verdict.subjects[0]:
                verdict.ratio = None
                verdict.family, verdict.member = verdict.unlearned + ": all that is claimed of it alone", verdict.claim
            return
    asked = verdict.subjects if verdict.word == FAILS else verdict.subjects[1:] if verdict.word == HOLDS else []
    if any(_settings_before(table, block, rows, subject) for subject in asked):
        verdict.word = OPEN
        verdict.ours += "; some rows are of settings before today's"


def untrained_twin(block: Block, key: str) -> Optional[Column]:
    """The column of the same agent at learning rate 0, for one that learns from nothing else first."""
    column = block.column(key)
    if column is None or not column.learner or column.trained or column.untrained:
        return None
    name, named = spec(column.agent)
    if (name == "doppler" and named.get("imitate") != "no") or (name == "mars" and named.get("pretrain") != "no"):
        return None
    return next((other for other in block.columns if other.learner and other.untrained and other.differs_only_in("lr", column)), None)


def _ask_untrained(claim: Claim, verdicts: List[Verdict]) -> None:
    """What holds of the same network without learning too is no merit of learning."""
    for key in claim.columns:
        twin = untrained_twin(claim.block, key)
        about = [verdict for verdict in verdicts if verdict.subjects[:1] == [key]]
        if twin is None or twin.key in claim.than or all(verdict.word != HOLDS for verdict in about):
            continue
        same = KINDS[claim.kind].judge(replace(claim, columns=[twin.key]))
        if len(same) != len(about):
            continue
        for verdict, of_twin in zip(about, same):
            if verdict.word == HOLDS and of_twin.word != UNTESTED:
                verdict.untrained = of_twin.word == HOLDS
                if verdict.untrained:
                    verdict.ours += "; the same network without learning meets it too"


def judge(table: Table, gate: Gate) -> List[Verdict]:
    """Every claim of the table, those of its own study first."""
    verdicts = studies.claims(table)
    for verdict in verdicts:
        _excuse(table, gate, None, [], verdict)
    listed = table.says.get("claims") or []
    if not isinstance(listed, list):
        raise InputError(f"{table.file.name}: claims must be a list.")
    for says in listed:
        for claim in _read(table, says):
            of_claim = KINDS[claim.kind].judge(claim)
            for verdict in of_claim:
                _excuse(table, gate, claim.block, claim.rows, verdict)
            _ask_untrained(claim, of_claim)
            verdicts += of_claim
    return verdicts
