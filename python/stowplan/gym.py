"""Gymnasium environments in which an agent places the units of a problem (needs the package `gymnasium`).

    OneShotEnv   one action places all units, the episode ends. Reward: `Batch.reward` of the placement.
    StepwiseEnv  from a random placement, an action for each unit in turn, each once (Placeto, Addanki et al. 2019, section 3).
                 Reward: how much `Batch.reward` changed, so that an episode's rewards add up to what it gained.
    VectorEnv    many of either. A step of all of them is one batch in C++, on all cores; `send` begins it and `recv` waits for it.

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

from . import _core
from ._core import InputError
from ._problem import Problem

Problems = Union[Problem, Sequence[Problem]]
_Observation = Dict[str, Any]
_Info = Dict[str, Any]


class _Episodes:
    """`count` episodes side by side. What actions do is worked out in C++ (`_core.Episodes`); where episodes begin is drawn here."""

    def __init__(self, problems: Problems, count: int, stepwise: bool, threads: int, max_units: int, max_edges: int) -> None:
        self.problems: List[Problem] = [problems] if isinstance(problems, Problem) else list(problems)
        if not self.problems:
            raise InputError("problems: there is none, wanted at least one.")
        self.count, self.stepwise = count, stepwise
        self.devices = len(self.problems[0].devices)
        units, edges = (max(size) for size in zip(*((problem.units, problem.edges.shape[1]) for problem in self.problems)))
        self.units, self.edges = max_units or units, max_edges or max(edges, 1)
        for problem in self.problems:
            if len(problem.devices) != self.devices:
                raise InputError(f"problems: {problem!r} has another number of devices than the first, {self.devices}.")
        if self.units < units or self.edges < edges:
            raise InputError(f"max_units={self.units}, max_edges={self.edges}: the largest problem has {units} units and {edges} edges.")
        graphs = [self._graph(problem) for problem in self.problems]
        self.graphs = {key: np.stack([graph[key] for graph in graphs]) for key in graphs[0]}  # by problem
        self.masks = np.stack([self._mask(problem) for problem in self.problems])
        self.lengths = np.array([problem.units for problem in self.problems])
        self._core = _core.Episodes([problem._core for problem in self.problems], count, stepwise, threads, self.units)
        self.current, self.problem = np.zeros(count, np.int64), np.zeros(count, np.int64)
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

    def _starts(self, which: Sequence[int], random: Sequence[np.random.Generator]) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        problem = np.zeros(len(which), np.int32)
        choice = np.zeros((len(which), self.units), np.int32)
        for row, i in enumerate(which):
            problem[row] = random[i].integers(len(self.problems))
            if self.stepwise:
                choice[row] = random[i].integers(self.devices, size=self.units)
        return np.asarray(which, np.int32), problem, choice.ravel()

    def begin(self, which: Sequence[int], random: Sequence[np.random.Generator]) -> "_Step":
        nothing = np.zeros(0, np.int32)
        self._core.send(nothing, nothing, self._starts(which, random), (nothing, nothing, nothing))
        return self.recv()

    def send(self, which: Sequence[int], actions: Any, begun: Sequence[int], again: bool, random: Sequence[np.random.Generator]) -> None:
        """`which` move, `begun` begin; with `again` those that end begin in the same step."""
        actions = np.asarray(actions)
        if actions.size and not np.issubdtype(actions.dtype, np.integer):
            raise InputError(f"action: the entries are {actions.dtype}, wanted whole numbers, indices into the problem's devices.")
        if actions.size and (actions.min() < 0 or actions.max() >= self.devices):
            raise InputError(f"action: wanted 0 to {self.devices - 1}, indices into the problem's devices.")
        over: List[int] = []
        if again:
            over = [i for i in which if not self.stepwise or self.current[i] + 1 == self.lengths[self.problem[i]]]
        self._core.send(actions.astype(np.int32).ravel(), np.asarray(which, np.int32), self._starts(begun, random), self._starts(over, random))

    def recv(self) -> "_Step":
        step = _Step(self._core.recv(), self)
        self.current, self.problem = step.now.current, step.now.problem
        return step


class _States:
    """Of all episodes, side by side."""

    def __init__(self, told: Dict[str, Any], episodes: _Episodes) -> None:
        self._episodes = episodes
        self.problem = np.frombuffer(told["problem"], np.int64)
        self.current = np.frombuffer(told["current"], np.int64)
        self.choice = np.frombuffer(told["choice"], np.int64).reshape(episodes.count, -1)
        self.runtime_us = np.frombuffer(told["runtime_us"], np.float64)
        self.fits = np.frombuffer(told["fits"], np.bool_)
        self.told = np.frombuffer(told["told"], np.bool_)

    def observations(self) -> _Observation:
        episodes = self._episodes
        seen = {key: graphs[self.problem] for key, graphs in episodes.graphs.items()}
        if episodes.stepwise:
            lengths = episodes.lengths[self.problem]
            seen["placement"] = np.where(np.arange(episodes.units) < lengths[:, None], self.choice, 0)
            seen["current"] = np.minimum(self.current, lengths - 1)
        return seen

    def infos(self, of: np.ndarray) -> _Info:
        """As gymnasium's vector environments give them, of the episodes in the mask."""
        episodes = self._episodes
        masks = episodes.masks[self.problem]
        if episodes.stepwise:
            masks = masks[np.arange(episodes.count), np.minimum(self.current, episodes.lengths[self.problem] - 1)]
        infos: _Info = {}
        for key, values, where in (("action_mask", masks, of), ("problem", self.problem, of), ("runtime_us", self.runtime_us, of & self.told),
                                   ("fits", self.fits, of & self.told)):
            if where.any():
                kept = where.reshape(-1, *[1] * (values.ndim - 1))
                infos[key], infos["_" + key] = np.where(kept, values, np.zeros((), values.dtype)), where.copy()
        return infos


