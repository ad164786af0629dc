#!/usr/bin/env python3
"""What placements take when variables, updates and the sums of gradients are moved to the CPU (PROTOCOL 8, RNNLM).

    host_variables.py PLAN OUT [--berth PATH]

PLAN is a JSON object:
    graph, cluster, cost_model  what is placed where, as `berth simulate` takes them
    host                        the device that variables are moved to
    rules                       agents that need no search; the first is what the others are compared with
    search                      options of `berth place` for the placements that are searched
    seeds                       one searched placement each

A program that keeps its parameters on the host sends every use of a weight down and every partial gradient up. No placement is searched under that
rule: the fastest here is an upper bound on what a search that knew it could find. OUT is Markdown.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BERTH = os.path.join(ROOT, "build", "release", "bench", "berth")
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


class Berth:
    def __init__(self, path, plan, folder):
        self.path, self.plan, self.folder = os.path.abspath(path), plan, folder
        self.scenario = ["--graph", plan["graph"], "--cluster", plan["cluster"], "--cost-model", plan["cost_model"]]

    def call(self, *options):
        done = subprocess.run([self.path, *options], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"host_variables.py: {shlex.join(['berth', *options])}: status {done.returncode}\n{done.stderr.strip()[-500:]}")

    def read(self, *name):
        with open(os.path.join(self.folder, *name), encoding="utf-8") as file:
            return json.load(file)

    def file(self, name):
        return os.path.join(self.folder, name)

    def graph(self):
        self.call("graph", "convert", self.plan["graph"], "--out", self.file("graph.json"))
        return self.read("graph.json")

    def rule(self, agent):
        self.call("simulate", *self.scenario, "--placement", agent, "--save-placement", self.file("rule.json"))
        return self.read("rule.json")

    def searched(self, seed):
        """The placement and the search's run.json."""
        self.call("place", *self.scenario, *shlex.split(self.plan["search"]), "--seed", str(seed), "--out", self.file(f"seed{seed}"))
        return self.read(f"seed{seed}", "placement.json"), self.read(f"seed{seed}", "run.json")

    def outcome(self, placement):
        with open(self.file("placement.json"), "w", encoding="utf-8") as out:
            json.dump(placement, out)
        self.call("simulate", *self.scenario, "--placement", self.file("placement.json"), "--json", self.file("outcome.json"))
        return self.read("outcome.json")


def seconds(outcome):
    return f"{outcome['runtime_us'] / 1e6:.3f}" if outcome["feasible"] else f"{outcome['unlimited_runtime_us'] / 1e6:.3f} (does not fit)"


def line_of(name, before, after, first, host):
    gpus = [device["busy_us"] for device in after["devices"] if device["name"] != host]
    own = [device["busy_us"] for device in after["devices"] if device["name"] == host]
    return (name, seconds(before), seconds(after), f"{after['unlimited_runtime_us'] / first['unlimited_runtime_us']:.3f}", f"{max(gpus) / 1e6:.3f}",
            f"{own[0] / 1e6:.3f}", f"{max(link['busy_us'] for link in after['links']) / 1e6:.3f}")


def reading(outcomes):
    fits = [(after["runtime_us"], name) for name, _, after in outcomes if after["feasible"]]
    first = outcomes[0][2]["runtime_us"] if outcomes[0][2]["feasible"] else float("inf")
    best, name = min(fits, default=(float("inf"), ""))
    if best < 0.99 * first:  # as in the tables, within 1 % is not faster
        return f"With variables on the host, \"{name}\" takes {best / 1e6:.3f} s: that the first is best **does not hold** under this rule either."
    return "Nothing here is faster than the first with variables on the host: that the first is best is **undecided**, since nothing was searched under this rule."


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("plan")
    parser.add_argument("out")
    parser.add_argument("--berth", default=BERTH)
    options = parser.parse_args()
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        berth = Berth(options.berth, plan, folder)
        ops = host_ops(berth.graph())
        placements = [(f"`{rule}`", berth.rule(rule)) for rule in plan["rules"]]
        made = set()
        for seed in plan["seeds"]:
            placement, run = berth.searched(seed)
            placements.append((f"search, seed {seed}", placement))
            made.add(f"revision {run['revision']}{' with changes' if run['dirty'] else ''}, {run['machine']}, {run['date'][:10]}")
        outcomes = [(name, berth.outcome(placement), berth.outcome(moved(placement, ops, plan["host"]))) for name, placement in placements]
    first = outcomes[0][2]
    lines = [HEADER, ["---"] * len(HEADER)] + [line_of(*outcome, first, plan["host"]) for outcome in outcomes]
    plan_path, out_path = (os.path.relpath(os.path.abspath(path), os.path.abspath(ROOT)) for path in (options.plan, options.out))
    with open(options.out, "w", encoding="utf-8") as out:
        out.write(f"""# Variables and the sums of their gradients on the CPU

    bench/sweep/host_variables.py {plan_path} {out_path}

{'; '.join(sorted(made))}; simulated. `{plan['graph']}` on `{plan['cluster']}`, prices `{plan['cost_model']}`,
search `berth place {plan['search']}`. Each placement as it is, and with {len(ops)} ops moved to {plan['host']}:
variables, their updates, and the sums of partial gradients that updates read. The searches move GPUs alone and know nothing of that rule; the best placement under it is no slower than the fastest here. *Of the first*: over the first line in the same column. The last three columns are of the run with variables on the host.

{reading(outcomes)}

""")
        out.writelines("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
