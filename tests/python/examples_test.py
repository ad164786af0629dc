"""The scripts of python/examples run and show what they promise. Run by run.py."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "python" / "examples"


def run(name, *arguments):
    told = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


class Examples(unittest.TestCase):
    def test_evaluate_orders_what_it_compares(self):
        random, expert, searched, bound = (float(seconds) for seconds in re.findall(r"([\d.]+) s$", run("evaluate.py"), re.MULTILINE))
        self.assertLess(bound, searched)
        self.assertLess(searched, random)
        self.assertLess(bound, expert)

    @unittest.skipUnless(importlib.util.find_spec("gymnasium"), "no gymnasium; python/environment makes an environment that has it")
    def test_ppo_learns(self):
        first, last = (float(reward) for reward in re.search(r"mean reward ([-\d.]+) -> ([-\d.]+)$", run("ppo.py", "30")).groups())
        self.assertGreater(last, first + 0.02)

    @unittest.skipUnless(importlib.util.find_spec("gymnasium") and importlib.util.find_spec("torch"), "no gymnasium, or no torch")
    def test_ppo_of_torch_learns(self):
        first, last = (float(reward) for reward in re.search(r"mean reward ([-\d.]+) -> ([-\d.]+)$", run("ppo_torch.py", "30")).groups())
        self.assertGreater(last, first + 0.02)

    def test_speed_compares_both(self):
        self.assertRegex(run("speed.py", "100", "2"), r"C\+\+ \d+ placements/s, Python \d+, ratio \d\.\d+\n$")

    def test_an_onnx_file_of_set_20_is_told_and_placed(self):
        if not importlib.util.find_spec("onnx"):
            self.skipTest("no onnx; python/environment makes an environment that has it")
        told = run("onnx20.py")
        types = [line.split()[0] for line in told.splitlines()[:-1]]
        self.assertEqual(types, ["Conv2D", "GroupNormalization", "Gelu", "Mean", "MatMul"])
        placed, bound = (float(time) for time in re.findall(r"([\d.]+) ms", told))
        self.assertLessEqual(bound, placed)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no torch; build/python-environment/bin/pip install torch")
    def test_a_block_that_torch_exports_is_split(self):
        told = run("gpt_block.py", "256", "128")
        self.assertIn("mlp.up_proj", told)
        one, two, bound = (float(time) for time in re.findall(r"([\d.]+) ms", told))
        self.assertLess(bound, two)
        self.assertLess(two, one)

    @unittest.skipUnless(importlib.util.find_spec("torchvision") and importlib.util.find_spec("accelerate"),
                         "no torchvision or no accelerate; build/python-environment/bin/pip install torch torchvision accelerate")
    def test_a_model_of_torchvision_is_placed_on_two_unequal_gpus_and_runs_in_accelerate(self):
        told = run("vision.py", "resnet18", "320", "50")  # more than the big one has room for
        big, small = (line.partition(": ")[2].split(", ") for line in told.splitlines()[:2])
        self.assertTrue(all(big) and all(small), told)
        self.assertFalse(set(big) & set(small))
        placed, bound = (float(time) for time in re.findall(r"([\d.]+) s", told))
        self.assertLessEqual(bound, placed)
        self.assertIn("same result", told)

    def latencies(self, *graphs):
        told = run("latency.py", *map(str, graphs), "--samples", "60").splitlines()[1:]
        return {line.split()[0]: [float(time) if time != "memory" else float("inf") for time in re.findall(r"[\d.]+|memory", line[40:])] for line in told}

    def test_greedy_of_others_beside_ours(self):
        graphs = pathlib.Path(__file__).resolve().parents[1] / "scenarios" / "data"
        for name, (greedy, ours, bound) in self.latencies(graphs / "msr_small.json").items():
            self.assertEqual(name, "msr_small")
            self.assertLessEqual(bound, ours)
            self.assertLessEqual(ours, greedy)

    @unittest.skipUnless(os.environ.get("STOWPLAN_DATA"), "STOWPLAN_DATA names no folder with dnn-partitioning/latency-inputs")
    def test_greedy_of_others_on_their_graphs(self):
        graphs = sorted(pathlib.Path(os.environ["STOWPLAN_DATA"], "dnn-partitioning", "latency-inputs").rglob("*bert_l-3*.json"))
        for greedy, ours, bound in self.latencies(*graphs).values():
            self.assertLessEqual(bound, ours)
            self.assertLess(ours, greedy)

    def test_every_example_has_a_test(self):
        self.assertEqual({path.name for path in EXAMPLES.glob("*.py")}, {"evaluate.py", "gpt_block.py", "latency.py", "onnx20.py", "ppo.py", "ppo_torch.py", "speed.py", "transformer.py", "vision.py"})


if __name__ == "__main__":
    unittest.main()
