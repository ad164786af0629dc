"""How much of the C++ rate `Problem.evaluate` reaches on one thread: both in turns, medians.

    speed.py [OPS [ROUNDS]]

C++ is the time inside the simulator of a random search, which draws as many placements in the same way.
"""

import sys
import time

import numpy as np

import stowplan

ops, rounds = (int(argument) for argument in [*sys.argv[1:], *("1000", "40")[len(sys.argv) - 1 :]])
problem = stowplan.Problem(f"random_dag(ops={ops})", "k80(gpus=2)", devices="gpu")
count = max(1, 200_000 // problem.units)
python, inside, batches = [], [], []
for turn in range(rounds):
    draws = np.random.default_rng(turn).choice(problem.devices, size=(count, problem.units))
    start = time.perf_counter()
    problem.evaluate(draws, threads=1)
    python.append(time.perf_counter() - start)
    inside.append(problem.search("random", samples=count, seed=turn, threads=1).simulator_seconds)
print(f"{len(problem.graph)} ops, {problem.units} units: C++ {count / np.median(inside):.0f} placements/s, Python {count / np.median(python):.0f}, "
      f"ratio {np.median(np.divide(inside, python)):.3f}")
