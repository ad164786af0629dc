"""Gymnasium environments in which an agent places the units of a problem (needs the package `gymnasium`).

    OneShotEnv   one action places all units, the episode ends. Reward: `Batch.reward` of the placement.
    StepwiseEnv  from a random placement, an action for each unit in turn, each once (Placeto, Addanki et al. 2019, section 3).
                 Reward: how much `Batch.reward` changed, so that an episode's rewards add up to what it gained.
    VectorEnv    many of either. A step of all of them is one evaluation in C++, on all cores.

An action is an index into `Problem.devices`, not a device of the cluster. Several problems with equally many devices may be given: each
episode draws one. Observations are padded to the largest problem, or to `max_units` and `max_edges`:

    nodes [max_units, devices + 2] float32   time on each device and, for the whole run and of outputs, bytes: log(1 + µs), log(1 + MB)
    node_mask [max_units]                    1 = a unit
    edge_index [2, max_edges], edge_bytes [max_edges] float32 log(1 + MB), edge_mask [max_edges]
    placement [max_units], current           of StepwiseEnv: where units are now, as actions; the unit that is next

`info` holds `action_mask` ([max_units, devices], of StepwiseEnv [devices]: 0 where the unit's own bytes do not fit), `problem` (which
one), and after an evaluation `runtime_us` and `fits`.
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from ._core import InputError
from ._problem import Problem

Problems = Union[Problem, Sequence[Problem]]
_Observation = Dict[str, Any]
_Info = Dict[str, Any]


class _Episodes:
    """`count` episodes side by side, those of any of them begun and moved by one evaluation."""

    def __init__(self, problems: Problems, count: int, stepwise: bool, threads: int, max_units: int, max_edges: int) -> None:
        self.problems: List[Problem] = [problems] if isinstance(problems, Problem) else list(problems)
        if not self.problems:
            raise InputError("problems: there is none, wanted at least one.")
        self.stepwise, self.threads = stepwise, threads
        self.devices = len(self.problems[0].devices)
        units, edges = (max(size) for size in zip(*((problem.units, problem.edges.shape[1]) for problem in self.problems)))
        self.units, self.edges = max_units or units, max_edges or max(edges, 1)
        for problem in self.problems:
            if len(problem.devices) != self.devices:
                raise InputError(f"problems: {problem!r} has another number of devices than the first, {self.devices}.")
        if self.units < units or self.edges < edges:
            raise InputError(f"max_units={self.units}, max_edges={self.edges}: the largest problem has {units} units and {edges} edges.")
        self.graphs = [self._graph(problem) for problem in self.problems]
        self.masks = [self._mask(problem) for problem in self.problems]
        self.problem = np.zeros(count, np.int64)
        self.choice = np.zeros((count, self.units), np.int64)
        self.current = np.zeros(count, np.int64)
        self.reward = np.zeros(count)
        self.told: List[_Info] = [{} for _ in range(count)]
        bound = spaces.Box(0, np.inf, (self.units, self.devices + 2), np.float32)
        space: Dict[str, spaces.Space[Any]] = {
            "nodes": bound, "node_mask": spaces.MultiBinary(self.units),
            "edge_index": spaces.Box(0, self.units - 1, (2, self.edges), np.int64),
            "edge_bytes": spaces.Box(0, np.inf, (self.edges,), np.float32), "edge_mask": spaces.MultiBinary(self.edges)}
        if stepwise:
            space["placement"] = spaces.Box(0, self.devices - 1, (self.units,), np.int64)
            space["current"] = spaces.Discrete(self.units)
        self.observation_space = spaces.Dict(space)
        self.action_space: spaces.Space[Any] = spaces.Discrete(self.devices) if stepwise else spaces.MultiDiscrete([self.devices] * self.units)

    def _graph(self, problem: Problem) -> _Observation:
        nodes = np.zeros((self.units, self.devices + 2), np.float32)
        nodes[: problem.units, :-2] = np.log1p(problem.unit_cost_us[:, problem.devices])
        nodes[: problem.units, -2] = np.log1p(problem.unit_persistent_bytes / 1e6)
        nodes[: problem.units, -1] = np.log1p(problem.unit_output_bytes / 1e6)
        edges = problem.edges.shape[1]
        index = np.zeros((2, self.edges), np.int64)
        index[:, :edges] = problem.edges
        carried = np.zeros(self.edges, np.float32)
        carried[:edges] = np.log1p(problem.edge_bytes / 1e6)
        return {"nodes": nodes, "node_mask": (np.arange(self.units) < problem.units).astype(np.int8), "edge_index": index,
                "edge_bytes": carried, "edge_mask": (np.arange(self.edges) < edges).astype(np.int8)}

    def _mask(self, problem: Problem) -> np.ndarray:
        """[max_units, devices]. A unit that fits nowhere may go anywhere; padding has one choice."""
        mask = np.zeros((self.units, self.devices), np.int8)
        fits = problem.unit_persistent_bytes[:, None] <= problem.device_capacity_bytes[problem.devices][None, :]
        mask[: problem.units] = fits | ~fits.any(axis=1, keepdims=True)
        mask[problem.units :, 0] = 1
        return mask

    def begin(self, which: Sequence[int], random: Sequence[np.random.Generator]) -> None:
        for i in which:
            self.problem[i] = random[i].integers(len(self.problems))
            self.current[i] = 0
            self.choice[i] = random[i].integers(self.devices, size=self.units) if self.stepwise else 0
            self.told[i] = {}
        if self.stepwise:
            self._evaluate(which)

    def move(self, which: Sequence[int], actions: Any) -> Tuple[np.ndarray, np.ndarray]:
        """Rewards, and which ended, of all episodes; 0 and False where nothing moved."""
        before = self.reward.copy()
        ended = np.zeros(len(before), np.bool_)
        actions = np.asarray(actions)
        if actions.size and (actions.min() < 0 or actions.max() >= self.devices):
            raise InputError(f"action: wanted 0 to {self.devices - 1}, indices into the problem's devices.")
        for i in which:
            if self.stepwise:
                self.choice[i, self.current[i]] = actions[i]
                self.current[i] += 1
                ended[i] = self.current[i] == self.problems[self.problem[i]].units
            else:
                self.choice[i] = actions[i]
                ended[i] = True
        self._evaluate(which)
        rewards = np.zeros(len(before))
        moved = list(which)
        rewards[moved] = self.reward[moved] - (before[moved] if self.stepwise else 0)
        return rewards, ended

    def _evaluate(self, which: Sequence[int]) -> None:
        rows = np.asarray(which, np.int64)
        for p in np.unique(self.problem[rows]):
            problem, of_problem = self.problems[p], rows[self.problem[rows] == p]
            batch = problem.evaluate(problem.devices[self.choice[of_problem, : problem.units]], self.threads)
            self.reward[of_problem] = batch.reward
            for i, runtime, fits in zip(of_problem, batch.runtime_us, batch.fits):
                self.told[i] = {"runtime_us": float(runtime), "fits": bool(fits)}

    def observation(self, i: int) -> _Observation:
        seen = dict(self.graphs[self.problem[i]])
        if self.stepwise:
            units = self.problems[self.problem[i]].units
            seen["placement"] = np.where(np.arange(self.units) < units, self.choice[i], 0)
            seen["current"] = min(int(self.current[i]), units - 1)
        return seen

    def info(self, i: int) -> _Info:
        mask = self.masks[self.problem[i]]
        if self.stepwise:
            mask = mask[min(int(self.current[i]), self.problems[self.problem[i]].units - 1)]
        return {"action_mask": mask.copy(), "problem": int(self.problem[i]), **self.told[i]}


class _Env(gymnasium.Env[_Observation, Any]):
    """What both have in common."""

    metadata: Dict[str, Any] = {"render_modes": []}
    _stepwise = False

    def __init__(self, problems: Problems, *, threads: int = 1, max_units: int = 0, max_edges: int = 0) -> None:
        self._episodes = _Episodes(problems, 1, self._stepwise, threads, max_units, max_edges)
        self.observation_space = self._episodes.observation_space
        self.action_space = self._episodes.action_space
        self._ended = True

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[_Observation, _Info]:
        super().reset(seed=seed)
        self._episodes.begin([0], [self.np_random])
        self._ended = False
        return self._seen(), self._episodes.info(0)

    def step(self, action: Any) -> Tuple[_Observation, float, bool, bool, _Info]:
        if self._ended:
            raise gymnasium.error.ResetNeeded("the episode has ended or not begun; call reset()")
        rewards, ended = self._episodes.move([0], np.asarray(action)[None])
        self._ended = bool(ended[0])
        return self._seen(), float(rewards[0]), self._ended, False, self._episodes.info(0)

    def _seen(self) -> _Observation:
        return {key: np.copy(value) if isinstance(value, np.ndarray) else value for key, value in self._episodes.observation(0).items()}


class OneShotEnv(_Env):
    """One action [max_units] places all units, and the episode ends."""


class StepwiseEnv(_Env):
    """From a random placement, one action for each unit in the problem's order."""

    _stepwise = True


