"""Two studies: what pre-training saves, and policies on graphs that they never saw."""

from typing import Any, List, Optional

from ... import _core
from .. import studies, words
from ..grid import Grid, Plot, Series
from ..table import Block, Estimate, Table, geometric_mean
from .common import interval, number

#: Lines of a plot that can be told apart: these are left out.
LEFT_OUT = {"zero_shot_best", "zero_shot_walk", "zero_shot_no_offers", "greedy_offers", "untrained_walk", "heft", "m_etf", "random_one", "random",
            "local_search_trivial_pass", "local_search_walk"}


def pretraining(table: Table) -> List[Any]:
    study = studies.Pretraining(table)
    rows = [[row.title] + [words.longer(study.of_row(row, clock)) for clock in studies.CLOCKS] for row in study.block.rows if study.run(row)]
    means: List[Any] = [study.mean(clock) for clock in studies.CLOCKS]
    if None not in means:
        rows.append(["geometric mean"] + [words.longer(mean) for mean in means])
    return [Grid("What pre-training saves", ["workload"] + list(studies.CLOCKS), rows,
                 "Time to reach 1.01 times the worse of the two final medians (the later of two in the middle, so that more than half of the seeds "
                 "get there), with pre-training against without; medians over seeds, the "
                 "interval is a bootstrap over seeds, paired. The time with pre-training includes it. Agent seconds are wall time and differ "
                 "from run to run and from machine to machine; counts of samples do not.")] if rows else []


def reference(block: Block) -> str:
    """What times are divided by: those of the policy that was trained on the graph where it was run, else of one GPU."""
    ran = any(block.at(row.key, studies.OPTIMISED).median for row in block.rows)
    return studies.OPTIMISED if ran else "single_gpu"


def ratios(block: Block, ours: str, theirs: str) -> List[float]:
    """Of the graphs where both fit, ascending."""
    pairs = [(block.at(row.key, ours).median, block.at(row.key, theirs).median) for row in block.rows]
    return sorted(a / b for a, b in pairs if a and b)


def mean(block: Block, column: str) -> Optional[Estimate]:
    """Over the unseen graphs of a family, to the reference."""
    found = ratios(block, column, reference(block))
    return _core.estimate_mean(found) if found else None


def bound(block: Block) -> Optional[float]:
    pairs = [(block.bound(row.key), block.at(row.key, reference(block)).median) for row in block.rows]
    found = [proven / seconds for proven, seconds in pairs if proven is not None and seconds]
    return geometric_mean(found) if found else None


def _cdf(title: str, group: str, values: List[float], graphs: int) -> Series:
    values = sorted(values)
    return Series(title, [(values[0], 0.0)] + [(value, (i + 1) / graphs) for i, value in enumerate(values)], group)


def _plots(block: Block) -> List[Plot]:
    seconds, relative, base = [], [], reference(block)
    for column in block.columns:
        cells = [block.at(row.key, column.key) for row in block.rows]
        own, graphs, divided = [cell.median for cell in cells if cell.median], sum(cell.run for cell in cells), ratios(block, column.key, base)
        if column.key not in LEFT_OUT and own:
            seconds.append(_cdf(column.title, column.group, own, graphs))
            relative += [_cdf(column.title, column.group, divided, graphs)] if divided and column.key != base else []
    plots = []
    for label, series in (("seconds per step", seconds), (f"step time / {block.column(base).title}", relative)):
        if series:
            plots.append(Plot(f"{block.title}: {label}", label, "part of the graphs", series, kind="steps",
                              spoken=f"The part of the unseen graphs at or below {label}, by column. Further left is better."))
    return plots


def generalisation(table: Table) -> List[Any]:
    means = {column.key: [mean(block, column.key) for block in table.blocks] for column in table.blocks[0].columns}
    summary = Grid("Over the unseen graphs", ["placed by"] + [block.title for block in table.blocks],
                   [[column.title] + [number(one.value if one else None, 3) for one in means[column.key]] for column in table.blocks[0].columns]
                   + [["proven lower bound"] + [number(bound(block), 3) for block in table.blocks]],
                   "Step time divided by that of the policy that was trained on the graph alone; geometric mean over a family's unseen graphs.",
                   [[""] + [f"90 % interval over graphs: {interval(one, 3)}" if one else "" for one in means[column.key]]
                    for column in table.blocks[0].columns] + [[""] * (1 + len(table.blocks))])
    rows = []
    for block in table.blocks:
        for column in block.columns:
            found, cells = ratios(block, column.key, reference(block)), [block.at(row.key, column.key) for row in block.rows]
            if found:
                one: Any = mean(block, column.key)
                parts = [number(found[int(part * (len(found) - 1) + 0.5)], 3) for part in (0.1, 0.5, 0.9)]
                rows.append([block.title, column.title, number(one.value, 3), interval(one, 3), *parts,
                             f"{sum(cell.median is not None for cell in cells)} of {sum(cell.run for cell in cells)}"])
    training = table.says["blocks"][0]["training"]
    every = Grid("Family by family", ["family", "column", "mean", "90 % interval", "10 %", "median", "90 %", "fit"], rows,
                 "Step time divided by that of the policy that was trained on the graph alone (where it was not run: of one GPU), medians over "
                 "seeds first: geometric mean over graphs with its bootstrap interval over graphs, three percentiles, and how many of the "
                 f"graphs fit. Zero-shot policies have seen {words.count(training['samples'])} samples of 16 other graphs, which no cell counts; "
                 "a pass of Placeto costs a sample for its start and one for every 16 groups (preset walk: for each), the RNN's one sample.",
                 folded=True)
    return [summary] + [plot for block in table.blocks for plot in _plots(block)] + [every]
