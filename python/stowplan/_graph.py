"""Graphs of ops: loaded, or made from nodes and edges, networkx-like graphs and arrays."""

import json
import warnings
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._core import InputError

#: Keys of a node that the format of graphs has under the same name; all others become free attributes of the op.
_OP_KEYS = ("type", "cost_us", "flops", "persistent_bytes", "workspace_bytes", "framework_ops", "colocate", "group", "phase")

Node = Union[str, Tuple[str, Mapping[str, Any]]]
Edge = Union[Tuple[str, str], Tuple[str, str, Mapping[str, Any]]]


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, for json."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise InputError(f"a graph: {value!r} is no number, text, list or mapping of these.")


class Graph:
    """The computation graph of one training step or inference. Read-only. Made by the class methods below."""

    def __init__(self, core: _core.Graph, source: str) -> None:
        self._core = core
        self._source = source  # what messages call it

    @classmethod
    def load(cls, name_or_path: str) -> "Graph":
        """A workload (`stowplan.workloads()`) with parameters, "nmt(layers=4)", or a file: stowplan.graph, ONNX and what else
        `stowplan list importers` tells. What one should know of how a file was read is a warning."""
        return cls._told(_core.load_graph(str(name_or_path)), str(name_or_path))

    @classmethod
    def _told(cls, core: _core.Graph, source: str) -> "Graph":
        for note in core.notes:
            warnings.warn(f"{source}: {note}", stacklevel=3)
        return cls(core, source)

    @classmethod
    def from_dict(cls, graph: Mapping[str, Any]) -> "Graph":
        """What a stowplan.graph file holds (docs/formats.md); `format` and `version` may be left out. What cannot be true of it is
        a warning."""
        name = str(graph.get("name", "graph"))
        whole = {"format": "stowplan.graph", "version": 1, "name": name, **graph}
        return cls._told(_core.parse_graph(json.dumps(whole, default=_plain), name), name)

    @classmethod
    def from_nodes_and_edges(cls, nodes: Iterable[Node], edges: Iterable[Edge], name: str = "graph") -> "Graph":
        """Nodes are names, or (name, attributes); edges (from, to), or (from, to, attributes).

        A node's attributes: `type` (default "Op"), `cost_us` (a number [us], or one by device kind or class), `output_bytes`
        (of its one output, 0), `persistent_bytes`, `workspace_bytes`, `flops`, `framework_ops`, `colocate`, `group`, `phase`;
        others are kept. An edge reads the node's output; with `bytes` it carries an output of its own of that size, and with
        `control=True` it only waits.
        """
        ops: Dict[str, Dict[str, Any]] = {}
        for node in nodes:
            label, given = (node, {}) if isinstance(node, str) else node
            if label in ops:
                raise InputError(f"{name}: the node {label!r} is given twice.")
            op: Dict[str, Any] = {"name": str(label), "type": "Op", "inputs": [], "control": [],
                                  "outputs": [{"bytes": given.get("output_bytes", 0)}]}
            op.update((key, given[key]) for key in _OP_KEYS if key in given)
            rest = {key: value for key, value in given.items() if key not in _OP_KEYS and key != "output_bytes"}
            ops[label] = {**op, "attributes": rest} if rest else op
        for edge in edges:
            producer, consumer = edge[0], edge[1]
            given = edge[2] if len(edge) > 2 else {}
            for end in (producer, consumer):
                if end not in ops:
                    raise InputError(f"{name}: the edge from {producer!r} to {consumer!r} names {end!r}, which is no node.")
            if given.get("control", False):
                ops[consumer]["control"].append(str(producer))
                continue
            output = 0
            if "bytes" in given:
                output = len(ops[producer]["outputs"])
                ops[producer]["outputs"].append({"bytes": given["bytes"]})
            ops[consumer]["inputs"].append(f"{producer}:{output}")
        return cls.from_dict({"name": name, "ops": list(ops.values())})

    @classmethod
    def from_networkx(cls, graph: Any, name: Optional[str] = None) -> "Graph":
        """Anything with `nodes(data=True)` and `edges(data=True)`, as a networkx.DiGraph; attributes as in
        `from_nodes_and_edges`. Nodes that are no texts are named by `str`."""
        nodes = [(str(node), data) for node, data in graph.nodes(data=True)]
        edges = [(str(start), str(end), data) for start, end, data in graph.edges(data=True)]
        return cls.from_nodes_and_edges(nodes, edges, name or str(getattr(graph, "name", "") or "graph"))

    @classmethod
    def from_arrays(cls, cost_us: Any, edges: Any, output_bytes: Any = None, persistent_bytes: Any = None,
                    kinds: Optional[Sequence[str]] = None, names: Optional[Sequence[str]] = None, name: str = "graph") -> "Graph":
        """`cost_us` [n], or [n, kinds] with `kinds` (device kinds or classes: ["cpu", "gpu"]); `edges` [2, m], indices of ops;
        `output_bytes` and `persistent_bytes` [n], 0 by default. Ops are named op0, op1, … where `names` gives none."""
        cost = np.asarray(cost_us, dtype=np.float64)
        pairs = np.asarray(edges, dtype=np.int64).reshape(2, -1) if np.size(edges) else np.empty((2, 0), dtype=np.int64)
        wanted = (len(cost),) if kinds is None else (len(cost), len(kinds))
        if cost.shape != wanted:
            raise InputError(f"{name}: cost_us has the shape {cost.shape}, wanted [ops]" + (", or [ops, kinds] with kinds." if kinds is None else f", {len(kinds)} kinds."))
        if pairs.size and (pairs.min() < 0 or pairs.max() >= len(cost)):
            raise InputError(f"{name}: edges names op {pairs.max() if pairs.max() >= len(cost) else pairs.min()}, wanted 0 to {len(cost) - 1}.")
        columns = {}
        for key, column in (("output_bytes", output_bytes), ("persistent_bytes", persistent_bytes), ("names", names)):
            if column is not None:
                if len(column) != len(cost):
                    raise InputError(f"{name}: {key} has {len(column)} entries for {len(cost)} ops.")
                columns[key] = np.asarray(column).tolist()
        labels = columns.pop("names", None) or [f"op{op}" for op in range(len(cost))]
        costs = cost.tolist() if kinds is None else [dict(zip(kinds, row)) for row in cost.tolist()]
        nodes = [(label, {"cost_us": costs[op], **{key: column[op] for key, column in columns.items()}})
                 for op, label in enumerate(labels)]
        return cls.from_nodes_and_edges(nodes, [(labels[start], labels[end]) for start, end in pairs.T.tolist()], name)

    def __reduce__(self) -> Tuple[Any, ...]:
        # A pickle, and a copy, is what a file holds.
        return _from_text, (self._core.json(), self._source)

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def names(self) -> List[str]:
        """Of the ops, in their order."""
        return self._core.names()

    @property
    def types(self) -> List[str]:
        """Of the ops: "Conv2D", …"""
        return self._core.types()

    @property
    def edges(self) -> np.ndarray:
        """[2, m] int32: pairs of ops of which the second reads an output of the first, or waits for it."""
        return np.frombuffer(self._core.edges(), dtype=np.int32).reshape(2, -1)

    def to_dict(self) -> Dict[str, Any]:
        """What a stowplan.graph file holds."""
        whole: Dict[str, Any] = json.loads(self._core.json())
        return whole

    def save(self, path: str) -> None:
        """Writes a stowplan.graph file; compressed where the path ends in .zst."""
        self._core.save(str(path))

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"<stowplan.Graph {self.name}: {len(self)} ops>"


def _from_text(text: str, source: str) -> Graph:
    return Graph(_core.parse_graph(text, source), source)
