#!/usr/bin/env python3
"""profiler/measure from prepare to finish on a made-up GPU, and what is left when something goes wrong.

    measure_test.py ROOT STOWPLAN STOWPLAN_PROFILE CPU_PLUGIN GPU_FOLDER CUPTI_FOLDER INJECTION
"""

import dataclasses
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True
ROOT, STOWPLAN, PROFILE, CPU, GPU, CUPTI, INJECTION = sys.argv[1:8]
del sys.argv[1:8]
sys.path.insert(0, os.path.join(ROOT, "profiler"))

from measuring import compare, finish, gpu, packs, plan, prepare, rehearse, runner  # noqa: E402

recording = compare.recording

SCRIPTS = os.path.join(ROOT, "tests", "profiler", "measure", "fakes")
FAKES = rehearse.Fakes(SCRIPTS, os.path.join(GPU, "libstowplan_cuda.so"), GPU, CUPTI, INJECTION)
NOT_NEEDED = {"torch_links", "torch_all_ops", "chain.host_ops_rest"}
WORKLOADS = {"chain": "chain(ops=6,us=10,bytes=5000,cost=flops)"}


class Session(unittest.TestCase):
    """One prepared folder, of which each test runs a copy."""

    @classmethod
    def setUpClass(cls):
        cls._scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._scratch.cleanup)
        programs = os.path.join(cls._scratch.name, "programs")
        os.makedirs(programs)
        for source in (STOWPLAN, PROFILE, CPU):
            os.symlink(source, os.path.join(programs, os.path.basename(source)))
        cls.prepared = os.path.join(cls._scratch.name, "prepared")
        prepare.prepare(ROOT, cls.prepared, programs, os.path.join(SCRIPTS, "self_test"), WORKLOADS, 3, pack=False, host_rows=1,
                        host=["elementwise"], limits={"chain.host_ops": 60, "chain.host_ops_rest": 0.1})
        cls.found = FAKES.put_into(cls.prepared, with_torch=False)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # Names that have a meaning for glob.
        self.session, self.out = os.path.join(folder.name, "session[1]"), os.path.join(folder.name, "out[1]")
        os.makedirs(self.session)
        for name in os.listdir(self.prepared):
            os.symlink(os.path.join(self.prepared, name), os.path.join(self.session, name))
        os.remove(os.path.join(self.session, "measure"))  # a script that looks where it really is
        shutil.copy(os.path.join(self.prepared, "measure"), self.session)
        self.made = os.path.join(folder.name, "made[1]")

    def limit(self, step, seconds):
        """For a step that hangs: the others have the limits of a whole session, so that a busy machine is no matter."""
        path = os.path.join(self.session, "plan.json")
        with open(path, encoding="utf-8") as file:
            chosen = json.load(file)
        os.remove(path)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(chosen | {"limits": chosen["limits"] | {step: seconds}}, file)

    def words(self, seconds=540):
        return [sys.executable, os.path.join(self.session, "measure"), "run", "--seconds", str(seconds), "--out", self.out]

    def environment(self, **more):
        return self.found | more

    def run_it(self, seconds=540, **more):
        return subprocess.run(self.words(seconds), capture_output=True, text=True, timeout=200, env=self.environment(**more))

    def told(self):
        """The session as the latest file tells it, and the names of all files that came back."""
        names, latest = [], None
        for path in sorted(glob.glob(os.path.join(glob.escape(self.out), "*"))):
            self.assertLess(os.path.getsize(path), packs.MOST_BYTES)
            with tarfile.open(path) as archive:
                names += archive.getnames()
                session = json.load(archive.extractfile("session.json"))
            if latest is None or session["written"] > latest["written"]:
                latest = session
        return latest, names

    def outcomes(self):
        return {step["name"]: step["outcome"] for step in self.told()[0]["steps"]}

    def finish(self):
        return finish.finish(self.out, self.made, STOWPLAN)

    def finish_whatever(self):
        self.finish()
        return self.summary()["kind"]

    def summary(self):
        with open(os.path.join(self.made, "summary.json"), encoding="utf-8") as file:
            return json.load(file)


