#!/usr/bin/env python3
"""From a recorded program to a simulated step, without a GPU: the real injected library on a fake CUPTI.

    record_flow_test.py STOWPLAN_PROFILE MADE_UP_GPU FAKE_CUPTI INJECTION STOWPLAN
"""

import json
import os
import re
import subprocess
import sys
import unittest

FAKE_CUPTI, INJECTION, STOWPLAN = sys.argv[3:6]
del sys.argv[3:6]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "main"))
from calls import GPU, Folder, run  # noqa: E402

# What NVTX and the driver do in a process that uses CUDA.
COMMAND = """
import ctypes, os
ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"]).InitializeInjectionNvtx2(ctypes.c_void_p(1))
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
"""
MM_US = 100.0
# Before it ends: one process that fork() makes of it ends by itself, another by a signal of its own.
FORKS = """
import signal, time
if os.fork() == 0:
    raise SystemExit
os.wait()
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(1)
os.kill(child, signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
time.sleep(0.5)
"""


def repeats(us):
    return {"count": 50, "median_us": us, "mad_us": 0.01, "p05_us": us, "p95_us": us, "min_us": us}


def probes(machine, software):
    """Isolated products, a tenth faster than those of the step, and rectifiers."""
    rows = [{"op": "gemm", "phase": "forward", "format": "f32", "shape": {"m": size, "n": size, "k": size},
             "hot": repeats(0.9 * MM_US * (size / 512) ** 3)} for size in (256, 512, 1024, 2048)]
    relus = [{"op": "relu", "phase": "forward", "format": "f32", "shape": {"elements": count}, "hot": repeats(2 + count / 1e5)}
             for count in (2 ** 16, 2 ** 18, 2 ** 20)]
    part = {"outcome": "measured", "date": "2026-11-22"}
    return {"format": "stowplan.trace", "version": 1, "kind": "profiler.probes", "device": "cuda", "machine": machine,
            "software": software, "parts": {"gemm": part | {"result": {"rows": rows}},
                                            "elementwise": part | {"result": {"rows": relus}}}}


class RecordFlow(Folder):
    def stowplan(self, *words):
        done = subprocess.run([STOWPLAN, *words], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def record(self, command=COMMAND):
        """The plug-in is made up, the library that records is not."""
        for name, target in (("libstowplan_cuda.so", os.path.join(GPU, "libstowplan_cuda.so")),
                             ("libstowplan_injection.so", INJECTION)):
            os.symlink(target, self.path(name))
        out = self.path("steps.json")
        environment = os.environ | {"LD_LIBRARY_PATH": FAKE_CUPTI + ":" + GPU, "MADE_UP_NAME": "NVIDIA H200",
                                    "STOWPLAN_CUDA_PLUGIN": self.path("libstowplan_cuda.so")}
        done = run("record", "--out", out, "--", sys.executable, self.write("command.py", command), environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out, done.stderr

    def test_a_forked_process_leaves_nothing_and_has_its_signals_to_itself(self):
        steps, said = self.record(COMMAND + FORKS)
        self.assertIn("usable: 6 device records, nothing left out", said)
        self.assertEqual(len(self.read(steps)["parts"]), 1)

    def test_a_recorded_program_is_told_calibrated_and_simulated(self):
        steps, said = self.record()
        self.assertIn("usable: 6 device records, nothing left out", said)
        recording = self.read(steps)
        (part,) = recording["parts"].values()
        self.assertEqual([marker["name"] for marker in part["result"]["markers"]], ["aten::mm", "aten::relu"] * 3)

        told = self.stowplan("calibrate", "--steps", steps)
        self.assertRegex(told, r"100\.0 %  told")
        self.assertIn("gemm f32 m=512 n=512 k=512", told)

        with open(self.path("probes.json"), "w", encoding="utf-8") as file:
            json.dump(probes(recording["machine"], recording["software"]), file)
        fitted = self.path("fitted.json")
        report = self.stowplan("calibrate", self.path("probes.json"), "--steps", steps, "--out", fitted)
        self.assertRegex(report, r"steps: of 315\.0 us of device time 100\.0 % told")

        # The step's product was probed: what it costs comes from the table.
        graph = {"format": "stowplan.graph", "version": 1, "name": "product", "ops": [
            {"name": name, "type": "Placeholder", "outputs": [{"bytes": 512 * 512 * 4, "dtype": "f32", "shape": [512, 512]}]}
            for name in "ab"] + [
            {"name": "c", "type": "MatMul", "inputs": ["a", "b"], "flops": 2 * 512 ** 3,
             "outputs": [{"bytes": 512 * 512 * 4, "dtype": "f32", "shape": [512, 512]}]}]}
        cluster = "format: stowplan.cluster\nversion: 1\ndevices:\n  - {name: gpu0, kind: h200, memory: 4GiB}\ndispatch: {cost: 0}\n"
        simulated = self.stowplan("simulate", "--graph", self.write("graph.json", json.dumps(graph)), "--cluster",
                               self.write("one.yaml", cluster), "--placement", "single_gpu", "--cost-model", fitted, "--json", "-")
        runtime = json.loads(simulated)["runtime_us"]
        self.assertAlmostEqual(runtime, 0.9 * MM_US, delta=2)


if __name__ == "__main__":
    unittest.main()
