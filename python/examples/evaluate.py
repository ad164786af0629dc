"""The best of 2,000 random placements of a model on two GPUs, beside an expert's rule, a search and what no placement can beat."""

import numpy as np

import stowplan

problem = stowplan.Problem("inception_v3(batch=32)", "k80(gpus=2)", devices="gpu", grouper="neighbour(groups=64)")
draws = np.random.default_rng(1).choice(problem.devices, size=(2000, problem.units))
batch = problem.evaluate(draws)
print(f"random, best of 2,000  {batch.runtime_us[batch.fits].min() / 1e6:.3f} s")
print(f"expert                 {problem.simulate('expert').runtime_us / 1e6:.3f} s")
print(f"local search, 2,000    {problem.search('local_search', samples=2000, seed=1).runtime_us / 1e6:.3f} s")
print(f"lower bound            {problem.bounds().runtime_us / 1e6:.3f} s")
