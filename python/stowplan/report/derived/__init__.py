"""What the pages show beside their main table, and the pages that are derived from several tables.

`facts` are numbers for the lead of a page (templates/findings/NAME.md), never sentences.
"""

from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple, Union

from ..grid import Grid, Plot
from ..table import Table
from . import accuracy, bounds, budget, costs, learning, robustness, sanity, units

__all__ = ["DERIVED", "can", "page", "sections"]

Part = Union[Grid, Plot]
DERIVED: Dict[str, Callable[[Path], Tuple[Dict[str, Any], List[Part]]]] = {
    "bounds": bounds.page, "budget": budget.page, "robustness": robustness.page, "gate": sanity.page}
STUDIES: Dict[str, Callable[[Table], List[Part]]] = {
    "pretraining": learning.pretraining, "generalisation": learning.generalisation, "units": units.sections}


def page(name: str, results: Path) -> Tuple[Dict[str, Any], List[Part]]:
    """Facts, and parts: the main plot first."""
    return DERIVED[name](results)


def can(name: str, results: Path) -> bool:
    """Whether there is what it is made of."""
    return name in ("bounds", "budget") or (results / name / "rows.csv").is_file()


def sections(table: Table) -> List[Part]:
    """Of a run table: its own study first, then how near it is to the paper, then what it cost."""
    means = costs.means_over(table)
    study = STUDIES.get(table.says.get("analysis", ""))
    return (study(table) if study else []) + ([means] if means else []) + accuracy.sections(table) + costs.sections(table)