class Whole(Session):
    def test_from_prepare_to_finish(self):
        done = self.run_it(MADE_UP_NAME="NVIDIA H100 80GB HBM3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        session, names = self.told()
        outcomes = self.outcomes()
        self.assertEqual(sorted(os.listdir(self.out)), [name + ".tar" for name in plan.PACKS])
        self.assertEqual({name for name, outcome in outcomes.items() if outcome == "skipped"}, {"peers", "collectives"} | NOT_NEEDED)
        self.assertEqual([step for step, outcome in outcomes.items() if outcome == "failed"], [])
        self.assertEqual(session["gpus"][0]["name"], "NVIDIA H100 80GB HBM3")
        self.assertEqual(session["memory_gib"], 59)  # three quarters of 81,559 MiB
        self.assertEqual(session["steps"][0]["clocks"][0]["clocks.sm"], "1980 MHz")
        self.assertIn("chain.halves.steps.json.zst", names)
        self.assertIn("torch/resnet50-amp.et.json.gz", names)

        self.assertEqual(self.finish(), 0)
        summary = self.summary()
        self.assertEqual(summary["kind"], "h100")  # which nobody named
        with open(os.path.join(self.made, "h100.json"), encoding="utf-8") as file:
            parameters = json.load(file)
        self.assertIn("h100-pinned", [link["kind"] for link in parameters["links"]])
        (of_gpu,) = [kind for kind in parameters["kinds"] if kind["kind"] == "h100"]
        self.assertAlmostEqual(of_gpu["dispatch"]["value_us"], 3, delta=0.01)  # as the made-up GPU says
        self.assertIn("gemm", {curve["class"] for curve in of_gpu["curves"]})
        # 3 placements each were scored, by prices that have seen the ops and by prices that have not.
        self.assertEqual({name: [one["placements"] for one in found] for name, found in summary["scores"].items()},
                         {f"{model}.{cluster}": [3] for model in ("held_out", "all") for cluster in ("host", "halves")})
        # What was measured of the link stands in the recording that was scored: 50 GB/s, 3 us and the host's 3.
        cluster = compare.read(os.path.join(self.made, "steps.host", "chain.json.zst"))["cluster"]
        self.assertRegex(cluster, r"kind: h100, ")
        self.assertAlmostEqual(float(re.search(r"bandwidth: ([\d.]+)GB/s", cluster)[1]), 50, delta=0.5)
        self.assertAlmostEqual(float(re.search(r"latency: ([\d.]+)us", cluster)[1]), 6, delta=0.1)
        self.assertEqual(summary["recorders"]["differing"], [])
        self.assertEqual(summary["recorders"]["us_a_step"], [315.0, 315.0])
        self.assertEqual((summary["recorders"]["steps"], summary["recorders"]["kernels_a_step"]), ([1, 1], [6.0, 6.0]))
        pieces = compare.documents(os.path.join(self.made, "back", "recorder.json.zst"))
        self.assertGreaterEqual(sum(bool(part["result"].get("kernels")) for piece in pieces for part in piece["parts"].values()), 2)
        self.assertIn(["resnet50", "amp", "0.400", "3", "4", 6], summary["networks"])
        self.assertTrue(os.path.exists(os.path.join(self.made, "index.html")))

    def test_two_gpus_that_nobody_knows_have_links_collectives_and_a_sheet(self):
        self.run_it(MADE_UP_SMI="two", MADE_UP_NAME="NVIDIA Strange 9000")
        outcomes = self.outcomes()
        self.assertEqual(self.finish(), 0)
        self.assertEqual(self.summary()["kind"], "gpu")
        self.assertEqual(set(self.summary()["scores"]), {"all.host", "all.halves"})
        self.assertEqual(self.summary()["collectives"], [["all_reduce", 2, 4096, 21.5]])
        sheet = os.path.join(os.path.dirname(self.made), "sheet.yaml")
        fields = {"memory": "16GiB", "multiprocessors": 40, "peak_f32": "8TFLOP/s", "memory_bandwidth": "320GB/s", "kernel_time": "2us"}
        with open(sheet, "w", encoding="utf-8") as file:
            file.write("format: stowplan.devices\nversion: 1\ndevices:\n  - name: strange\n    class: gpu\n    description: of a test\n")
            file.writelines(f"    {name}: {{value: {value}, source: \"data sheet: none\"}}\n" for name, value in fields.items())
        self.made += ".by_sheet"
        self.assertEqual(finish.finish(self.out, self.made, STOWPLAN, sheet), 0)
        self.assertEqual(self.summary()["kind"], "strange")
        with open(os.path.join(self.made, "strange.json"), encoding="utf-8") as file:
            self.assertIn("strange-pinned", [link["kind"] for link in json.load(file)["links"]])
        self.assertEqual((outcomes["peers"], outcomes["collectives"]), ("done", "done"))
        self.assertIn("collectives.json", self.told()[1])


class Failures(Session):
    def assertFinishes(self):
        """What came back is used: parameters of the links and ops that were measured, and the steps."""
        self.assertEqual(self.finish(), 0)
        self.assertEqual(self.summary()["kind"], "h200")
        self.assertIn("held_out.host", self.summary()["scores"])

    def step(self, name):
        return next(step for step in self.told()[0]["steps"] if step["name"] == name)

    def test_no_cupti_a_wrong_kernel_a_step_that_is_killed_and_one_that_hangs(self):
        self.limit("resnet50.eager", 1.5)
        done = self.run_it(MADE_UP_NO_CUPTI="1", MADE_UP_WRONG="MatMul", MADE_UP_KILLED="gpt2_small.eager",
                           MADE_UP_HANGS="resnet50.eager")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("Our recorder is left out. CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", done.stdout)
        self.assertEqual(self.told()[0]["stand_ins"], ["MatMul"])
        words = self.step("chain.host")["command"]
        self.assertEqual(words[words.index("--stand-in") + 1], "MatMul")
        self.assertEqual(self.step("gpt2_small.eager")["why"], "it was killed by signal 9")
        self.assertIn("was killed", self.step("resnet50.eager")["why"])
        outcomes = self.outcomes()
        self.assertEqual({name for name, outcome in outcomes.items() if outcome == "failed"},
                         {"self_test", "gpt2_small.eager", "resnet50.eager"})
        self.assertEqual({name for name, outcome in outcomes.items() if outcome == "skipped"},
                         {"peers", "collectives", "recorder"} | NOT_NEEDED)
        self.assertFinishes()
        self.assertIsNone(self.summary()["recorders"])
        self.assertIn("resnet50", [row[0] for row in self.summary()["networks"]])  # in mixed precision, which did not hang

    def test_a_crash_of_the_self_test_a_probe_that_hangs_and_a_doubtful_gpu(self):
        self.limit("ops", 2.5)
        said = self.run_it(MADE_UP_CRASH="1", MADE_UP_HANG="attention", MADE_UP_SMI="mig busy throttled").stdout
        for word in ("MIG", "4711", "its temperature"):
            self.assertIn(word, said)
        outcomes = self.outcomes()
        self.assertEqual((outcomes["self_test"], outcomes["ops"], outcomes["chain.host"]), ("failed", "failed", "done"))
        self.assertFinishes()
        parts = compare.read(os.path.join(self.made, "back", "ops.json.zst"))["parts"]
        self.assertEqual(set(parts), {"gemm", "conv2d"})  # those before it

    def ended(self, number, **more):
        """The run gets a signal while gpt2_small.eager hangs."""
        with subprocess.Popen(self.words(), env=self.environment(MADE_UP_HANGS="gpt2_small.eager", **more),
                              stdout=subprocess.PIPE, text=True) as child:
            while "chain.halves" not in (line := child.stdout.readline()):
                self.assertTrue(line)
            end = time.monotonic() + 60
            while not os.path.exists(os.path.join(self.session, "measured", "gpt2_small.eager.log")) and time.monotonic() < end:
                time.sleep(0.01)
            child.send_signal(number)
            child.communicate(timeout=100)
        self.assertEqual(child.returncode, 1 if number == signal.SIGTERM else -number)
        return self.outcomes()

    def test_when_it_is_killed_itself_whole_files_are_there(self):
        outcomes = self.ended(signal.SIGKILL)
        self.assertNotIn("gpt2_small.eager", outcomes)
        self.assertEqual((outcomes["links"], outcomes["ops"], outcomes["chain.halves"]), ("done",) * 3)
        self.assertFinishes()

    def test_when_it_is_asked_to_stop_it_packs_and_ends_also_without_nvidia_smi(self):
        self.limit("gpt2_small.eager", 3)
        outcomes = self.ended(signal.SIGTERM, MADE_UP_SMI="broken")
        session = self.told()[0]
        self.assertEqual(session["gpus"], [{"name": "NVIDIA H200"}])
        self.assertIn("Clocks are not recorded.", " ".join(session["said"]))
        self.assertEqual((outcomes["gpt2_small.eager"], outcomes["resnet50.eager"], outcomes["recorder"]), ("cut", "skipped", "skipped"))
        self.assertFinishes()

    def test_a_full_disk_leaves_the_files_that_fit(self):
        os.makedirs(self.out)
        inside = ["sh", "-c", 'mount -t tmpfs -o size=200k none "$0" && "$@"; status=$?; cp -r "$0" "$0.kept"; exit $status', self.out,
                  *self.words()]
        done = subprocess.run(["unshare", "-rm", *inside], capture_output=True, text=True, env=self.environment(), timeout=200)
        if "unshare" in done.stderr or "mount" in done.stderr:
            self.skipTest("no file systems of one's own: " + done.stderr.strip())
        self.out += ".kept"
        self.assertFalse([name for name in os.listdir(self.out) if name.endswith(".part")])
        names = self.told()[1]
        self.assertIn("No space left on device", done.stdout)
        self.assertIn("links.json.zst", names)
        self.assertIn("ops.json.zst", names)
        self.assertEqual(self.finish_whatever(), "h200")

    def test_without_a_driver_the_cpu_and_pytorch_are_measured(self):
        done = self.run_it(MADE_UP_SMI="broken", STOWPLAN_CUDA_PLUGIN="/nowhere/libstowplan_cuda.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("What needs a GPU is left out. nvidia-smi fails with \"NVIDIA-SMI has failed", done.stdout)
        outcomes = self.outcomes()
        self.assertEqual({outcomes[name] for name in ("links", "ops", "self_test", "chain.host", "recorder")}, {"skipped"})
        self.assertEqual({outcomes[name] for name in ("torch_links", "torch_all_ops", "resnet50.eager")}, {"done"})
        self.assertIn("chain.host_ops.json.zst", self.told()[1])
        self.assertEqual(self.finish(), 1)
        self.assertIsNone(self.summary()["kind"])

    def test_a_driver_that_hangs_does_not_delay_the_end(self):
        calls = os.path.join(os.path.dirname(self.out), "calls")
        start = time.monotonic()
        done = self.run_it(12, MADE_UP_SMI="hangs", MADE_UP_SMI_CALLS=calls)
        self.assertLess(time.monotonic() - start, 18)  # 12, on a busy machine
        self.assertIn("nvidia-smi did not answer in 5.0 s and is not asked again.", done.stdout)
        with open(calls, encoding="utf-8") as file:
            self.assertEqual(file.read().count("\n"), 1)
        self.assertIn("records", self.outcomes())
        self.assertEqual(done.returncode, 1)  # of 12 seconds not every step has a share


class Calls(Session):
    def call(self, *words):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "profiler", "measure"), *words], capture_output=True, text=True,
                              timeout=100)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        return done.stderr