class _Step:
    def __init__(self, told: Dict[str, Any], episodes: _Episodes) -> None:
        self.now, self.before = _States(told["now"], episodes), _States(told["before"], episodes)
        self.rewards = np.frombuffer(told["reward"], np.float64)
        self.ended = np.frombuffer(told["ended"], np.bool_)

    def single(self) -> Tuple[_Observation, _Info]:
        """Of the only episode."""
        seen = {key: value[0] if value.ndim > 1 else int(value[0]) for key, value in self.now.observations().items()}
        infos = self.now.infos(np.ones(1, np.bool_))
        info = {key: value[0] if value.ndim > 1 else value[0].item() for key, value in infos.items() if not key.startswith("_")}
        return seen, info


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
        self._ended = False
        return self._episodes.begin([0], [self.np_random]).single()

    def step(self, action: Any) -> Tuple[_Observation, float, bool, bool, _Info]:
        if self._ended:
            raise gymnasium.error.ResetNeeded("the episode has ended or not begun; call reset()")
        self._episodes.send([0], np.asarray(action)[None], [], False, [self.np_random])
        step = self._episodes.recv()
        self._ended = bool(step.ended[0])
        seen, info = step.single()
        return seen, float(step.rewards[0]), self._ended, False, info


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
        begun = self._episodes.begin(which, self._random)
        self._ended = self._ended & ~mask
        return begun.now.observations(), begun.now.infos(mask)

    def step(self, actions: Any) -> Tuple[_Observation, np.ndarray, np.ndarray, np.ndarray, _Info]:
        self.send(actions)
        return self.recv()

    def send(self, actions: Any) -> None:
        """Begins a step of all; what it gives is asked for by `recv`, and the time between is the caller's."""
        begun = np.flatnonzero(self._ended).tolist()
        if begun and self.autoreset_mode != AutoresetMode.NEXT_STEP:
            raise gymnasium.error.ResetNeeded(f"sub-environments {begun} have ended or not begun; call reset()")
        self._episodes.send(np.flatnonzero(~self._ended).tolist(), actions, begun, self.autoreset_mode == AutoresetMode.SAME_STEP, self._random)

    def recv(self) -> Tuple[_Observation, np.ndarray, np.ndarray, np.ndarray, _Info]:
        """Waits for the step that was begun, without the interpreter's lock: what `step` returns."""
        step = self._episodes.recv()
        all_of_them = np.ones(self.num_envs, np.bool_)
        infos: _Info = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            if step.ended.any():
                last = step.before.observations()
                final = np.full(self.num_envs, None, object)
                for i in np.flatnonzero(step.ended):
                    final[i] = {key: value[i] for key, value in last.items()}
                infos = {"final_obs": final, "_final_obs": step.ended.copy(), "final_info": step.before.infos(step.ended),
                         "_final_info": step.ended.copy()}
            self._ended = np.zeros(self.num_envs, np.bool_)
        else:
            self._ended = step.ended.copy()
        infos.update(step.now.infos(all_of_them))
        return step.now.observations(), step.rewards.copy(), step.ended.copy(), np.zeros(self.num_envs, np.bool_), infos
