#!/usr/bin/env python3
"""What placements take when variables, updates and the sums of gradients are moved to the CPU.

    host_variables.py PLAN OUT [--stowplan PATH]

PLAN is a JSON object:
    graph, cluster, cost_model  what is placed where, as `stowplan simulate` takes them
    host                        the device that variables are moved to
    rules                       agents that need no search; the first is what the others are compared with
    search                      options of `stowplan place` for the placements that are searched
    seeds                       one searched placement each

A program that keeps its parameters on the host sends every use of a weight down and every partial gradient up. No placement is searched under that
rule: the fastest here is an upper bound on what a search that knew it could find. OUT is Markdown.
"""

import json
import os
import shlex
import tempfile

from experiment import Experiment

HEADER = ("placement", "as it is [s]", "variables on the host [s]", "of the first", "busiest GPU [s]", "host [s]", "busiest link [s]")


def host_ops(graph):
    """Names of variables, of their updates, and of the sums of partial gradients that updates read."""
    by_name = {op["name"]: op for op in graph["ops"]}
    updates = [op for op in graph["ops"] if op.get("phase") == "update"]
    read = {ref.rsplit(":", 1)[0] if ref.rsplit(":", 1)[-1].isdigit() else ref for op in updates for ref in op.get("inputs", [])}
    sums = {name for name in read if by_name[name]["type"] == "AddN"}
    return {op["name"] for op in graph["ops"] if op["type"] == "Variable"} | {op["name"] for op in updates} | sums


def moved(placement, ops, host):
    return {**placement, "placement": {op: host if op in ops else device for op, device in placement["placement"].items()}}


class Scenario:
    """One graph on one cluster, with a folder for what the program writes."""

    def __init__(self, experiment, folder):
        self.experiment, self.plan, self.folder = experiment, experiment.plan, folder
        self.options = ["--graph", self.plan["graph"], "--cluster", self.plan["cluster"], "--cost-model", self.plan["cost_model"]]

    def read(self, *name):
        with open(os.path.join(self.folder, *name), encoding="utf-8") as file:
            return json.load(file)

    def file(self, name):
        return os.path.join(self.folder, name)

    def graph(self):
        self.experiment.stowplan("graph", "convert", self.plan["graph"], "--out", self.file("graph.json"))
        return self.read("graph.json")

    def rule(self, agent):
        self.experiment.stowplan("simulate", *self.options, "--placement", agent, "--save-placement", self.file("rule.json"))
        return self.read("rule.json")

    def searched(self, seed):
        """The placement and the search's run.json."""
        self.experiment.stowplan("place", *self.options, *shlex.split(self.plan["search"]), "--seed", str(seed), "--out", self.file(f"seed{seed}"))
        return self.read(f"seed{seed}", "placement.json"), self.read(f"seed{seed}", "run.json")

    def outcome(self, placement):
        with open(self.file("placement.json"), "w", encoding="utf-8") as out:
            json.dump(placement, out)
        self.experiment.stowplan("simulate", *self.options, "--placement", self.file("placement.json"), "--json", self.file("outcome.json"))
        return self.read("outcome.json")


def seconds(outcome):
    return f"{outcome['runtime_us'] / 1e6:.3f}" if outcome["feasible"] else f"{outcome['unlimited_runtime_us'] / 1e6:.3f} (does not fit)"


def line_of(name, before, after, first, host):
    gpus = [device["busy_us"] for device in after["devices"] if device["name"] != host]
    own = [device["busy_us"] for device in after["devices"] if device["name"] == host]
    return (name, seconds(before), seconds(after), f"{after['unlimited_runtime_us'] / first['unlimited_runtime_us']:.3f}", f"{max(gpus) / 1e6:.3f}",
            f"{own[0] / 1e6:.3f}", f"{max(link['busy_us'] for link in after['links']) / 1e6:.3f}")


def verdict(outcomes):
    fits = [(after["runtime_us"], name) for name, _, after in outcomes if after["feasible"]]
    first = outcomes[0][2]["runtime_us"] if outcomes[0][2]["feasible"] else float("inf")
    best, name = min(fits, default=(float("inf"), ""))
    if best < 0.99 * first:  # as in the tables, within 1 % is not faster
        return f"With variables on the host, \"{name}\" takes {best / 1e6:.3f} s: that the first is best **does not hold** under this rule either."
    return "Nothing here is faster than the first with variables on the host: that the first is best is **undecided**, since nothing was searched under this rule."


def main():
    experiment = Experiment(__file__, __doc__)
    plan = experiment.plan
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(experiment, folder)
        ops = host_ops(scenario.graph())
        placements = [(f"`{rule}`", scenario.rule(rule)) for rule in plan["rules"]]
        for seed in plan["seeds"]:
            placement, run = scenario.searched(seed)
            placements.append((f"search, seed {seed}", placement))
            experiment.count_in(run)
        outcomes = [(name, scenario.outcome(placement), scenario.outcome(moved(placement, ops, plan["host"]))) for name, placement in placements]
    first = outcomes[0][2]
    experiment.write("Variables and the sums of their gradients on the CPU", f"""; simulated. {verdict(outcomes)}

`{plan['graph']}` on `{plan['cluster']}`, prices `{plan['cost_model']}`, search `stowplan place {plan['search']}`. Each placement as it is,
and with {len(ops)} ops on {plan['host']}: variables, their updates, and the sums of partial gradients that updates read. No placement was searched under that rule:
its best is no slower than the fastest here. *Of the first*: over the first line in the same column. The last three columns are of variables on
the host.""", [HEADER] + [line_of(*outcome, first, plan["host"]) for outcome in outcomes])


if __name__ == "__main__":
    main()
