#!/usr/bin/env python3
"""Agents from outside, from end to end: the example, the Python class, resume, Ctrl-C, a column in compare, the schema.

    outside_test.py ROOT STOWPLAN
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT, STOWPLAN = pathlib.Path(sys.argv[1]), sys.argv[2]
EXAMPLE = ROOT / "examples" / "outside_agent.py"
PROBLEM = ["--graph", "random_dag(ops=60)", "--cluster", "k80(gpus=2)", "--devices", "gpu"]
# The module by itself: it needs no stowplan._core.
CLASS = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("agent", {str(ROOT / "python" / "stowplan" / "agent.py")!r})
agent = importlib.util.module_from_spec(spec)
spec.loader.exec_module(agent)
"""


def stowplan(*words):
    return subprocess.run([STOWPLAN, *words], capture_output=True, text=True, check=False)


def place(command, *words, samples=300):
    return stowplan("place", "--agent", f'external(command="{command}")', *PROBLEM, "--samples", str(samples), *words)


def alive(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Outside(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def summary(self, *words, **options):
        told = place(*words, "--json", "-", **options)
        self.assertEqual(told.returncode, 0, told.stderr)
        return json.loads(told.stdout)

    def script(self, body):
        path = self.folder / "agent.py"
        path.write_text(CLASS + textwrap.dedent(body), encoding="utf-8")
        return f"{sys.executable} -B {path}"

    def example(self):
        return f"{sys.executable} -B {EXAMPLE}"

    def test_the_example_is_short_and_better_than_chance(self):
        self.assertLessEqual(len(EXAMPLE.read_text(encoding="utf-8").splitlines()), 40)
        found = self.summary(self.example(), "--seed", "3")
        self.assertEqual((found["samples"], found["proposals"]), (300, 300))
        self.assertEqual(found["agent"], f'external(command="{self.example()}",timeout=60)')
        self.assertLess(found["best_runtime_us"], found["reference_runtime_us"])
        random = json.loads(stowplan("place", "--agent", "random", *PROBLEM, "--samples", "300", "--seed", "3", "--json", "-").stdout)
        self.assertLess(found["best_runtime_us"], random["best_runtime_us"])
        again = self.summary(self.example(), "--seed", "3", "--threads", "2")
        self.assertEqual(found["best_runtime_us"], again["best_runtime_us"])

    def test_the_class_speaks_the_protocol(self):
        command = self.script("""
            class Rounds(agent.Agent):
                told = 0

                def propose(self):
                    print("this is for standard error")
                    assert len(self.devices) == 2 and len(self.edges) > 0 and self.units[0]["cost_us"]
                    return [self.random.choices("ab", k=len(self.units)) if self.told else [0] * len(self.units) for _ in range(7)] if self.told < 21 else None

                def observe(self, placements, results):
                    assert len(placements) == len(results) == 7
                    self.told += len(results)
                    assert self.best_us == min(result["runtime_us"] for result in results) or self.told > 7

            class Letters(Rounds):
                def propose(self):
                    proposed = super().propose()
                    return proposed and ["".join(each) if isinstance(each[0], str) else each for each in proposed]

            Letters().run()
            """)
        found = self.summary(command)
        self.assertEqual((found["samples"], found["interrupted"]), (21, False))

    def test_the_class_refuses_in_a_sentence(self):
        told = place(self.script("""
            class Picky(agent.Agent):
                def propose(self):
                    raise agent.Refusal("wants three GPUs")

            Picky().run()
            """))
        self.assertEqual(told.returncode, 2)
        self.assertEqual(told.stderr.count("\n"), 1, told.stderr)
        self.assertIn('line 1 gives up: "wants three GPUs"', told.stderr)

    def test_what_goes_wrong_is_one_sentence_with_status_2(self):
        for command, says in (("exit 7", "ended with status 7"), ("echo no", "line 1 is"),
                              ("cat", "line 1 is")):
            told = place(command)
            self.assertEqual((told.returncode, told.stdout, told.stderr.count("\n")), (2, "", 1), told.stderr)
            self.assertIn(says, told.stderr)
        told = stowplan("place", "--agent", "external", *PROBLEM)
        self.assertEqual(told.returncode, 2)
        self.assertIn("give the program", told.stderr)

    def test_it_resumes_after_the_program_died(self):
        whole = self.summary(self.example(), "--seed", "5", "--out", str(self.folder / "whole"))
        # Dies once, at its third batch.
        mark = self.folder / "mark"
        dying = self.folder / "dying.py"
        dying.write_text(EXAMPLE.read_text(encoding="utf-8").replace(
            "    global left\n", f"    global left\n    import os\n    if left < 200 and not os.path.exists({str(mark)!r}):\n"
            f"        open({str(mark)!r}, 'w').close()\n        sys.exit(9)\n"), encoding="utf-8")
        call = [f"{sys.executable} -B {dying}", "--seed", "5", "--out", str(self.folder / "run")]
        died = place(*call)
        self.assertEqual(died.returncode, 2)
        self.assertIn("ended with status 9", died.stderr)
        resumed = self.summary(*call, "--resume")
        for key in ("best_runtime_us", "samples", "samples_to_best", "distinct"):
            self.assertEqual(resumed[key], whole[key], key)

    def test_a_resumed_program_that_does_otherwise_is_refused(self):
        command = f"{sys.executable} -B {self.folder / 'moody.py'}"
        (self.folder / "moody.py").write_text(EXAMPLE.read_text(encoding="utf-8").replace(
            'random.Random(task["seed"])', "random.Random()"), encoding="utf-8")
        self.summary(command, "--out", str(self.folder / "run"))
        told = place(command, "--out", str(self.folder / "run"), "--resume")
        self.assertEqual(told.returncode, 2, told.stderr)
        self.assertIn("another version of stowplan or of the agent", told.stderr)

    def test_ctrl_c_ends_both_and_keeps_what_was_found(self):
        pid = self.folder / "pid"
        slow = self.script(f"""
            import os, time
            open({str(pid)!r}, "w").write(str(os.getpid()))

            class Slow(agent.Agent):
                def propose(self):
                    if self.best:
                        time.sleep(1000)
                    return [[0] * len(self.units)]

            Slow().run()
            """)
        running = subprocess.Popen([STOWPLAN, "place", "--agent", f"external(command={slow})", *PROBLEM, "--out", str(self.folder / "run")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        log = self.folder / "run" / "checkpoint"
        begun = time.monotonic()
        while not (pid.exists() and pid.read_text(encoding="utf-8") and log.exists()) and time.monotonic() < begun + 60:
            time.sleep(0.02)
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, said)
        self.assertIn("--resume", said)
        self.assertTrue((self.folder / "run" / "run.json").exists())
        process, begun = pid.read_text(encoding="utf-8"), time.monotonic()
        while alive(process) and time.monotonic() < begun + 10:  # whoever adopted it takes a moment
            time.sleep(0.02)
        self.assertFalse(alive(process))

    def test_it_is_a_column_of_compare(self):
        told = stowplan("compare", "--agents", "single_gpu", "random", f"external(command={self.example()})", *PROBLEM, "--samples", "100",
                     "--seeds", "2", "--out", str(self.folder / "compare"))
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertRegex(told.stdout, r"\n +external +\S+ \S+ +2/2 ")
        self.assertIn(f"external(command={self.example()},timeout=60)", (self.folder / "compare" / "rows.csv").read_text(encoding="utf-8"))

    def test_lines_satisfy_the_schema(self):
        try:
            import jsonschema
        except ImportError as error:
            self.skipTest(f"{error}; install python3-jsonschema")
        lines = {"in": self.folder / "in", "out": self.folder / "out"}
        # The small memories make some placements not fit.
        told = stowplan("place", "--agent", f"external(command=tee {lines['in']} | {self.example()} | tee {lines['out']})", *PROBLEM,
                     "--samples", "150", "--memory", "gpu=316MiB")
        self.assertEqual(told.returncode, 0, told.stderr)
        schema = json.loads((ROOT / "docs" / "schema" / "agent.json").read_text(encoding="utf-8"))
        hello, *answers = [json.loads(line) for line in lines["in"].read_text(encoding="utf-8").splitlines()]
        requests = [json.loads(line) for line in lines["out"].read_text(encoding="utf-8").splitlines()]
        jsonschema.Draft202012Validator(schema).validate(hello)
        for name, documents in (("request", requests), ("answer", answers)):
            self.assertEqual(len(documents), 3)
            part = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
            for document in documents:
                part.validate(document)
        results = [result for answer in answers for result in answer["results"]]
        self.assertEqual(len(results), 150)
        self.assertTrue(any(result["oom"] for result in results) and any(not result["oom"] for result in results))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
