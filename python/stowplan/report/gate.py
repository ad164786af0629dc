"""The sanity suite: does an agent learn at all (docs/protocol.md#gate)? Small problems whose optimum is known, and real ones on which
an agent must beat itself without learning. Reads results/gate/rows.csv and the cases of tables/papers/gate.yaml."""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

from .table import FILES, lines_of, yaml_of

#: Of an agent's last samples, how far above the optimum they may end: a part of random's or one GPU's, whichever is less, and a part
#: of its own without learning.
PART, GAIN = 0.5, 0.95
RANDOM, ONE_GPU = "random", "single_gpu"
NUMBERS = ("best_s", "late_s", "goal_s", "single_device", "entropy", "gradient_norm")  # of a run


@dataclass
class Case:
    key: str
    title: str
    real: bool  # nothing is known of its optimum


@dataclass
class Agent:
    title: str
    spec: str
    untrained: str
    control: bool  # no network: a case that none of its kind meets says nothing of one that has one
    learner: bool
    seeds: int
    walks: bool  # its samples are steps from a placement that it knows: a kind of its own


def _mean(values: List[float]) -> float:
    return sum(values) / len(values)


class Gate:
    """Who learned, by the runs of results/gate."""

    def __init__(self, results: Path) -> None:
        says: Dict[str, Any] = yaml_of(FILES / "gate.yaml")
        self.cases = [Case(one["key"], one["title"], not one.get("optimum")) for one in says["cases"]]
        self.agents = [Agent(one["title"], one["agent"], one["untrained"], one.get("control", False), one.get("learner", False),
                             one.get("seeds", 3), one.get("walks", False)) for one in says["agents"]]
        self.runs: Dict[Tuple[str, str], List[Dict[str, float]]] = {}
        self.revisions: Set[str] = set()
        path = results / "gate" / "rows.csv"
        if path.is_file():
            for row in lines_of(path):
                self.runs.setdefault((row["case"], row["agent"]), []).append({key: float(row[key]) for key in NUMBERS})
                self.revisions.add(row["revision"])
        self.missed = {agent.spec: text for agent in self.agents if agent.learner for text in [self._missed(agent)] if text}

    def of(self, case: Case, spec: str, what: str) -> List[float]:
        return [run[what] for run in self.runs.get((case.key, spec), [])]

    def seeds(self, case: Case, agent: Agent) -> int:
        return max(agent.seeds, 2) if case.real else agent.seeds

    def not_run(self, case: Case, agent: Agent) -> int:
        return sum(max(0, self.seeds(case, agent) - len(self.runs.get((case.key, spec), []))) for spec in {agent.spec, agent.untrained})

    def part(self, case: Case, spec: str) -> Optional[float]:
        """How far above the optimum it ends, over random's or one GPU's, whichever is less; None where one has no late samples."""
        ours, *others = (self.of(case, one, "late_s") for one in (spec, RANDOM, ONE_GPU))
        if not ours or not all(others) or any(map(math.isnan, ours)):
            return None
        goal = self.of(case, RANDOM, "goal_s")[0]
        return (statistics.median(ours) - goal) / (min(statistics.median(one) for one in others) - goal)

    def fits_alone(self, case: Case, agent: Agent) -> bool:
        """Whether it finds what fits, and itself without learning never does."""
        return self._fits(case, agent.spec) and not self._fits(case, agent.untrained)

    def _fits(self, case: Case, spec: str) -> bool:
        return any(map(math.isfinite, self.of(case, spec, "best_s")))

    def gain(self, case: Case, agent: Agent) -> Optional[float]:
        """Its last samples over those of itself without learning, in the mean (the distance to the optimum, where that is known)."""
        ours, theirs = self.of(case, agent.spec, "late_s"), self.of(case, agent.untrained, "late_s")
        if not ours or not theirs:
            return None
        goal = self.of(case, agent.spec, "goal_s")[0]
        above = _mean(theirs) - goal
        return (_mean(ours) - goal) / above if above else math.nan

    def gains(self, case: Case, agent: Agent) -> bool:
        """Whether its last samples are below those of itself without learning: each of each, and at most GAIN of them in the mean."""
        ratio = self.gain(case, agent)
        if ratio is None or self.fits_alone(case, agent):
            return ratio is not None
        below = max(self.of(case, agent.spec, "late_s")) < min(self.of(case, agent.untrained, "late_s"))
        return self._fits(case, agent.spec) and ratio <= GAIN and below

    def meets(self, case: Case, agent: Agent) -> Optional[bool]:
        """None where a run is missing."""
        if self.not_run(case, agent):
            return None
        if case.real:
            return self.gains(case, agent)
        if not all(self.of(case, one, "best_s") for one in (RANDOM, ONE_GPU)):
            return None
        part = self.part(case, agent.spec)
        return part is not None and part <= PART and self.gains(case, agent)

    def counts(self, case: Case, agent: Agent) -> Optional[bool]:
        """Whether a control of the agent's kind meets the case, but for those that come less near than the agent is from the start."""
        every = True
        for control in self.agents:
            if not control.control or control.walks != agent.walks:
                continue
            meets = self.meets(case, control)
            if meets and not self._ends_beyond(case, agent, control):
                return True
            every = every and meets is not None
        return False if every else None

    def _ends_beyond(self, case: Case, agent: Agent, control: Agent) -> bool:
        theirs = self.of(case, control.spec, "late_s")
        if case.real or not theirs or self.not_run(case, agent):
            return False
        reached = statistics.median(theirs)
        return all(late < reached for spec in (agent.spec, agent.untrained) for late in self.of(case, spec, "late_s"))

    def judged(self, agent: Agent) -> Tuple[List[Case], List[Case], int]:
        """Cases that count and are met, those that are not, and how many runs are missing."""
        judged: Dict[bool, List[Case]] = {True: [], False: []}
        missing = 0
        for case in self.cases:
            counts = self.counts(case, agent)
            if counts is False:
                continue
            meets = self.meets(case, agent)
            if counts is None or meets is None:
                missing += max(1, self.not_run(case, agent))
            else:
                judged[meets].append(case)
        return judged[True], judged[False], missing

    def _missed(self, agent: Agent) -> str:
        """Why it did not learn; empty where it did, or where runs are missing."""
        met, missed, missing = self.judged(agent)
        if missed:
            return f"missed {len(missed)} of the sanity suite's cases ({missed[0].title}{', ...' if len(missed) > 1 else ''})"
        return "" if met or missing else "met none of the sanity suite's cases"
