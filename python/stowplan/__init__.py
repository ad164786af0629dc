"""Where should the operations of a neural network run? The simulator, agents and bounds of stowplan, for Python.

    problem = stowplan.Problem("nmt(layers=4)", "k40(gpus=2)", devices="gpu")
    problem.evaluate(placements).runtime_us     # [n], all cores
    problem.search(agent="local_search", samples=2000).runtime_us

Times are microseconds, memory is bytes. What is given wrongly is an InputError (a ValueError), what cannot be done a RunError (a
RuntimeError), both with the sentences of the command line. `stowplan.gym` has Gymnasium environments.
"""

import sys as _sys
from pathlib import Path as _Path

try:
    import numpy as _numpy  # noqa: F401
except ImportError as _missing:
    if _sys.argv[:1] != ["-m"]:  # python3 -m stowplan.report
        raise
    print(f"stowplan: {_missing}; the distribution's package python3-numpy has it.", file=_sys.stderr)
    _sys.exit(2)

from . import _core
from ._core import InputError, RunError
from ._graph import Graph
from ._problem import Batch, Bounds, Explanation, Problem, Rival, Search, Simulation, Training, train
from ._tables import Row, agents, clusters, cost_models, groupers, workloads
from .agent import Agent

__all__ = ["Agent", "Batch", "Bounds", "Explanation", "Graph", "InputError", "Problem", "Rival", "Row", "RunError", "Search", "Simulation", "Training",
           "agents", "clusters", "cost_models", "groupers", "train", "workloads"]

# The learning agents stand beside the module where it is installed, in the build folder where it is built.
_folder = _Path(_core.__file__).resolve().parent
_core.set_plugin_folder(str(_folder if (_folder / "libstowplan_rl.so").exists() else _folder.parent.parent / "agents" / "rl"))
