"""What there is to choose from: the tables behind `stowplan list`."""

from dataclasses import dataclass
from typing import List

from . import _core


@dataclass(frozen=True)
class Row:
    """One name that a spec may begin with: `name(parameter=value)`."""

    name: str
    what: str  #: one line
    parameters: str  #: with their defaults
    source: str = ""  #: paper or library, of agents
    samples: bool = False  #: of agents: draws placements until the budget is spent; the others make one or a few


def agents() -> List[Row]:
    """The agents that `Problem.search` takes."""
    return [Row(**row) for row in _core.agents()]


def workloads() -> List[Row]:
    """The models that `Graph.load` and `Problem` build by name."""
    return [Row(**row) for row in _core.workloads()]


def clusters() -> List[Row]:
    """The machines that `Problem` knows by name."""
    return [Row(**row) for row in _core.clusters()]


def groupers() -> List[Row]:
    """What makes units, the things that are placed as one, of ops."""
    return [Row(**row) for row in _core.groupers()]


def cost_models() -> List[Row]:
    """What prices ops that have no measured time."""
    return [Row(**row) for row in _core.cost_models()]
