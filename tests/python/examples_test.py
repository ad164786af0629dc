"""The scripts of python/examples run and show what they promise. Run by run.py."""

import importlib.util
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

    @unittest.skipUnless(importlib.util.find_spec("torchvision"), "no torchvision; build/python-environment/bin/pip install torch torchvision")
    def test_a_model_of_torchvision_is_placed_on_two_unequal_gpus(self):
        told = run("vision.py", "squeezenet1_1", "8", "50")
        big, small, weights = (int(number) for number in re.search(r"big: (\d+) of (\d+) modules\nsmall: (\d+)", told).group(1, 3, 2))
        self.assertGreaterEqual(big + small, weights)
        self.assertGreater(big, small)
        placed, bound = (float(time) for time in re.findall(r"([\d.]+) s", told))
        self.assertLessEqual(bound, placed)

    def test_every_example_has_a_test(self):
        self.assertEqual({path.name for path in EXAMPLES.glob("*.py")}, {"evaluate.py", "gpt_block.py", "onnx20.py", "ppo.py", "ppo_torch.py", "speed.py", "transformer.py", "vision.py"})


if __name__ == "__main__":
    unittest.main()
