"""Cases through the program: one GPU of unlimited memory beside a CPU, as PyTorch runs it (one host thread, program order), or the layout's
ranks on hosts of the program."""
import json
import subprocess
from pathlib import Path

from .case import Prediction

CLUSTER = """format: stowplan.cluster
version: 1
interconnect: fair
dispatch: {{per: process, order: program, cost: auto}}
devices:
  - {{name: cpu0, kind: cpu-broadwell, memory: 1TiB}}
  - {{name: gpu0, kind: {kind}, memory: 500TiB}}
links:
  - {{name: pcie, ends: [cpu0, gpu0], bandwidth: 12GB/s, latency: 5us}}
"""

#: Hosts of the program's own clusters.
HOSTS = {"a100": "a100_hosts", "h100": "h100_hosts", "b200": "b200_hosts"}


class Simulator:
    def __init__(self, stowplan, captures, folder):
        self.stowplan = stowplan
        self.captures = captures
        self.folder = Path(folder)  # of what only this run needs

    def cluster(self, kind):
        path = self.folder / f"{kind}.yaml"
        if not path.exists():
            path.write_text(CLUSTER.format(kind=kind))
        return path

    def run(self, graph, kind, *options):
        """(µs of the step, µs in which the GPU works)"""
        outcome = self._simulate(graph, kind, *options)
        return outcome["unlimited_runtime_us"], next(one["busy_us"] for one in outcome["devices"] if one["name"] == "gpu0")

    def types(self, case):
        """{op type: share of the time in which the GPU works}"""
        graph = self._graph(case)
        types = {op["name"]: op["type"] for op in self._json("graph", "convert", graph, "--out", "-")["ops"]}
        times = {}
        for op in self._simulate(graph, case.gpu, "--ops")["ops"]:
            times[types[op["name"]]] = times.get(types[op["name"]], 0) + op["end_us"] - op["start_us"]
        whole = sum(times.values())
        return {kind: us / whole for kind, us in times.items() if us}

    def _graph(self, case):
        return case.workload or self.captures.path(case)

    def _simulate(self, graph, kind, *options):
        return self._json("simulate", "--graph", graph, "--cluster", self.cluster(kind), "--placement", "single_gpu", "--json", "-", *options)

    def _json(self, *command):
        done = subprocess.run([self.stowplan, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)

    def predict(self, case):
        if case.simulate:
            step, roofline = case.simulate()
            return Prediction(case, step / case.measured_us, roofline / case.measured_us, 1)
        if case.layout:
            return self._predict_layout(case)
        graph = self._graph(case)
        host = () if case.host == "auto" else ("--host", case.host)
        step, busy = self.run(graph, case.gpu, *host)
        both = (busy if case.device_time else step), self.run(graph, case.gpu, *host, "--cost-model", "analytic")[case.device_time]
        return Prediction(case, *(time / case.measured_us for time in both), busy / step)

    def _predict_layout(self, case):
        gpus, a_host = case.hosts
        graph = f"layout(of={self._graph(case)},{case.layout})"
        cluster = f"{HOSTS[case.gpu]}(hosts={-(-gpus // a_host)},gpus={min(gpus, a_host)})"
        times = []
        for model in ((), ("--cost-model", "analytic")):
            outcome = self._json("simulate", "--graph", graph, "--cluster", cluster, "--placement", "expert", "--json", "-", *model)
            times.append(outcome["unlimited_runtime_us"])
            if not model:
                busiest = max(outcome["devices"], key=lambda one: one["busy_us"])
                gib = max(one["peak_bytes"] for one in outcome["devices"] if one["name"].startswith("gpu")) / 2**30
        return Prediction(case, *(time / case.measured_us for time in times), busiest["busy_us"] / times[0], gib / case.measured_gib if case.measured_gib else None)
