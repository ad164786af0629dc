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

    def test_speed_compares_both(self):
        self.assertRegex(run("speed.py", "100", "2"), r"C\+\+ \d+ placements/s, Python \d+, ratio \d\.\d+\n$")

    def test_every_example_has_a_test(self):
        self.assertEqual({path.name for path in EXAMPLES.glob("*.py")}, {"evaluate.py", "ppo.py", "speed.py"})


if __name__ == "__main__":
    unittest.main()
