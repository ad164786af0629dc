"""A measured row, and the graph that predicts it."""
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Optional, Tuple


@dataclass
class Case:
    source: str
    gpu: str  #: its kind in `stowplan list devices`
    dtype: str
    family: str
    name: str  #: rows of one name are the same work, perhaps on several GPUs
    measured_us: float  #: of one step
    units: float = 1  #: images, tokens, … of a step: orders are those of the time for one
    workload: str = ""  #: a graph that the program makes itself
    build: Optional[Callable[[], Any]] = None  #: gives the stowplan.Graph, where it is captured
    key: str = ""  #: of that graph; cases with one key share it
    simulate: Optional[Callable[[], Tuple[float, float]]] = None  #: instead of a graph: µs by default prices and by the roofline
    hosts: Tuple[int, int] = (0, 0)  #: GPUs, and how many are in a host; (0, 0): one GPU alone
    layout: str = ""  #: settings of the workload `layout` that puts the graph on them
    measured_gib: float = 0  #: peak of the GPU that holds most
    device_time: bool = False  #: the kernels were measured, added up, without the host
    host: str = "auto"  #: how the step was launched, as `stowplan simulate --host` has it
    note: str = ""  #: what the graph leaves out
    left_out: str = ""  #: why it counts in no error
    peers: Dict[str, float] = field(default_factory=dict)  #: predicted / measured of others


@dataclass
class Prediction:
    case: Case
    ratio: float  #: predicted / measured
    roofline: float
    busy: float  #: share of the predicted step in which the GPU works; the rest waits for the host
    memory: Optional[float] = None  #: predicted / measured peak
