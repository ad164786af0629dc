"""An agent of your own, run by stowplan as a program: `--agent 'external(command=python3 my_agent.py)'`.

    from stowplan import Agent

    class Guess(Agent):
        def propose(self):
            return [self.random.choices(range(len(self.devices)), k=len(self.units)) for _ in range(64)]

    if __name__ == "__main__":
        Guess().run()

The standard library alone. What is said in lines is in docs/formats.md; `print` goes to standard error while an agent runs.
"""

import json
import random
import sys
from collections.abc import Sequence
from typing import Any, Optional, TextIO, Union

Placement = Union[Sequence[int], str]


class Refusal(Exception):
    """Raised by an agent that cannot take its task: stowplan says the text and ends with status 2."""


class Agent:
    """Derive from it, write `propose`, and `observe` where the agent learns from what it is told.

    While it runs:
        task       what stowplan said of the problem, a dict
        devices    that may be chosen: dicts with name, kind, class, capacity_bytes; a placement has their numbers
        units      to be placed: dicts with ops, types, cost_us (by device), persistent_bytes, output_bytes
        edges      between units: [from, to, bytes]
        random     a random.Random of the search's seed; use no other, so that a search can be repeated and resumed
        remaining  samples that are left
        best       the fastest placement that fits so far, and its runtime in best_us; None before
    """

    VERSION = 1

    task: dict[str, Any]
    devices: list[dict[str, Any]]
    units: list[dict[str, Any]]
    edges: list[list[int]]
    random: random.Random
    remaining: int
    best: Optional[Placement]
    best_us: Optional[float]

    def propose(self) -> Optional[Sequence[Placement]]:
        """Placements to be evaluated, a sample each: for each unit a device's number, or a string with a letter for each (`a`
        the first device). Large batches cost less. None or [] ends the search; stowplan takes no more than `remaining`."""
        raise NotImplementedError

    def observe(self, placements: Sequence[Placement], results: list[dict[str, Any]]) -> None:
        """Told what came of each: dicts with runtime_us (as if memory were unlimited), peak_bytes (by device), oom (None: it fits)."""

    def run(self, source: Optional[TextIO] = None, sink: Optional[TextIO] = None) -> None:
        """Speaks with stowplan until one of both has had enough."""
        source, sink = source or sys.stdin, sink or sys.stdout
        kept, sys.stdout = sys.stdout, sys.stderr
        try:
            self._start(json.loads(source.readline()))
            while self.remaining > 0 and (proposed := self.propose()) is not None and len(proposed) > 0:
                self._say(sink, {"evaluate": proposed})
                line = source.readline()
                if not line:  # stowplan was told to stop
                    return
                self._hear(proposed, json.loads(line))
            if self.remaining > 0:
                self._say(sink, {"done": True})
        except Refusal as refusal:
            self._say(sink, {"error": str(refusal)})
        finally:
            sys.stdout = kept

    def _start(self, task: dict[str, Any]) -> None:
        if (task["format"], task["version"]) != ("stowplan.agent", self.VERSION):
            raise Refusal(f"knows version {self.VERSION} of stowplan.agent, not {task['format']} {task['version']}")
        self.task, self.devices, self.units, self.edges = task, task["devices"], task["units"], task["edges"]
        self.random, self.remaining = random.Random(task["seed"]), task["budget"]
        self.best, self.best_us = None, None

    def _hear(self, placements: Sequence[Placement], answer: dict[str, Any]) -> None:
        self.remaining = answer["remaining"]
        results = answer["results"]
        placements = placements[:len(results)]
        for placement, result in zip(placements, results):
            if result["oom"] is None and (self.best_us is None or result["runtime_us"] < self.best_us):
                self.best, self.best_us = placement, result["runtime_us"]
        self.observe(placements, results)

    @staticmethod
    def _say(sink: TextIO, document: dict[str, Any]) -> None:
        # Arrays and numbers of NumPy and torch know themselves as lists.
        print(json.dumps(document, default=lambda value: value.tolist()), file=sink, flush=True)
