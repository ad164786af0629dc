"""Who learned at all: the cases of the sanity suite (docs/protocol.md#gate)."""

import math
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from ..gate import PART, Agent, Case, Gate
from ..grid import Grid
from ..table import spec
from .common import dots, number

#: Cases by the beginning of their keys; those on real graphs have none in common.
KINDS = ("balance", "chains", "tiny", "real")


def verdict(gate: Gate, agent: Agent) -> str:
    met, missed, missing = gate.judged(agent)
    return "did not learn" if missed else "learned" if met and not missing else "not known"


def met_of(gate: Gate, agent: Agent, kind: str = "") -> Tuple[int, int]:
    """How many of the cases (of one kind) that were run and count are met; of a control every case counts."""
    cases = [case for case in gate.cases if not kind or (case.real if kind == "real" else case.key.startswith(kind))]
    met = [gate.meets(case, agent) for case in cases if agent.control or gate.counts(case, agent)]
    return sum(one is True for one in met), sum(one is not None for one in met)


def excused(gate: Gate, agent: Agent) -> List[Case]:
    """What a learner missed and a control of its kind met, but that does not count."""
    return [case for case in gate.cases if agent.learner and gate.meets(case, agent) is False and gate.counts(case, agent) is False
            and any(control.control and control.walks == agent.walks and gate.meets(case, control) for control in gate.agents)]


def missing(gate: Gate, agent: Agent) -> Tuple[int, int]:
    """Runs that are missing, and those that are planned."""
    return (sum(gate.not_run(case, agent) for case in gate.cases),
            sum(gate.seeds(case, agent) for case in gate.cases) * len({agent.spec, agent.untrained}))


def _number(gate: Gate, case: Case, agent: Agent) -> Optional[str]:
    if not case.real:
        part = gate.part(case, agent.spec)
        return None if part is None else number(max(0.0, part))  # below 0 by rounding alone
    gain = gate.gain(case, agent)
    return None if gain is None else "fits" if gate.fits_alone(case, agent) else f"{gain:.3f}"


def _remark(gate: Gate, case: Case, agent: Agent) -> str:
    """Why a case is not met; empty where it is."""
    left = gate.not_run(case, agent)
    if left or gate.meets(case, agent):
        return f"{left} more to run" if left else ""
    counts = gate.counts(case, agent)
    part, gain = gate.part(case, agent.spec), gate.gain(case, agent)
    near = f"; {gain:.3f} of the distance without learning" if not case.real and part is not None and part <= PART and gain is not None else ""
    return ("its controls were not run" if counts is None else "missed" if counts else "missed, but does not count") + near


def _course(gate: Gate, agent: Agent) -> List[str]:
    runs = [run for case in gate.cases for run in gate.runs.get((case.key, agent.spec), [])]

    def mean(key: str) -> str:
        total = sum(run[key] for run in runs)
        return f"{total / len(runs):.2g}" if runs and math.isfinite(total) else "–"

    return [agent.title, mean("entropy"), mean("gradient_norm"), mean("single_device")]


def page(results: Path) -> Tuple[Dict[str, Any], List[Any]]:
    gate = Gate(results)
    verdicts = {agent.title: verdict(gate, agent) for agent in gate.agents}
    of = {word: [agent.title for agent in gate.agents if agent.learner and verdicts[agent.title] == word]
          for word in ("learned", "did not learn", "not known")}
    left = {agent.title: missing(gate, agent) for agent in gate.agents}
    presets: Dict[str, List[bool]] = {}
    for agent in gate.agents:
        if agent.learner:
            presets.setdefault(spec(agent.spec)[1].get("preset", "tuned"), []).append(verdicts[agent.title] == "learned")
    facts = {"learners": sum(agent.learner for agent in gate.agents), "learned": of["learned"], "did_not_learn": of["did not learn"],
             "not_known": of["not known"], "presets": {preset: (sum(those), len(those)) for preset, those in presets.items()}, "runs": sum(map(len, gate.runs.values())), "revisions": sorted(gate.revisions),
             "missing": {title: counts for title, counts in left.items() if counts[0]},
             "excused": {agent.title: [case.title for case in excused(gate, agent)] for agent in gate.agents if excused(gate, agent)}}
    shares: Dict[str, Dict[str, float]] = {"search": {}, "learner": {}}
    for agent in gate.agents:
        met, run = met_of(gate, agent)
        if run:
            shares["learner" if agent.learner else "search"][agent.title] = 100 * met / run
    plot = dots("Cases that are met", "% of the cases that were run and count", [agent.title for agent in gate.agents],
                {"learners": ("learner", shares["learner"]), "controls without a network, random draws, one GPU": ("search", shares["search"])},
                "For each agent the part of the sanity suite's cases that it meets. A learner below 100 % did not learn.")

    def text(agent: Agent, kind: str) -> str:
        met, run = met_of(gate, agent, kind)
        return f"{met}/{run}" if run else "–"

    summary = Grid("Cases that are met", ["agent", "verdict"] + list(KINDS),
                   [[agent.title, verdicts[agent.title]] + [text(agent, kind) for kind in KINDS] for agent in gate.agents],
                   "Of the cases that were run and count. Balance: equal ops to spread; chains: chains of ops to keep together; tiny: ten ops "
                   "against brute force; real: three graphs of the tables at other batch sizes.",
                   [[agent.spec, f"{left[agent.title][0]} runs are missing" if left[agent.title][0] else "", *[""] * len(KINDS)]
                    for agent in gate.agents])
    cells = [[_number(gate, case, agent) for case in gate.cases] for agent in gate.agents]
    tips = [["" if one is None else _remark(gate, case, agent) for case, one in zip(gate.cases, of)] for agent, of in zip(gate.agents, cells)]
    every = Grid("Case by case", ["agent", "verdict"] + [case.title for case in gate.cases],
                 [[agent.title, verdicts[agent.title]] + ["not run" if number is None else number + (" !" if tip.startswith("missed") else "")
                                                          for number, tip in zip(numbers, of_agent)]
                  for agent, numbers, of_agent in zip(gate.agents, cells, tips)],
                 "Where the optimum is known: how far the last tenth of the samples is above it, over how far random draws or one GPU are, "
                 "whichever is less, by the median seed; more than 0.5 is missed. On real graphs: the last tenth over that of the same agent "
                 "with a learning rate of 0, means over seeds. Everywhere the last tenth of each seed must also be below that of each without "
                 "learning, and 5 % less in the mean. A case does not count that no control of the agent's kind meets, nor one where each of "
                 "the agent's seeds, with learning and without, ends nearer than the controls that meet it. ! is missed.",
                 [["", "", *of] for of in tips], folded=True)
    course = Grid("How runs end", ["agent", "entropy (nat)", "gradient norm", "on one device"], [_course(gate, agent) for agent in gate.agents],
                  "Means over all runs of an agent with learning. Early runs logged neither entropy nor gradient.", folded=True)
    return facts, [plot, summary, every, course]
