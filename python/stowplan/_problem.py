"""A graph on a cluster: simulate one placement, evaluate many, search the best, bound it from below."""

import json
import warnings
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._core import InputError
from ._graph import Graph

Cluster = Union[str, Mapping[str, Any]]
#: Of `Problem.simulate`: a device by unit; a device's name by op's name; or a placement file or agent that needs no search.
Placement = Union[str, Mapping[str, str], Sequence[int], np.ndarray]


@dataclass(frozen=True)
class Batch:
    """What n placements cost."""

    runtime_us: np.ndarray  #: [n] float64, of one step as if memory were unlimited
    fits: np.ndarray  #: [n] bool
    peak_bytes: np.ndarray  #: [n, devices of the cluster] int64
    #: [n] float64: -sqrt(runtime / reference runtime); where it does not fit, less 1 and the overflow in parts of the capacity
    reward: np.ndarray


@dataclass(frozen=True)
class Simulation:
    """One run of one placement. Times are microseconds since its begin; ops and devices in the order of graph and cluster."""

    runtime_us: float  #: as if memory were unlimited
    out_of_memory: Optional[Dict[str, Any]]  #: the first allocation that did not fit; None = fits
    device_busy_us: np.ndarray  #: [devices] with at least one op running
    device_peak_bytes: np.ndarray  #: [devices]
    op_device: np.ndarray  #: [ops] int32
    op_issue_us: np.ndarray  #: [ops]: when the host had issued it
    op_start_us: np.ndarray  #: [ops]
    op_end_us: np.ndarray  #: [ops]
    #: In the order of queueing: op, output (-1 = only waits), from, to (devices), bytes, queued_us, start_us, end_us
    transfers: np.ndarray

    @property
    def fits(self) -> bool:
        return self.out_of_memory is None


@dataclass(frozen=True)
class Rival:
    """A placement that needs no search: all on one device, an even split by layers, accelerate's `device_map="auto"`."""

    name: str
    placement: np.ndarray  #: [units] int32
    runtime_us: float  #: as if memory were unlimited
    fits: bool
    peak_bytes: np.ndarray  #: [devices of the cluster] int64


@dataclass(frozen=True)
class Search:
    """What an agent found."""

    agent: str  #: with the parameters in force
    placement: Optional[np.ndarray]  #: [units] int32, of those that fit and are about as fast as the best the plainest; None = none fits
    runtime_us: float  #: of that; infinite = none was seen
    best_runtime_us: float  #: of the fastest sample
    rivals: List[Rival]  #: the simplest placements, to compare with
    samples: int  #: placements evaluated
    distinct: int  #: of these
    proposals: int  #: placements that the agent stood for
    screens: int  #: placements looked at by an inexact screen, which are no samples
    wall_seconds: float
    simulator_seconds: float  #: of these
    curve: np.ndarray  #: one entry for each improvement: sample (from 1), runtime_us, wall_seconds
    left_out: List[str]  #: members that the portfolio did without, each with the reason; also a warning


@dataclass(frozen=True)
class Explanation:
    """What bounds a placement, and what would help."""

    text: str  #: as `stowplan explain` prints it, for 80 columns
    facts: Dict[str, Any]  #: what a stowplan.explanation file holds (docs/schema/explanation.json)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Training:
    """What a learner did on several problems. The policy is in its file: `Problem.search(agent, init=path, learn=False)` applies it."""

    agent: str  #: with the parameters in force
    samples: int  #: placements evaluated, of all problems
    problem_samples: np.ndarray  #: [problems] int64
    best_runtime_us: np.ndarray  #: [problems], the best that was seen and fits; infinite = none
    reference_runtime_us: np.ndarray  #: [problems], of a trivial placement


