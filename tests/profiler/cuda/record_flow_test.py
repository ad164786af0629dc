#!/usr/bin/env python3
"""From a recorded program to a simulated step, without a GPU: the real injected library on a fake CUPTI.

    record_flow_test.py STOWPLAN_PROFILE MADE_UP_GPU FAKE_CUPTI INJECTION STOWPLAN
"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

FAKE_CUPTI, INJECTION, STOWPLAN = sys.argv[3:6]
del sys.argv[3:6]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "main"))
from calls import GPU, PROGRAM, Folder, run  # noqa: E402

# What NVTX and the driver do in a process that uses CUDA; behind it the process is a program with a GPU.
BEGIN = """
import ctypes, os, signal, time
injection = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])
injection.InitializeInjectionNvtx2(ctypes.c_void_p(1))
injection.InitializeInjection()
gpu = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "libcupti" in line))
"""
COMMAND = BEGIN + 'gpu.fake_run(b"f32", 6)\n'
MM_US = 100.0
# Before it ends: one process that fork() makes of it ends by itself, another by a signal of its own.
FORKS = """
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
    relus = [{"op": "add", "phase": "forward", "format": "f32", "shape": {"elements": count}, "hot": repeats(2 + count / 1e5)}
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

    def recorder(self, *options, command=COMMAND, out="steps.json", **environment):
        """The plug-in is made up, the library that records is not."""
        for name, target in (("libstowplan_cuda.so", os.path.join(GPU, "libstowplan_cuda.so")),
                             ("libstowplan_injection.so", INJECTION)):
            if not os.path.islink(self.path(name)):
                os.symlink(target, self.path(name))
        environment = os.environ | {"LD_LIBRARY_PATH": FAKE_CUPTI + ":" + GPU, "MADE_UP_NAME": "NVIDIA H200",
                                    "STOWPLAN_CUDA_PLUGIN": self.path("libstowplan_cuda.so")} | environment
        arguments = ("record", "--out", self.path(out), *options, "--", sys.executable, self.write("command.py", command))
        return arguments, environment

    def record(self, *options, status=0, **more):
        """Where the recording is, and what was said."""
        arguments, environment = self.recorder(*options, **more)
        done = run(*arguments, environment=environment)
        self.assertEqual(done.returncode, status, done.stderr)
        return arguments[2], done.stderr

    def part(self, *options, **more):
        """The one part of a recording."""
        (part,) = self.read(self.record(*options, **more)[0])["parts"].values()
        return part

    def launches(self, *options, **more):
        """Which launches were recorded, by their correlation; both kernels and calls say it."""
        result = self.part(*options, **more)["result"]
        kernels, calls = ([record["correlation"] for record in result.get(key, [])] for key in ("kernels", "calls"))
        self.assertEqual(sorted(kernels), sorted(calls))
        return sorted(kernels)

    def test_a_forked_process_leaves_nothing_and_has_its_signals_to_itself(self):
        steps, said = self.record(command=COMMAND + FORKS)
        self.assertIn("usable: 6 device records, nothing left out", said)
        self.assertEqual(len(self.read(steps)["parts"]), 1)

    def test_a_recorded_program_is_told_calibrated_and_simulated(self):
        steps, said = self.record()
        self.assertIn("usable: 6 device records, nothing left out", said)
        recording = self.read(steps)
        (part,) = recording["parts"].values()
        self.assertEqual([marker["name"] for marker in part["result"]["markers"]], ["aten::mm", "aten::add"] * 3)

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

    def test_names_are_told_as_people_and_kineto_read_them(self):
        kineto = self.path("kineto.json")
        part = self.part("--kineto", kineto)
        adds = [kernel["name"] for kernel in part["result"]["kernels"]][1::2]
        self.assertTrue(all(name.startswith("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>")
                            for name in adds), adds)
        events = self.read(kineto)["traceEvents"]
        self.assertEqual({event["name"] for event in events if event.get("cat") == "cuda_runtime"}, {"cudaLaunchKernel"})
        self.assertTrue(set(adds) <= {event["name"] for event in events if event.get("cat") == "kernel"})

    def test_the_kernels_of_real_libraries_are_told(self):
        for program, told in (("nvjet", "gemm bf16 m=512 n=512 k=512"), ("cutlass", "gemm bf16 m=512 n=512 k=512"),
                              ("nccl", "collectives without bytes")):
            steps, _ = self.record(command=BEGIN + f'gpu.fake_run(b"{program}", 4)', out=program + ".json")
            self.assertIn(told, self.stowplan("calibrate", "--steps", steps))

    def test_nodes_of_a_cuda_graph_belong_to_its_launch(self):
        result = self.part(command=BEGIN + 'gpu.fake_run(b"graph", 2)')["result"]
        self.assertEqual([(kernel["correlation"], kernel["graph"], kernel["graph_node"], kernel["name"])
                          for kernel in result["kernels"]],
                         [(launch, 3, node, name) for launch in (1, 2)
                          for node, name in ((100, "ampere_sgemm_128x64_nn"), (101, "relu(float*, int)"))])
        self.assertEqual([call["name"] for call in result["calls"]], ["cudaGraphLaunch"] * 2)

    def test_a_window_of_launches(self):
        for options, wanted in ((("--after", "3", "--for", "2"), [4, 5]), (("--for", "4"), [1, 2, 3, 4]),
                                (("--after", "4"), [5, 6]), (("--after", "5", "--for", "100"), [6])):
            self.assertEqual(self.launches(*options, out="-".join(options) + ".json"), wanted, options)

    def test_a_window_of_ranges(self):
        program = BEGIN + """
run = lambda launches: gpu.fake_run(b"f32", launches)
run(2), gpu.fake_push(b"warm-up"), run(2), gpu.fake_pop(), run(1)
gpu.fake_push(b"step"), run(1), gpu.fake_push(b"step"), run(1), gpu.fake_pop(), run(1), gpu.fake_pop(), run(2)
gpu.fake_push(b"step"), run(1), gpu.fake_pop()
gpu.fake_start(b"registered"), run(2), gpu.fake_end(), run(1)
"""
        for options, wanted in ((("--for", "step"), [6, 7, 8]), (("--after", "warm-up", "--for", "range:step"), [6, 7, 8]),
                                (("--after", "warm-up"), [*range(5, 15)]), (("--after", "step", "--for", "1"), [8]),
                                (("--after", "8", "--for", "step"), [11]), (("--for", "registered"), [12, 13]),
                                (("--after", "registered"), [14])):
            self.assertEqual(self.launches(*options, command=program, out="-".join(options) + ".json"), wanted, options)

    def test_a_window_of_seconds(self):
        program = BEGIN + 'gpu.fake_run(b"f32", 2), time.sleep(1.5), gpu.fake_run(b"f32", 3)'
        self.assertEqual(self.launches("--after", "0.7s", command=program, out="after.json"), [3, 4, 5])
        self.assertEqual(self.launches("--for", "0.7s", command=program, out="for.json"), [1, 2])

    def test_a_window_that_never_opened_is_said(self):
        for number, (options, why) in enumerate(((("--after", "100"), "6 launches, not 100"), (("--after", "warm-up"), "warm-up"),
                                                 (("--for", "step"), "step"), (("--after", "1000s"), "1000 s"))):
            part = self.part(*options, out=f"{number}.json")
            self.assertNotIn("kernels", part["result"])
            self.assertIn(why, part["incomplete"])

    def test_memory_does_not_grow_with_the_launches_and_the_file_is_packed(self):
        launches = int(os.environ.get("STOWPLAN_TEST_LAUNCHES", 60_000))
        program = BEGIN + f"""
import resource
gpu.fake_run(b"f32", {launches})
open("{self.path('peak')}", "w").write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""
        steps, said = self.record(command=program, out="steps.zst")
        peak_mib, bytes_per_launch = self.read(self.path("peak")) / 1024, os.path.getsize(steps) / launches
        if "STOWPLAN_TEST_LAUNCHES" in os.environ:
            print(f"{launches} launches: {peak_mib:.0f} MiB at most, {bytes_per_launch:.1f} bytes a launch; {said}")
        else:
            self.assertIn(f"usable: {launches} device records, nothing left out", said)
        self.assertLess(peak_mib, 200)  # 5 kB a launch would be 300
        self.assertLess(bytes_per_launch, 100)

    def test_what_finds_no_buffer_is_counted(self):
        launches = 20_000
        part = self.part("--buffer-mib", "4", command=BEGIN + f'gpu.fake_run(b"f32", {launches})', FAKE_CUPTI_HOLDS="yes")
        result = part["result"]
        self.assertEqual(result["buffers"], 1)
        both_ends = sum((marker.get("start_ns", 0) > 0) + (marker.get("end_ns", 0) > 0) for marker in result["markers"])
        self.assertGreater(len(result["kernels"]), 1000)
        self.assertGreater(result["lost_records"], 1000)
        self.assertEqual(len(result["kernels"]) + len(result["calls"]) + both_ends + result["lost_records"], 4 * launches)

    def test_a_killed_process_leaves_what_was_taken(self):
        program = BEGIN + 'gpu.fake_run(b"f32", 20000)\nos.kill(os.getpid(), signal.SIGKILL)'
        part = self.part(command=program, status=1)
        recorded = [kernel["correlation"] for kernel in part["result"]["kernels"]]
        self.assertGreater(len(recorded), 1000)
        self.assertEqual(recorded, [*range(1, len(recorded) + 1)])
        self.assertIn("killed", part["incomplete"])

    def test_a_killed_recorder_leaves_a_file_that_is_read(self):
        program = BEGIN + f"""
gpu.fake_run(b"f32", 20000)
open("{self.path('ran')}", "w").write(str(os.getpid()))
time.sleep(60)
"""
        arguments, environment = self.recorder(command=program)
        with subprocess.Popen([PROGRAM, *arguments], env=environment, stderr=subprocess.DEVNULL) as recorder:
            while not os.path.exists(self.path("ran")) or not os.path.getsize(self.path("ran")):
                time.sleep(0.01)
            recorder.kill()
        os.kill(self.read(self.path("ran")), signal.SIGKILL)
        self.assertIn("gemm f32 m=512 n=512 k=512", self.stowplan("calibrate", "--steps", self.path("steps.json.zst")))

    def test_a_full_disk_keeps_what_had_room_and_counts_the_rest(self):
        launches = 30_000
        program = BEGIN + f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, 700_000))
gpu.fake_run(b"f32", {launches})
"""
        part = self.part(command=program)
        result = part["result"]
        self.assertGreater(len(result["kernels"]), 1000)
        self.assertEqual(sum(len(result[key]) for key in ("kernels", "calls", "markers")) + result["lost_records"], 3 * launches)
        self.assertIn("File too large", part["incomplete"])

    def test_a_program_that_profiles_itself_is_said(self):
        part = self.part(command=BEGIN + 'gpu.fake_run(b"f32", 5), gpu.fake_take_over(), gpu.fake_run(b"f32", 50)')
        self.assertEqual(len(part["result"]["kernels"]), 5)
        self.assertIn("5 of 55 launches", part["incomplete"])

    def test_what_the_driver_does_not_permit_is_said_and_the_rest_is_recorded(self):
        steps, said = self.record(FAKE_CUPTI_REFUSES="kernels")
        (part,) = self.read(steps)["parts"].values()
        self.assertEqual((len(part["result"]["calls"]), len(part["result"]["markers"])), (6, 6))
        (refused,) = part["result"]["refused"]
        self.assertIn("NVreg_RestrictProfilingToAdminUsers", refused)
        self.assertIn(refused, said)
        steps, said = self.record(status=1, out="nothing.json", FAKE_CUPTI_REFUSES="all")
        (part,) = self.read(steps)["parts"].values()
        self.assertEqual(part["outcome"], "failed")
        self.assertIn("NVreg_RestrictProfilingToAdminUsers", said)

    def test_what_fails_while_the_program_launches_is_the_reason_of_the_part(self):
        program = BEGIN + """
import threading
launching = threading.Thread(target=gpu.fake_run, args=(b"f32", 3))
launching.start(), launching.join()
"""
        steps, said = self.record("--after", "2", command=program, status=1, FAKE_CUPTI_REFUSES="later")
        (part,) = self.read(steps)["parts"].values()
        self.assertEqual(part["outcome"], "failed")
        self.assertIn("CUPTI records nothing here", part["reason"])
        self.assertIn(part["reason"], said)


if __name__ == "__main__":
    unittest.main()
