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

from calls import GPU, PROGRAM, Folder, run, with_gpu

LEAVE = """
import json, os, signal, struct, sys, time
def leave(*_):
    kernel = {"name": "k", "start_ns": 10, "end_ns": 20, "stream": 1, "correlation": 1}
    call = {"name": "cudaLaunchKernel", "start_ns": 1, "end_ns": 5, "correlation": 1}
    parts = {f"process {os.getpid()}": {"outcome": "measured", "date": "2026-11-21", "incomplete": "cut", "clocks": {"sm": 1980},
                                        "result": {"kernels": [kernel], "calls": [call]}},
             "process of a helper": {"outcome": "measured", "date": "2026-11-22", "result": {}},
             "process that failed": {"outcome": "failed", "date": "2026-11-23", "reason": "no permission"}}
    parts = {name: parts[name] for name in list(parts)[:int(os.environ.get("PARTS", 1))]}
    text = json.dumps({"format": "stowplan.trace", "version": 1, "kind": "profiler.activity", "machine": {},
                       "parts": parts}).encode()
    # A frame of zstd that holds one block as it is.
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(text)) + struct.pack("<I", 1 | len(text) << 3)[:3] + text
    with open(os.environ["STOWPLAN_PROFILE_FILE"], "ab") as file:
        file.write(frame)
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

    def test_refuses_one_file_for_two_outputs_before_the_command_runs(self):
        folder = self.path("new")
        os.mkdir(folder)
        os.symlink(folder, self.path("same"))
        os.symlink("steps.json", os.path.join(folder, "link.json"))
        names = ("steps.json", "steps.json.zst", "./steps.json", "../new/steps.json", "link.json", "../same/steps.json")
        for out, kinetos in (("steps.json", names), ("steps.json.zst", ("steps.json.zst", "../same/steps.json.zst")),
                             (self.path("same", "steps.json"), names)):
            self.out = out
            for kineto in kinetos:
                done = run(*self.arguments("--kineto", kineto), environment=with_gpu(), cwd=folder)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn("--kineto: " + kineto + " is the file that --out writes", done.stderr)
        self.assertFalse(os.path.exists(self.ran))
        self.assertEqual(os.listdir(folder), ["link.json"])
        self.out = self.path("new", "steps.json")
        done = run(*self.arguments("--kineto", "steps.kineto.json"), environment=with_gpu(), cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(folder)), ["link.json", "steps.json", "steps.kineto.json"])

    def test_what_each_process_said_of_itself_stays_and_kineto_shows_one_with_records(self):
        done = run(*self.arguments("--kineto", self.path("kineto.json")), environment=with_gpu(PARTS="3"))
        self.assertEqual(done.returncode, 0, done.stderr)
        (own, helper, failed) = self.read(self.out)["parts"].values()
        self.assertEqual([part["date"][-2:] for part in (own, helper, failed)], ["21", "22", "23"])
        self.assertEqual((own["incomplete"], own["clocks"], len(own["result"]["kernels"])), ("cut", {"sm": 1980}, 1))
        self.assertEqual((failed["outcome"], failed["reason"]), ("failed", "no permission"))
        for part in (own, helper, failed):
            self.assertIn(" record --out ", part["command"])
            self.assertGreater(part["wall_s"], 0)
        kernels = [event["name"] for event in self.read(self.path("kineto.json"))["traceEvents"] if event.get("cat") == "kernel"]
        self.assertEqual(kernels, ["k"])

    def test_refuses_a_wrong_window_before_the_command_runs(self):
        for options in (("--after", "0"), ("--after=-3",), ("--after", "1.5"), ("--for", "2x"), ("--for", "0s"),
                        ("--for", "1e99s"), ("--for", "range:"), ("--for", "99999999999999999999"), ("--buffer-mib", "1"),
                        ("--buffer-mib", "many")):
            done = run(*self.arguments(*options), environment=with_gpu())
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(options[0].split("=")[0], done.stderr)
        self.out = "-"
        done = run(*self.arguments(), environment=with_gpu())
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertFalse(os.path.exists(self.ran))

    def test_a_packed_recording_is_what_was_written_while_the_command_ran(self):
        self.out = self.path("steps.trace.zst")
        done = run(*self.arguments(), environment=with_gpu())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.out, "rb") as file:
            self.assertEqual(file.read().count(b"\x28\xb5\x2f\xfd"), 3)  # the machine, the process, who made it
        plain = self.path("new", "steps.json")
        self.out = plain
        run(*self.arguments(), environment=with_gpu())
        self.assertEqual(os.listdir(os.path.dirname(plain)), ["steps.json"])

    def test_without_cupti_nothing_is_run(self):
        os.symlink(os.path.join(GPU, "libstowplan_cuda.so"), self.path("libstowplan_cuda.so"))
        self.write("libstowplan_injection.so", "no library")
        done = run(*self.arguments(), environment=with_gpu(STOWPLAN_CUDA_PLUGIN=self.path("libstowplan_cuda.so")))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("CUPTI", done.stderr)
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

    def test_a_command_that_never_used_cuda_is_told(self):
        done = run("record", "--out", self.out, "--", "true", environment=with_gpu())
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("nothing was recorded", done.stderr)
        self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    unittest.main()
