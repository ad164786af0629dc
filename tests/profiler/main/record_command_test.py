#!/usr/bin/env python3
"""stowplan-profile record: what it checks, what it writes, how it ends; the command does the injected plug-in's part.

    record_command_test.py PROGRAM FOLDER
"""

import os
import signal
import subprocess
import sys
import time
import unittest

from calls import PROGRAM, Folder, run, with_gpu

LEAVE = """
import os, signal, sys, time
def leave(*_):
    kernel = {"name": "k", "start_ns": 10, "end_ns": 20, "stream": 1, "correlation": 1}
    call = {"name": "cudaLaunchKernel", "start_ns": 1, "end_ns": 5, "correlation": 1}
    import json
    with open(os.path.join(os.environ["STOWPLAN_PROFILE_FOLDER"], f"{os.getpid()}.json"), "w") as file:
        json.dump({"format": "stowplan.trace", "version": 1, "kind": "profiler.activity", "machine": {}, "parts": {
            f"process {os.getpid()}": {"outcome": "measured", "date": "2026-11-21",
                                       "result": {"kernels": [kernel], "calls": [call]}}}}, file)
    sys.exit(int(sys.argv[2]))
signal.signal(signal.SIGTERM, leave)
open(sys.argv[1], "w").close()
if sys.argv[2] == "0": leave()
time.sleep(60)
"""


class Record(Folder):
    def setUp(self):
        super().setUp()
        self.out = self.path("new", "steps.json")
        self.ran = self.path("ran")
        self.script = self.write("leave.py", LEAVE)

    def arguments(self, *options, status="0"):
        return ["record", "--out", self.out, *options, "--", sys.executable, self.script, self.ran, status]

    def test_says_which_gpu_and_which_libraries(self):
        done = run(*self.arguments("--kineto", self.path("kineto.json")),
                   environment=with_gpu(MADE_UP_NAME="NVIDIA H100"))
        self.assertEqual(done.returncode, 0, done.stderr)
        recording = self.read(self.out)
        self.assertEqual(recording["machine"]["gpu"], "NVIDIA H100")
        self.assertIn("cpu", recording["machine"])
        self.assertEqual(recording["software"], {"cuda_driver": "13.0"})
        self.assertIn("traceEvents", self.read(self.path("kineto.json")))

    def test_looks_at_every_output_before_the_command_runs(self):
        there = self.write("there.json", "mine")
        for options, why in ((("--kineto", there), "there.json is there already"),
                             (("--kineto", os.path.join(there, "x")), "there.json"), (("--kineto", "/proc/x/y"), "/proc/x")):
            done = run(*self.arguments(*options), environment=with_gpu())
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(why, done.stderr)
        self.out = there
        self.assertEqual(run(*self.arguments(), environment=with_gpu()).returncode, 2)
        with open(there, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.assertFalse(os.path.exists(self.ran))

    def test_a_signal_stops_the_command_and_what_it_did_is_written(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen([PROGRAM, *self.arguments(status="7")], stderr=subprocess.PIPE, text=True,
                                  env=with_gpu()) as child:
                end = time.monotonic() + 60
                while not os.path.exists(self.ran) and time.monotonic() < end:
                    time.sleep(0.01)
                child.send_signal(number)
                said = child.communicate(timeout=60)[1]
            self.assertEqual(child.returncode, 1, said)
            self.assertIn("the command was stopped (status 7); what it did until then is in " + self.out, said)
            self.assertEqual(len(self.read(self.out)["parts"]), 1)
            os.remove(self.out)
            os.remove(self.ran)

    def test_a_command_that_is_not_there_is_refused(self):
        done = run("record", "--out", self.out, "--", "no-such-program", environment=with_gpu())
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.split("stowplan-profile: ")[-1],
                         "no-such-program cannot be started: No such file or directory\n")
        self.assertFalse(os.path.exists(self.out))

    def test_a_command_that_never_used_cuda_is_told(self):
        done = run("record", "--out", self.out, "--", "true", environment=with_gpu())
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("nothing was recorded", done.stderr)
        self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    unittest.main()
