"""What a page shows: grids of cells and plots, without a word of how they are drawn."""

from dataclasses import dataclass, field
from typing import List, Optional, Tuple


@dataclass
class Grid:
    """A table on a page. Cells are texts; a tip explains one on demand."""

    title: str
    header: List[str]
    rows: List[List[str]]
    note: str = ""
    tips: List[List[str]] = field(default_factory=list)  # as rows, or empty
    folded: bool = False


@dataclass
class Series:
    """One line or one set of marks."""

    name: str
    points: List[Tuple[float, float]]  # x, y
    group: str = "search"  # rule, scheduler, search, learner, paper: how it is drawn
    low: List[Optional[float]] = field(default_factory=list)  # by point: the interval in y
    high: List[Optional[float]] = field(default_factory=list)


@dataclass
class Plot:
    """With axes, units and ticks always."""

    title: str
    x_label: str  # "samples"
    y_label: str  # "seconds per step"
    series: List[Series]
    kind: str = "steps"  # steps, dots, lines; of dots `categories` names the rows, which y counts
    categories: List[str] = field(default_factory=list)
    log_x: bool = False
    log_y: bool = False
    spoken: str = ""  # what it shows, in a sentence