@dataclass(frozen=True)
class Bounds:
    """No placement on the problem's devices takes less."""

    runtime_us: float  #: the largest of those below
    critical_path_us: float  #: the longest path, each op where that suits it best
    work_us: float  #: all work, spread over all devices
    window_us: float  #: the work that must fall into a segment of the run, and what is before and behind it; 0 = adds nothing
    together_us: float  #: the same of what is placed as one, on one device; 0 = adds nothing
    memory_us: float  #: with what fits nowhere ruled out; 0 = adds nothing. Of placements that fit
    nothing_fits: bool  #: proven: no placement fits


_CURVE = np.dtype([("sample", np.int64), ("runtime_us", np.float64), ("wall_seconds", np.float64)])
_TRANSFERS = np.dtype([("op", np.int32), ("output", np.int32), ("from", np.int32), ("to", np.int32), ("bytes", np.int64),
                       ("queued_us", np.float64), ("start_us", np.float64), ("end_us", np.float64)])


def _table(dtype: np.dtype, prefix: str, columns: Dict[str, Any]) -> np.ndarray:
    names = dtype.names or ()
    table = np.empty(len(columns[prefix + names[0]]) // dtype[names[0]].itemsize, dtype)
    for name in names:
        table[name] = np.frombuffer(columns[prefix + name], dtype[name])
    return table


class Problem:
    """A graph on a cluster, loaded and priced once; simulators are kept between calls. Calls from several threads are safe; their
    evaluations take turns, each on all cores.

    graph         a Graph, a workload or a file
    cluster       a cluster (`stowplan.clusters()`), a file, or what a stowplan.cluster file holds
    devices       names, kinds or classes that placements may use: "gpu", "gpu0,gpu1"; empty = all
    grouper       what is placed as one: "colocation" (ops that must share a device), "neighbour(groups=128)", …
    cost_model    what prices ops without a measured time, a spec or a parameter file; empty = the default chain
    rules, interconnect, memory, sheets, reserve, host
                  as the options of the command line (docs/cli.md): "native", "fifo", ["gpu=4GiB"], ["sheet.yaml"], "500MiB+4%", "graph"
    """

    def __init__(self, graph: Union[Graph, str], cluster: Cluster, *, devices: str = "", grouper: str = "colocation",
                 cost_model: str = "", rules: str = "", interconnect: str = "", memory: Sequence[str] = (),
                 sheets: Sequence[str] = (), reserve: str = "", host: str = "") -> None:
        self.graph = graph if isinstance(graph, Graph) else Graph.load(graph)
        if isinstance(cluster, str):
            named = (cluster, _text_of(cluster))
        else:
            named = (str(cluster.get("name", "cluster")), json.dumps({"format": "stowplan.cluster", "version": 1, **cluster}))
        self._make(*named, cost_model, rules, interconnect, list(memory), list(sheets), grouper, devices, reserve, host)

    def _make(self, *settings: Any) -> None:
        self._settings = settings
        self._core = _core.Problem(self.graph._core, self.graph._source, *settings)
        facts = self._core.facts()

        def array(key: str, dtype: Any) -> np.ndarray:
            values = np.frombuffer(facts[key], dtype)
            values.flags.writeable = False
            return values

        self.cluster_name: str = facts["cluster_name"]
        self.cost_model: str = facts["cost_model"]
        self.grouper: str = facts["grouper"]
        self.device_names: List[str] = list(facts["device_names"])  #: of the cluster
        self.device_capacity_bytes = array("device_capacity_bytes", np.int64)  #: [devices of the cluster]
        self.devices = array("devices", np.int32)  #: indices of those that placements may use, ascending
        self.unit_of_op = array("unit_of_op", np.int32)  #: [ops]
        self.unit_persistent_bytes = array("unit_persistent_bytes", np.int64)  #: [units]
        self.unit_output_bytes = array("unit_output_bytes", np.int64)  #: [units]
        self.units = len(self.unit_persistent_bytes)  #: how many there are
        self.unit_cost_us = array("unit_cost_us", np.float64).reshape(self.units, -1)  #: [units, devices of the cluster]
        self.edges = np.stack([array("edge_from", np.int32), array("edge_to", np.int32)])  #: [2, m] between units
        self.edge_bytes = array("edge_bytes", np.int64)  #: [m]; 0 = only waits
        self.reference_runtime_us: float = facts["reference_runtime_us"]  #: of a trivial placement; scales rewards
        self.reference: str = facts["reference"]  #: which one

    def __reduce__(self) -> Tuple[Any, ...]:
        # Graph and settings are plain data: a pickle, and a copy, is loaded and priced again. Of files the cluster's is in it;
        # those of prices are read again where they are.
        return _from_settings, (self.graph, self._settings)

    def simulate(self, placement: Placement) -> Simulation:
        """One placement, with its timeline: a device of the cluster for each unit, a mapping from all ops' names to devices' names,
        or the name of a placement file or of an agent that needs no search ("expert", "heft")."""
        if isinstance(placement, str):
            out = self._core.simulate_named(placement)
        elif isinstance(placement, Mapping):
            out = self._core.simulate_text(self._placement_text(placement), "placement")
        else:
            out = self._core.simulate_units(self._integers(placement, 1))
        times = {key: np.frombuffer(out[key], np.float64) for key in ("device_busy_us", "op_issue_us", "op_start_us", "op_end_us")}
        return Simulation(runtime_us=out["runtime_us"], out_of_memory=out["out_of_memory"],
                          device_peak_bytes=np.frombuffer(out["device_peak_bytes"], np.int64),
                          op_device=np.frombuffer(out["op_device"], np.int32),
                          transfers=_table(_TRANSFERS, "transfer_", out), **times)

    def evaluate(self, placements: Any, threads: int = 0) -> Batch:
        """`placements` [n, units]: a device of the cluster for each unit. On `threads` threads (0 = one per core) without the
        interpreter's lock; the same bits for any number of them. Ctrl-C ends it."""
        flat = self._integers(placements, 2)
        out = self._core.evaluate(flat, threads)
        return Batch(runtime_us=np.frombuffer(out["runtime_us"], np.float64), fits=np.frombuffer(out["fits"], np.bool_),
                     peak_bytes=np.frombuffer(out["peak_bytes"], np.int64).reshape(-1, len(self.device_names)),
                     reward=np.frombuffer(out["reward"], np.float64))

    def search(self, agent: str = "local_search", samples: int = 1000, seed: int = 1, threads: int = 0, init: str = "",
               learn: bool = True, within: float = 1) -> Search:
        """Lets an agent (`stowplan.agents()`), with parameters in parentheses, evaluate up to `samples` placements. Same seed, same
        result, whatever the number of threads. `init`: weights a learner starts from; `learn=False`: it changes none. `within`: of
        placements that take that many percent longer than the fastest at most, the plainest is given: fewest devices, then fewest
        bytes sent, then the lowest fullest device. Ctrl-C ends it, and what was found is lost; a partitioner or a linear program of
        a library comes to its end first."""
        out = self._core.search(agent, samples, seed, threads, init, learn, within)
        for member in out["left_out"]:
            warnings.warn(f"the portfolio does without {member}", stacklevel=2)
        found = out.get("placement")
        rivals = [Rival(**{**one, "placement": np.frombuffer(one["placement"], np.int32),
                           "peak_bytes": np.frombuffer(one["peak_bytes"], np.int64)}) for one in out["rivals"]]
        return Search(placement=None if found is None else np.frombuffer(found, np.int32), runtime_us=out.get("runtime_us", float("inf")),
                      best_runtime_us=out.get("best_runtime_us", float("inf")), rivals=rivals, curve=_table(_CURVE, "curve_", out),
                      **{key: out[key] for key in ("agent", "samples", "distinct", "proposals", "screens", "wall_seconds", "simulator_seconds", "left_out")})

    def bounds(self) -> Bounds:
        """Proven lower bounds over all placements on `devices`; seconds for a graph of 50,000 ops."""
        return Bounds(**self._core.bounds())

    def explain(self, placement: Placement, faster: float = 2) -> Explanation:
        """What a run of the placement (as for `simulate`) is bound by, and what it would gain if each device or link were `faster` times
        as fast."""
        text = self._placement_text(placement)
        return Explanation(text=self._core.explain(text, faster, "text"), facts=json.loads(self._core.explain(text, faster, "json")))

    def render(self, path: str, placement: Placement, faster: float = 2) -> None:
        """Writes a page (HTML that fetches nothing) with the timeline, memory, critical path and graph of the placement's run."""
        _core.write_file(str(path), self._core.explain(self._placement_text(placement), faster, "page"))

    def export(self, placement: Placement, to: str) -> str:
        """The placement as another program takes it (`stowplan list exporters`): `json.loads(problem.export(found.placement, "device-map"))`
        is for accelerate. What one should know of it is a warning."""
        text, notes = self._core.export(self._placement_text(placement), to, self.graph.name)
        for note in notes:
            warnings.warn(f"{to}: {note}", stacklevel=2)
        return text

    def placement(self, name: str) -> np.ndarray:
        """[units] int32: of a placement file, or of an agent that needs no search."""
        return np.frombuffer(self._core.units_of(name), np.int32)

    def save_placement(self, path: str, placement: Any) -> None:
        """Writes a stowplan.placement file of a device by unit."""
        _core.write_file(str(path), self._core.placement_text(self._integers(placement, 1)))

    def cluster_text(self) -> str:
        """The cluster as a stowplan.cluster file, every value in force written out."""
        return self._core.cluster_text()

    def _placement_text(self, placement: Placement) -> str:
        if isinstance(placement, str):
            return self._core.named_text(placement)
        if isinstance(placement, Mapping):
            return json.dumps({"format": "stowplan.placement", "version": 1, "placement": dict(placement)})
        return self._core.placement_text(self._integers(placement, 1))

    def _integers(self, placements: Any, dimensions: int) -> np.ndarray:
        """Flat and 32-bit, as the core takes them."""
        array = np.asarray(placements)
        wanted = "[n, units]" if dimensions == 2 else "[units]"
        if array.ndim != dimensions or array.shape[-1] != self.units:
            raise InputError(f"placement: the shape is {list(array.shape)}, wanted {wanted} with {self.units} units.")
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"placement: the entries are {array.dtype}, wanted whole numbers, indices of devices.")
        # What does not fit into 32 bits is no device either way.
        flat: np.ndarray = np.clip(array, -1, np.iinfo(np.int32).max).astype(np.int32, copy=False).ravel()
        return flat

    def __repr__(self) -> str:
        return f"<stowplan.Problem {self.graph.name} on {self.cluster_name}: {self.units} units, {len(self.devices)} devices>"


def _from_settings(graph: Graph, settings: Tuple[Any, ...]) -> Problem:
    problem = Problem.__new__(Problem)
    problem.graph = graph
    problem._make(*settings)
    return problem


def _text_of(cluster: str) -> str:
    """Of a cluster's file; nothing of a cluster that is known by name, and of a file that is not plain text."""
    if cluster.split("(")[0] in {row["name"] for row in _core.clusters()}:
        return ""
    try:
        with open(cluster, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def train(agent: str, problems: Sequence[Problem], samples: int, path: str, *, seed: int = 1, threads: int = 0, init: str = "") -> Training:
    """Trains one policy of a learning agent ("placeto(preset=transfer)") on several problems, `samples` placements shared evenly, and writes it to
    `path`. `init`: a policy to go on from. Ctrl-C ends it at the next sample; the policy so far is written."""
    out = _core.train(agent, [problem._core for problem in problems], samples, seed, threads, str(init), str(path))
    return Training(agent=out["agent"], samples=out["samples"], problem_samples=np.frombuffer(out["problem_samples"], np.int64),
                    best_runtime_us=np.frombuffer(out["best_runtime_us"], np.float64),
                    reference_runtime_us=np.frombuffer(out["reference_runtime_us"], np.float64))
