"""Cases through the program: one GPU of unlimited memory beside a CPU, as PyTorch runs it (one host thread, program order)."""
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
        graph = self._graph(case)
        host = () if case.host == "auto" else ("--host", case.host)
        step, busy = self.run(graph, case.gpu, *host)
        both = (busy if case.device_time else step), self.run(graph, case.gpu, *host, "--cost-model", "analytic")[case.device_time]
        return Prediction(case, *(time / case.measured_us for time in both), busy / step)
