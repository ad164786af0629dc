"""What two tables ask that no kind of claim says: whether pre-training saves time, and whether policies work on graphs that they never saw.

These are those that the table's file names by `analysis`.
"""

import math
import statistics
from typing import Callable, Dict, List, Optional, Tuple

from .. import _core
from . import words
from .table import Cell, Estimate, Row, Table, mean_over, unequal

WITH, WITHOUT = "mars", "mars_no_pretraining"
Clock = Callable[[Tuple[float, float, float]], float]  # of samples, agent's and machine's seconds


def _total(setup: float) -> Clock:
    return lambda cost: cost[1] + cost[2] + (setup * cost[0] if setup else 0)


#: What "training time" may mean; a set-up is what one sample costs on a machine beside its steps.
CLOCKS: Dict[str, Clock] = {
    "samples": lambda cost: cost[0], "agent seconds": lambda cost: cost[1], "machine and agent, set-up 0 s": _total(0),
    "machine and agent, set-up 10 s": _total(10), "machine and agent, set-up 30 s": _total(30)}
#: The readings that the paper's number is held against.
CLAIMED_CLOCKS = ("machine and agent, set-up 10 s", "agent seconds")


class Pretraining:
    """T with / T without pre-training: the time to reach 1.01 times the worse of the two final medians."""

    def __init__(self, table: Table) -> None:
        self.block = table.block()

    def cells(self, row: Row) -> List[Cell]:
        return [self.block.at(row.key, key) for key in (WITH, WITHOUT)]

    def run(self, row: Row) -> bool:
        return all(cell.run and cell.records[0].machine_seconds for cell in self.cells(row))

    def _ratio(self, row: Row, seeds: List[int], clock: Clock) -> float:
        by_seed = [{record.seed: record for record in cell.records} for cell in self.cells(row)]
        goal = 1.01 * max(statistics.median_high([one[seed].seconds for seed in seeds]) for one in by_seed)  # more than half get there
        ours, theirs = (statistics.median([clock(one[seed].cost_to(goal)) for seed in seeds]) for one in by_seed)
        return 1 if ours == theirs else ours / theirs

    def of_row(self, row: Row, clock: str) -> Estimate:
        return _core.estimate_over([cell.times for cell in self.cells(row)], lambda seeds: self._ratio(row, seeds, CLOCKS[clock]))

    def mean(self, clock: str) -> Optional[Estimate]:
        """Over the rows; None until all were run."""
        rows = self.block.rows
        if not all(self.run(row) for row in rows):
            return None
        return _core.estimate_over([cell.times for row in rows for cell in self.cells(row)],
                                   lambda seeds: math.exp(sum(math.log(self._ratio(row, seeds, CLOCKS[clock])) for row in rows) / len(rows)))

    def verdicts(self) -> List["claims_module.Verdict"]:
        made = []
        for clock in CLAIMED_CLOCKS:
            mean = self.mean(clock)
            for text, limit, strict in ((f"Pre-training saves 13.2 % of the training time on average ({clock})", 1 - 0.132, False),
                                        (f"Pre-training saves training time on average (the direction alone; {clock})", 1, True)):
                verdict = claims_module.Verdict(text, subjects=[WITH, WITHOUT], see="the columns of the other clocks")
                if mean is not None:
                    verdict.ours = words.longer(mean)
                    verdict.word = claims_module.at_most(mean, limit, strict)
                made.append(verdict)
        return made


ZERO_SHOT, OPTIMISED, RNN = "zero_shot", "placeto", "rnn_zero_shot"
CONTROLS = {
    "random_pass": "the best of as many random ones", "untrained_walk": "that of a walk of the untrained network",
    "greedy_offers": "that of a walk that takes the best schedule feature and learned nothing",
    "zero_shot_no_offers": "one of the same preset that is told no schedule features",
    "zero_shot_walk": "one of preset walk, which is told no schedule features and moves one group at a time",
    "m_etf": "m-ETF's, a list schedule of the same groups", "heft": "HEFT's, a list schedule of the same groups",
    "local_search_pass": "local search's with as many samples",
    "local_search_trivial_pass": "local search's from the trivial start with as many samples",
    "local_search_walk": "local search's with 129 or 161 samples"}


def against(table: Table, ours: str, theirs: str, text: str, limit: float = 1, strict: bool = True, of_paper: bool = True) -> "claims_module.Verdict":
    """One column against another over all unseen graphs of all families."""
    verdict = claims_module.Verdict(text, subjects=[ours, theirs], of_paper=of_paper, see="the families one by one")
    pairs = [(block.at(row.key, ours), block.at(row.key, theirs)) for block in table.blocks for row in block.rows]
    pairs = [(a, b) for a, b in pairs if a.run and b.run and not unequal(a, b)]
    fit = [(a, b) for a, b in pairs if a.median is not None and b.median is not None]
    if not fit:
        return verdict
    ours_alone = sum(a.median is not None and b.median is None for a, b in pairs)
    theirs_alone = sum(b.median is not None and a.median is None for a, b in pairs)
    mean = mean_over(fit, True)
    verdict.ratio = mean.value
    verdict.ours = f"{words.compared(mean)} over {len(fit)} graphs"
    verdict.word = claims_module.at_most(mean, limit, strict)
    if theirs != "single_gpu":
        verdict.ours += f"; {on_one_device(table, ours)} of its placements are on one device"
    if ours_alone or theirs_alone:  # one that does not fit is infinitely slow, and no mean
        verdict.ours += f"; {ours_alone} more fit with the first alone, {theirs_alone} with the second"
        if verdict.word == (claims_module.HOLDS if theirs_alone else claims_module.FAILS) or (ours_alone and theirs_alone):
            verdict.word = claims_module.OPEN
    return verdict


def on_one_device(table: Table, column: str) -> str:
    records = [record for cell in table.cells if cell.column.key == column for record in cell.records if record.placement]
    return f"{sum(record.on_one_device for record in records)} of {len(records)}"


def _generalisation(table: Table) -> List["claims_module.Verdict"]:
    faster = "A zero-shot placement is faster than "
    random = against(table, RNN, "random_one", "An RNN applied to unseen graphs is no better than random placements (recalled)")
    opposite = {claims_module.HOLDS: claims_module.FAILS, claims_module.FAILS: claims_module.HOLDS}
    random.word = opposite.get(random.word, random.word)
    made = [
        against(table, ZERO_SHOT, OPTIMISED, "A zero-shot placement is about as good as that of a policy trained on the graph (at most 5 % slower: "
                "our interpretation, the paper shows curves)", 1.05, False),
        against(table, ZERO_SHOT, "single_gpu", faster + "one GPU (preset transfer, which is ours)"),
        against(table, "zero_shot_walk", "single_gpu", faster + "one GPU (preset walk, nearest to the paper's)"),
        random,
        against(table, ZERO_SHOT, RNN, "Placeto applied to unseen graphs is faster than an RNN applied to them"),
        against(table, RNN, "single_gpu", "An RNN applied to unseen graphs is faster than one GPU", of_paper=False)]
    for column, control in CONTROLS.items():
        made.append(against(table, ZERO_SHOT, column, faster + control, of_paper=False))
        made[-1].family, made[-1].member = faster + "each control's: draws, walks, list schedules, local search", control
    return made


def claims(table: Table) -> List["claims_module.Verdict"]:
    """Those of the table's own study."""
    study = table.says.get("analysis", "")
    return Pretraining(table).verdicts() if study == "pretraining" else _generalisation(table) if study == "generalisation" else []


from . import claims as claims_module  # noqa: E402  (each asks the other)
