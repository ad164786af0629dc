#!/usr/bin/env python3
"""stowplan-profile graph and the probes of the CPU, as people call them.

    graph_test.py PROGRAM
"""

import json
import os
import signal
import subprocess
import time
import unittest

from calls import PROGRAM, Folder, run

CORES = len(os.sched_getaffinity(0))

CLUSTER = """format: stowplan.cluster
version: 1
name: two
devices:
  - {name: cpu0, kind: cpu, memory: 1GiB}
  - {name: cpu1, kind: %s, memory: 1GiB}
links:
  - {name: bus, ends: [cpu0, cpu1], bandwidth: 1GB/s}
"""

QUICK = ("--warm-up", "1", "--steps", "3", "--at-most", "6", "--traced", "1", "--cores", "1",
         "--again-seconds", "0")  # a busy machine disturbs steps, which is no matter of these tests


class StepFolder(Folder):
    def setUp(self):
        super().setUp()
        self.cluster = self.write("two.yaml", CLUSTER % "cpu")
        self.out = self.path("steps.json")

    def placement(self, name, devices, **more):
        placed = dict(zip(("w", "x", "a", "b", "c"), ("cpu" + device for device in devices)))
        return self.write(name, json.dumps({"format": "stowplan.placement", "version": 1, "graph": "products",
                                            "placement": placed} | more))

    def recorded(self):
        with open(self.out, encoding="utf-8") as file:
            return json.load(file)

    def graph_call(self, *placements, more=QUICK, **environment):
        return run("graph", self.graph, *placements, "--cluster", self.cluster, "--out", self.out, *more, **environment)


