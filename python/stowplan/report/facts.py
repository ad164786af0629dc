"""The numbers that findings quote: one table's geometric means, its distance from the paper, what became of its claims."""

from collections import Counter
from typing import Dict, List, Optional, Tuple

from . import words
from .claims import FAILS, HOLDS, LOCAL_SEARCH, OPEN, UNLEARNED, UNTESTED, Verdict, why_not_learned
from .derived import accuracy
from .gate import Gate
from .table import Block, Cell, Estimate, Row, Table, geometric_mean, mean_over, unequal

WORDS = (HOLDS, FAILS, OPEN, UNLEARNED, UNTESTED)
#: What is nearer than this, with an interval that has 1 in it, is told as "just as fast".
NEAR = 0.02


class Facts:
    def __init__(self, table: Table, verdicts: List[Verdict], gate: Gate) -> None:
        self.table = table
        self.verdicts = verdicts
        self.gate = gate

    def block(self, key: str = "") -> Block:
        return self.table.block(key)

    @property
    def has_published(self) -> bool:
        return any(cell.published is not None for cell in self.table.blocks[0].cells.values())

    # ---- one column against another, geometric mean over rows

    def pairs(self, ours: str, theirs: str, block: str = "", published: bool = False, but: str = "") -> List[Tuple[Cell, Cell]]:
        """Rows where both fit, without the row `but`; `published`: where both have a published number as well. Block "*": of all blocks."""
        blocks = self.table.blocks if block == "*" else [self.block(block)]
        pairs = [(one.at(row.key, ours), one.at(row.key, theirs)) for one in blocks for row in one.rows if row.key != but]
        return [(a, b) for a, b in pairs if a.median is not None and b.median is not None and not unequal(a, b)
                and (not published or (a.ratio is not None and b.ratio is not None))]

    def ratio(self, ours: str, theirs: str, block: str = "", published: bool = False, but: str = "") -> Estimate:
        return mean_over(self.pairs(ours, theirs, block, published, but), self.block("" if block == "*" else block).more_graphs)

    def faster(self, ours: str, theirs: str, block: str = "", published: bool = False, but: str = "") -> str:
        """"18 % faster"."""
        return words.faster(self.ratio(ours, theirs, block, published, but).value)

    def slower_rows(self, ours: str, theirs: str) -> int:
        """In how many rows ours takes longer."""
        return sum(a.median > b.median for a, b in self.pairs(ours, theirs))

    def compared(self, ours: str, theirs: str, block: str = "", published: bool = False, but: str = "") -> str:
        """"18 % faster (90 % interval 17 to 19; 4 seeds)"."""
        return words.compared(self.ratio(ours, theirs, block, published, but))

    def about(self, ours: str, theirs: str, block: str = "", published: bool = False) -> str:
        """"just as fast" where nothing tells them apart, else "18 % faster"."""
        one = self.ratio(ours, theirs, block, published)
        return "just as fast" if abs(one.value - 1) < NEAR and one.low <= 1 <= one.high else words.faster(one.value)

    def paper(self, ours: str, theirs: str, but: str = "") -> str:
        """The same by the published numbers, in the rows that have both here and there."""
        return words.faster(geometric_mean([a.published / b.published for a, b in self.pairs(ours, theirs, published=True, but=but)]))

    # ---- searches, learners, bounds

    def _rows(self) -> List[Tuple[Block, Row]]:
        """Of the first block, which others ask again under other rules; where nothing was published, of all blocks."""
        blocks = self.table.blocks[:1] if self.has_published else self.table.blocks
        return [(block, row) for block in blocks for row in block.rows]

    def _against_learners(self, local: bool) -> str:
        ratios = []
        for block, row in self._rows():
            learner, search = (block.fastest(row.key, group, lambda cell: not cell.column.has_own_budget and not cell.column.untrained)
                               for group in ("learner", "search"))
            if local and learner is not None:
                search = block.fastest(row.key, "search", lambda cell: cell.column.key in LOCAL_SEARCH and cell.budget == learner.budget)
            if learner and search and learner.budget == search.budget:
                ratios.append(search.median / learner.median)
        return words.faster(geometric_mean(ratios)) if ratios else ""

    @property
    def local_search(self) -> str:
        """The better local search of each row against the best learner of it, at equal samples."""
        return self._against_learners(True)

    @property
    def search(self) -> str:
        """The best search of each row against the best learner of it, at equal samples; some also use surrogate evaluations."""
        return self._against_learners(False)

    @property
    def over_bound(self) -> str:
        """How much slower the best search is than the proven bound."""
        found = [(block.fastest(row.key, "search"), block.bound(row.key)) for block, row in self._rows()]
        ratios = [cell.median / bound for cell, bound in found if cell and bound]
        return words.faster(geometric_mean(ratios)) if ratios else ""

    @property
    def best_searcher(self) -> Tuple[str, int, int]:
        """Who wins most rows among the searches: name, rows won, rows."""
        won = Counter(cell.column.title for block, row in self._rows() for cell in [block.fastest(row.key, "search")] if cell)
        name, times = won.most_common(1)[0] if won else ("", 0)
        return name, times, sum(won.values())

    # ---- distance from the paper

    def close(self, kind: str) -> Optional[accuracy.Closeness]:
        """Cells of a kind beside their published numbers; of predicted ones none whose number the fit has seen."""
        return accuracy.closeness(self.table, self.table.blocks[0], kind)

    def error(self, kind: str) -> Optional[float]:
        """Median distance from the published numbers in %."""
        close = self.close(kind)
        return 100 * close.median if close else None

    @property
    def order(self) -> Optional[accuracy.Order]:
        """Of the methods of the first block, against the paper's."""
        orders = [one for one in accuracy.orders(self.table) if one.block is self.table.blocks[0]]
        return orders[0] if orders else None

    def otherwise(self, ours: str, theirs: str, but: str = "") -> Tuple[int, int]:
        """In how many rows the gain of ours is more than ten points away from the paper's, and of how many."""
        pairs = self.pairs(ours, theirs, published=True, but=but)
        return sum(abs(a.median / b.median - a.published / b.published) > 0.1 for a, b in pairs), len(pairs)

    # ---- claims

    def counts(self, of_paper: bool) -> Dict[str, int]:
        """Verdicts by word, those that there are."""
        found = Counter(verdict.word for verdict in self.verdicts if verdict.of_paper == of_paper)
        return {word: found[word] for word in WORDS if found[word]}

    @property
    def unlearned(self) -> List[str]:
        """Why those that claims are about did not learn, over all rows of the first block; who lost in one row alone is named in its claims."""
        asked = {subject for verdict in self.verdicts if verdict.word == UNLEARNED for subject in verdict.subjects}
        whys = [why_not_learned(self.gate, self.block(), [], column.key) for column in self.block().columns if column.key in asked]
        return [why for why in whys if why]