class VectorEnv(gymnasium.vector.VectorEnv[_Observation, Any, np.ndarray]):
    """`num_envs` OneShotEnv, or with `stepwise` StepwiseEnv, each step of which is one evaluation for each problem that is under way.

    threads         0 = one per core
    autoreset_mode  as of gymnasium's own; with DISABLED `reset(options={"reset_mask": …})` begins single ones again
    """

    def __init__(self, problems: Problems, num_envs: int, *, stepwise: bool = False, threads: int = 0, max_units: int = 0, max_edges: int = 0,
                 autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> None:
        if num_envs < 1:
            raise InputError(f"num_envs: {num_envs}, wanted at least 1.")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self._episodes = _Episodes(problems, num_envs, stepwise, threads, max_units, max_edges)
        self.single_observation_space = self._episodes.observation_space
        self.single_action_space = self._episodes.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self._random = [seeding.np_random(None)[0] for _ in range(num_envs)]
        self._ended = np.ones(num_envs, np.bool_)  # a sub-environment that is to be begun again

    def reset(self, *, seed: Union[int, Sequence[Optional[int]], None] = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[_Observation, _Info]:
        """An int seeds the i-th sub-environment with seed + i, as gymnasium's own do."""
        seeds = [None if seed is None else seed + i for i in range(self.num_envs)] if seed is None or isinstance(seed, (int, np.integer)) else list(seed)
        if len(seeds) != self.num_envs:
            raise InputError(f"seed: {len(seeds)} of them, wanted one for each of {self.num_envs} sub-environments.")
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise InputError(f"reset_mask: wanted {self.num_envs} booleans, at least one of them true.")
        which = np.flatnonzero(mask).tolist()
        for i in which:
            if seeds[i] is not None:
                self._random[i] = seeding.np_random(seeds[i])[0]
        self._episodes.begin(which, self._random)
        self._ended[which] = False
        infos: _Info = {}
        for i in which:
            infos = self._add_info(infos, self._episodes.info(i), i)
        return self._observations(), infos

    def step(self, actions: Any) -> Tuple[_Observation, np.ndarray, np.ndarray, np.ndarray, _Info]:
        begun = np.flatnonzero(self._ended).tolist()
        if begun and self.autoreset_mode != AutoresetMode.NEXT_STEP:
            raise gymnasium.error.ResetNeeded(f"sub-environments {begun} have ended or not begun; call reset()")
        moved = np.flatnonzero(~self._ended).tolist()
        rewards, ended = self._episodes.move(moved, actions) if moved else (np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_))
        if begun:
            self._episodes.begin(begun, self._random)
        infos: _Info = {}
        over = np.flatnonzero(ended).tolist()
        if self.autoreset_mode == AutoresetMode.SAME_STEP and over:
            for i in over:
                infos = self._add_info(infos, {"final_obs": self._episodes.observation(i), "final_info": self._episodes.info(i)}, i)
            self._episodes.begin(over, self._random)
            self._ended[:] = False
        else:
            self._ended = ended.copy()
        for i in range(self.num_envs):
            infos = self._add_info(infos, self._episodes.info(i), i)
        return self._observations(), rewards, ended, np.zeros(self.num_envs, np.bool_), infos

    def _observations(self) -> _Observation:
        seen = [self._episodes.observation(i) for i in range(self.num_envs)]
        return {key: np.stack([one[key] for one in seen]) for key in seen[0]}