class Pieces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, size):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(bytes(size))
        return path

    def test_the_most_valuable_files_are_packed_first(self):
        files = {name: self.file(name, size) for name, size in (("a", 30_000), ("b", 50_000), ("c", 20_000))}
        path = os.path.join(self.folder, "x.tar")
        self.assertEqual(packs.write(path, {"written": 1}, files, 70_000), (["b"], None))
        self.assertLessEqual(os.path.getsize(path), 70_000)
        with tarfile.open(path) as archive:
            self.assertEqual(archive.getnames(), ["session.json", "a", "c"])

    def test_a_damaged_archive_does_not_spoil_the_others(self):
        for name, number in (("1-check.tar", 1), ("2-links.tar", 2)):
            packs.write(os.path.join(self.folder, name), {"written": number}, {name[0]: self.file(name[0], 5_000)})
        with open(os.path.join(self.folder, "2-links.tar"), "r+b") as file:
            file.truncate(3_000)
        out = os.path.join(self.folder, "out")
        self.assertEqual(packs.unpack(self.folder, out)["written"], 2)
        self.assertEqual(os.listdir(out), ["1"])

    def test_limits_of_all_steps_are_within_nine_minutes(self):
        steps = plan.steps({"workloads": prepare.WORKLOADS})
        of_one_gpu = [step for step in steps if not (step.spare or step.instead_of or "peers" in step.needs)]
        self.assertLessEqual(sum(step.seconds for step in of_one_gpu), 540 - runner.reserve(540))
        self.assertEqual(len({step.name for step in steps}), len(steps))
        self.assertEqual({step.pack for step in steps}, set(plan.PACKS))
        for step in steps:
            self.assertLessEqual(set(step.needs), set(plan.PARTS))

    def test_nvidia_smi_that_hung_once_is_not_asked_again(self):
        calls = os.path.join(self.folder, "calls")
        path = os.pathsep.join((SCRIPTS, os.environ["PATH"]))
        ask = lambda how: unittest.mock.patch.dict(os.environ, {"PATH": path, "MADE_UP_SMI": how, "MADE_UP_SMI_CALLS": calls})
        with ask(""):
            smi = gpu.Smi(lambda: 9)
            self.assertEqual(smi.facts()[0]["uuid"], "GPU-0")
        start = time.monotonic()
        with ask("hangs"):
            smi = gpu.Smi(lambda: 0.3)
            with self.assertRaisesRegex(gpu.Hangs, r"did not answer in 0\.3 s"):
                smi.facts()
            self.assertEqual(smi.state("GPU-0"), {})
            self.assertEqual(smi.doubts({"uuid": "GPU-0"}), [])
        self.assertLess(time.monotonic() - start, 5)
        with ask(""), self.assertRaisesRegex(gpu.Hangs, "no time"):
            gpu.Smi(lambda: -1).facts()
        with open(calls, encoding="utf-8") as file:
            self.assertEqual(file.read().count("\n"), 2)

    def runner(self, *steps, seconds=60):
        """A run of these steps alone, in a folder whose name has a meaning for glob."""
        root = os.path.join(self.folder, "root [1]")
        os.makedirs(os.path.join(root, "measured"), exist_ok=True)
        with open(os.path.join(root, "plan.json"), "w", encoding="utf-8") as file:
            json.dump({"revision": "none", "workloads": {}}, file)
        patches = (unittest.mock.patch.dict(os.environ, {"PATH": SCRIPTS + ":" + os.environ["PATH"]}),
                   unittest.mock.patch.object(plan, "steps", lambda chosen: list(steps)),
                   unittest.mock.patch.object(runner.Run, "_after_records", lambda *unused: None))
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        return runner.Run(root, self.folder, seconds)

    def outcomes(self, run):
        return [(step["outcome"], step.get("why")) for step in run.session["steps"]]

    def test_a_step_that_time_cut_is_missing_unless_another_completes_it(self):
        cut = plan.Step("a", plan.PACKS[0], 0.1, ("sh", "-c", "echo the same command continues; exit 1"))
        spare = plan.Step("b", plan.PACKS[0], 9, ("true",), spare=True, goes_on="a", completes=True)
        run = self.runner(dataclasses.replace(cut, seconds=9))
        self.assertEqual((run.run(), self.outcomes(run)), (1, [("cut", "the same command continues")]))
        for steps, status, outcomes in (
                ((dataclasses.replace(cut, seconds=9), spare), 0, ["cut", "done"]),
                ((dataclasses.replace(cut, seconds=9), dataclasses.replace(spare, command=cut.command)), 1, ["cut", "cut"]),
                ((dataclasses.replace(spare, goes_on="", seconds=0.1),), 0, ["skipped"]), ((cut,), 1, ["skipped"]),
                ((dataclasses.replace(spare, name="a", spare=False, goes_on=""), spare), 0, ["done", "skipped"]),
                ((dataclasses.replace(cut, seconds=9, command=("true",), instead_of="torch"),), 0, ["skipped"])):
            run = self.runner(*steps)
            self.assertEqual((run.run(), [outcome for outcome, _ in self.outcomes(run)]), (status, outcomes))
        run = self.runner(dataclasses.replace(spare, goes_on=""))
        run.stop()
        self.assertEqual((run.run(), self.outcomes(run)), (1, [("skipped", "the run was stopped")]))

    def test_what_a_check_cannot_tell_does_not_end_the_run(self):
        told = {"testsuites": [{"name": "GpuStepsTest", "testsuite": [{"name": "x", "failures": [{"failure": ""}]}]}]}
        tell = plan.Step("self_test", plan.PACKS[0], 9, ("cp", "{root}/told.json", "self_test.json"))
        run = self.runner(tell, plan.Step("next", plan.PACKS[0], 9, ("true",)))
        with open(os.path.join(self.folder, "root [1]", "told.json"), "w", encoding="utf-8") as file:
            json.dump(told, file)
        self.assertEqual(run.run(), 0)
        self.assertEqual(run.session["off"]["steps"], "GpuStepsTest fails and does not say why.")
        run = self.runner(tell, plan.Step("next", plan.PACKS[0], 9, ("true",)))
        with unittest.mock.patch.object(runner.Run, "_after_self_test", lambda *unused: [][0]):
            self.assertEqual(run.run(), 0)
        self.assertEqual(len(run.session["steps"]), 2)
        self.assertIn("What self_test tells is not understood (IndexError", " ".join(run.session["said"]))

    def test_only_steps_that_complete_another_are_not_needed_behind_it(self):
        steps = {step.name: step for step in plan.steps({"workloads": {"chain": "chain()"}})}
        self.assertEqual([step.name for step in steps.values() if step.completes], ["chain.host_ops_rest"])
        run = self.runner()
        run.session["steps"] = [{"name": name, "outcome": "done"} for name in ("links", "chain.host_ops")]
        self.assertEqual([run._why_not(steps[name]) for name in ("chain.host_ops_rest", "links_rest")], ["nothing is missing", None])

    def test_what_prepare_could_not_finish_is_not_in_the_way(self):
        out = os.path.join(self.folder, "session")
        for failing in ("choose", "packed"):
            with unittest.mock.patch.object(prepare, "choose", lambda *unused: None), \
                    unittest.mock.patch.object(prepare, failing, side_effect=prepare.PrepareError("no room")), \
                    self.assertRaisesRegex(prepare.PrepareError, "no room"):
                prepare.prepare(ROOT, out, SCRIPTS, os.path.join(SCRIPTS, "self_test"))
            self.assertFalse(os.path.exists(out))
        os.makedirs(out)
        with self.assertRaisesRegex(prepare.PrepareError, "there already"):
            prepare.prepare(ROOT, out, SCRIPTS, os.path.join(SCRIPTS, "self_test"))
        self.assertTrue(os.path.exists(out))  # which is not ours

    def test_a_step_that_cannot_be_killed_is_left(self):
        class Immortal(subprocess.Popen):
            def wait(self, timeout=None):
                if timeout is None:
                    raise AssertionError("waits without limit")
                time.sleep(min(timeout, 0.1))
                raise subprocess.TimeoutExpired(self.args, timeout)

        run = self.runner(plan.Step("records", plan.PACKS[0], 1, ("sleep", "30")), plan.Step("next", plan.PACKS[0], 1, ("true",)))
        run._smi.hangs = "not asked"
        start, begin = time.monotonic(), runner.subprocess.Popen
        choose = lambda words, **more: (Immortal if words[0] == "sleep" else begin)(words, **more)
        with unittest.mock.patch.object(runner.subprocess, "Popen", choose):
            self.assertEqual(run.run(), 1)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(self.outcomes(run), [("failed", "it cannot be killed"), ("done", None)])

    def test_bits_of_throttling(self):
        self.assertEqual(gpu.throttling({"clocks_throttle_reasons.active": "0x0000000000000061"}), ["its temperature"])
        self.assertEqual(gpu.throttling({"clocks_throttle_reasons.active": "0x0000000000000001"}), [])  # idle
        self.assertEqual(gpu.throttling({"clocks_throttle_reasons.active": "[N/A]"}), [])

    def pieces(self, *results, suffix):
        """A recording as it is written while its program runs: a document a frame, the first and the last without records."""
        path = os.path.join(self.folder, "recorder.json" + suffix)
        parts = [{}] + [{"process 1": {"result": result}} for result in results] + [{"process 1": {"result": {"base_ns": 0}}}]
        with open(path, "wb") as file:
            for part in parts:
                file.write(recording.compress(json.dumps({"parts": part}).encode() + b"\n", suffix))
        return path

    def test_marks_choose_the_kernels_of_a_step(self):
        call = lambda at, number: {"name": "cudaLaunchKernel", "start_ns": at, "end_ns": at + 1, "correlation": number}
        kernel = lambda name, number: {"name": name, "start_ns": 1, "end_ns": 2001, "stream": 7, "correlation": number}
        mark = {"name": compare.MARK, "start_ns": 10, "end_ns": 30}
        # Of one clock, the mark is from 5010 to 5030, the calls of the first piece at 5005 and 5015, of the second at 5027 and 5031.
        first = {"base_ns": 4000, "calls": [call(1005, 1), call(1015, 2)], "kernels": [kernel("warm-up", 1)]}
        others = [{"name": "aten::mm", "start_ns": 1, "end_ns": 99}, {"name": compare.MARK, "start_ns": 40}]  # which never ended
        second = {"base_ns": 5000, "markers": [mark, *others],
                  "calls": [call(27, 3), call(31, 4)], "kernels": [kernel("gemm(int)", 2), kernel("gemm(int)", 3), kernel("after", 4)]}
        for suffix in {".gz", recording.compressed_suffix()}:
            for pieces in ((first, second), (second, first)):
                self.assertEqual(compare._of_recorder(self.pieces(*pieces, suffix=suffix)), ({"gemm(int)": [2.0, 2.0]}, 1))


if __name__ == "__main__":
    unittest.main()