@unittest.skipIf(CORES < 2, "two devices want a core each")
class Graph(StepFolder):
    def test_records_steps_spans_peaks_and_stand_ins_of_every_placement(self):
        done = self.graph_call(self.placement("blocks-01.json", "00011"),
                               self.placement("alone.json", "00000", priority={"c": 1.0}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 2)
        recording = self.recorded()
        self.assertEqual((recording["format"], recording["workload"], recording["wanted_steps"]),
                         ("stowplan.validation", self.graph, 3))
        self.assertEqual(recording["stand_ins"], ["Whatever"])
        self.assertIn("onednn", recording["provenance"]["software"])
        self.assertIn("graph", recording["provenance"]["command"])
        blocks, alone = recording["placements"]
        self.assertEqual((blocks["family"], blocks["device"]), ("blocks", "00011"))
        self.assertEqual((alone["family"], alone["device"]), ("alone", "00000"))
        self.assertEqual(len(alone["priority"]), 5)
        for placement in (blocks, alone):
            self.assertGreaterEqual(len(placement["steps_us"]), 3)
            self.assertTrue(all(us > 0 for us in placement["steps_us"]))
            self.assertNotIn("oom", placement)
        self.assertGreaterEqual(blocks["peak_bytes"][0], 4096 + 4096)  # the variable and what is read
        self.assertEqual(blocks["peak_bytes"][1], 4096 + 8192 + 8192 - 4096)  # the copy goes when b has read it
        self.assertEqual(alone["peak_bytes"][1], 0)
        traced = recording["traced"]
        self.assertEqual([step["placement"] for step in traced], [0, 1])
        self.assertEqual(sorted(op[:2] for op in traced[0]["ops"]), [[2, 0], [3, 1], [4, 1]])
        self.assertEqual([copy[:4] for copy in traced[0]["copies"]], [[2, 0, 0, 1]])

    def test_goes_on_with_what_is_missing_and_leaves_the_rest_as_it_was(self):
        first = self.placement("a.json", "00000")
        self.assertEqual(self.graph_call(first).returncode, 0)
        before = self.recorded()["placements"]
        done = self.graph_call(first, self.placement("b.json", "01000"), more=QUICK + ("--seed", "3"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(self.recorded()["placements"][:1], before)
        self.assertEqual(len(self.recorded()["placements"]), 2)
        self.assertEqual(self.graph_call(first).stderr, "")

    def test_loses_no_finished_placement_to_a_kill(self):
        placements = [self.placement(f"cuts-{i:02}.json", f"{i:05b}") for i in range(32)]
        call = [PROGRAM, "graph", self.graph, *placements, "--cluster", self.cluster, "--out", self.out, *QUICK,
                "--pause-us", "20000"]
        with subprocess.Popen(call, stderr=subprocess.DEVNULL) as child:
            end = time.monotonic() + 60
            while not os.path.exists(self.out) and time.monotonic() < end:
                time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
            child.wait()
        before = self.recorded()["placements"]
        self.assertGreater(len(before), 0)
        self.assertEqual(self.graph_call(*placements).returncode, 0)
        after = self.recorded()["placements"]
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(sorted(p["device"] for p in after), sorted(f"{i:05b}" for i in range(32)))

    def test_running_out_of_memory_is_a_result(self):
        done = self.graph_call(self.placement("alone.json", "00000"), more=QUICK + ("--memory-cap", "cpu0=16KiB"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("out of memory: c needs 20480 bytes on cpu0, which has 16384", done.stderr)
        placement = self.recorded()["placements"][0]
        self.assertEqual(placement["steps_us"], [])
        self.assertEqual(placement["oom"], {"device": 0, "op": 4, "what": "output", "needed_bytes": 20480,
                                            "capacity_bytes": 16384})

    def test_recordings_are_not_mixed(self):
        placement = self.placement("alone.json", "00000")
        self.assertEqual(self.graph_call(placement).returncode, 0)
        for more, what in ((("--cores", "1", "--steps", "4"), "--steps"), (QUICK + ("--memory-cap", "cpu1=1MiB"), "cluster"),
                           (QUICK + ("--workload", "other"), "graph")):
            done = self.graph_call(placement, more=more)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, what + ".*recordings are not mixed")


class Calls(StepFolder):

    def test_says_what_is_missing_and_writes_nothing(self):
        placement = self.placement("alone.json", "00000")
        done = self.graph_call(placement, STOWPLAN_CPU_PLUGIN="/no/such/plugin.so")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^stowplan-profile: cannot run here: the CPU plug-in cannot be opened: "
                                      r"/no/such/plugin\.so: No such file or directory\n$")
        many = self.graph_call(placement, more=("--cores", "1000"))
        self.assertEqual(many.returncode, 1)
        self.assertIn("cannot run here: the cluster's devices want 2000 cores", many.stderr)
        self.cluster = self.write("gpu.yaml", CLUSTER % "h200")
        done = self.graph_call(placement)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^stowplan-profile: cannot run here: .+\n$")
        self.assertFalse(os.path.exists(self.out))


class Probes(StepFolder):
    def test_a_cpu_answers_in_the_rows_of_a_gpu(self):
        done = run("run", "softmax", "lstm_cell", "copy_host", "--device", "cpu", "--cores", "1", "--quick", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        recording = self.recorded()
        self.assertEqual((recording["device"], recording["machine"]["probe_cores"]), ("cpu", 1))
        rows = recording["parts"]["softmax"]["result"]["rows"]
        timed = [row for row in rows if row["format"] == "f32"]
        self.assertEqual({row["phase"] for row in timed}, {"forward", "backward"})
        for row in timed + [row for row in recording["parts"]["lstm_cell"]["result"]["rows"] if row["format"] == "f32"]:
            self.assertGreater(row["hot"]["median_us"], 0)
            self.assertGreater(row["cold"]["median_us"], 0)
        self.assertEqual({row["unavailable"] for row in rows if row["format"] == "bf16"},
                         {"the CPU's kernels compute in f32 alone"})
        sizes = [row["bytes"] for row in recording["parts"]["copy_host"]["result"]["rows"]]
        self.assertEqual(sizes[0], 4)


if __name__ == "__main__":
    unittest.main()
