"""A graph of a PyTorch model: its inference or its training step, without weights (needs the package `torch`).

    python -m stowplan.capture model.py:fn [--train] [--out graph.json]

`fn()` gives the model and its arguments: `(model, args)`, `(model, args, kwargs)` or a torch.export.ExportedProgram. It is called with
"meta" as the default device, so that weights and inputs are shapes alone; what stands elsewhere is moved there, and `.cuda()` stays there. The
model then runs once, with `--train` backwards too, and every op that PyTorch dispatches becomes an op of the graph:

    names       module path and op, "model.layers.0.mlp.up_proj/mm"; weights as in state_dict(), "model.layers.0.mlp.up_proj.weight"
    views       share their input's storage: no bytes, no time. So do ops that work in place, which wait for those that still read
    weights     Variables, those of a module on one device, with their optimizer's state: as many bytes for each slot (sgd 0, momentum 1, adam 2)
    optimizer   adam is PyTorch's default on a GPU (foreach), which takes the roots of all weights' second moments before the first update (in program order) and so
                holds as many bytes as the weights have; adam-fused (fused=True) holds none, adam-single (foreach=False) two tensors of one weight
    loss        the output, or its `loss`, where that is a number; else the mean cross-entropy over its last axis
    attention   scaled_dot_product_attention is one op that writes no scores, as on a GPU; --attention math has it as products and a softmax
    types       those of the weights; with --autocast, and where the model enters torch.autocast, products are bf16 or f16, with a GPU's casts
    collectives functional ones (torch.distributed) of a process group: the run is that of one rank, the graph that of all, rank0/NAME and so on
    flops       2 x multiply-adds of products; half of a causal mask is not taken off
    experts     products of groups of rows say how many groups there are and how many rows, since a run reads only experts that rows reach

What goes by values. Those of constants, buffers and whole-numbered inputs are known, as given: conditions on them, `.item()` and `nonzero`
are answered. What decided is named (`decided_by`). An input of whole numbers without values counts as ones, a mask that hides nothing.
Activations are finite, choices among scores (the experts of a token) fall evenly, and one number drawn at random is its mean. Other values
of activations and weights are not known: a model that reads them is refused, with file and line. Bytes are those of contiguous tensors.
"""

import argparse
import contextlib
import copy
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

try:
    import torch  # type: ignore[import-not-found, unused-ignore]
except ImportError as missing:
    _NEEDED = "stowplan.capture needs PyTorch: pip install torch (2.6 or later)."
    if __name__ == "__main__":
        print(_NEEDED, file=sys.stderr)
        sys.exit(2)
    raise ImportError(_NEEDED) from missing
from torch.utils._pytree import tree_flatten, tree_map  # type: ignore[import-not-found, unused-ignore]

from ._autocast import autocasting, said, with_gpu
from ._core import InputError, RunError
from ._graph import Graph
from ._kernels import FusedAttention
from ._recorder import Recorder, refusal
from ._values import TOLD, Following, OfData, Values, is_small, tensors_of

#: Optimizers: the op that updates a weight, how many tensors of its size and type are kept beside it, and how many it holds while it runs.
#: In place of a number, WHOLE says that there is one for every weight at the same time.
WHOLE = -1
OPTIMIZERS = {"sgd": ("ApplyGradientDescent", 0, 0), "momentum": ("ApplyMomentum", 1, 0), "adam": ("ApplyAdam", 2, WHOLE),
              "adam-fused": ("ApplyAdam", 2, 0), "adam-single": ("ApplyAdam", 2, 2)}

#: Lower types of torch.autocast.
AUTOCAST = {"bf16": torch.bfloat16, "f16": torch.float16}


class _NamedNodes(torch.fx.Interpreter):  # type: ignore[misc, unused-ignore]
    """Runs an exported program, with the modules that its nodes came from."""

    def __init__(self, program: Any, recorder: Recorder) -> None:
        super().__init__(program)
        self._recorder = recorder

    def run_node(self, node: Any) -> Any:
        stack = node.meta.get("nn_module_stack")
        self._recorder.node_path = next(reversed(stack.values()))[0] if stack else ""
        return super().run_node(node)


def _empty(tensor: Any) -> Any:
    """Its shape alone, a leaf: what made it is not part of the run. Values that are no weight's are told."""
    empty = tensor.detach().to("meta").requires_grad_(tensor.requires_grad)
    told = getattr(tensor, TOLD, None) if tensor.device.type == "meta" else tensor.detach()
    if told is not None and not isinstance(tensor, torch.nn.Parameter) and is_small(tensor):
        setattr(empty, TOLD, told.to("cpu"))
    return empty


def _shadow(module: Any, values: Values) -> Any:
    """The module with weights that are shapes alone; those that are tied stay so. The module itself keeps its own."""
    shadows: Dict[int, Any] = {}
    plain = [tensor for part in module.modules() for tensor in tensors_of(dict(vars(part)))]
    for tensor in [*module.parameters(), *module.buffers(), *plain]:
        if id(tensor) not in shadows:
            empty = _empty(tensor)
            if hasattr(empty, TOLD):
                values.tell(empty, getattr(empty, TOLD))
            shadows[id(tensor)] = torch.nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else empty
    return copy.deepcopy(module, shadows)


def _meta(tree: Any) -> Any:
    return tree_map(lambda leaf: _empty(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def _loss(result: Any) -> Any:
    """What is minimised."""
    named = (result.get(key) if isinstance(result, Mapping) else getattr(result, key, None) for key in ("loss", "logits"))
    found = next((one for one in named if one is not None), None)
    tensors = [tensor for tensor in tensors_of(found if found is not None else result) if tensor.is_floating_point() and tensor.requires_grad]
    if not tensors:
        raise InputError("--train: no output of the model is of floating numbers and depends on a weight that is trained.")
    output = tensors[0]
    if output.numel() == 1:
        return output.reshape(())
    if output.dim() < 2:
        return output.mean()
    rows = output.reshape(-1, output.shape[-1])
    labels = torch.empty(rows.shape[0], dtype=torch.int64, device="meta")
    return torch.nn.functional.cross_entropy(rows, labels)


def _follow(model: Any, recorder: Recorder) -> List[Any]:
    def leave() -> None:
        recorder.path.pop()

    hooks = []
    for path, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda _, __, path=path: recorder.path.append(path)))
        hooks.append(module.register_forward_hook(lambda *_: leave(), always_call=True))
    return hooks


def _where(error: BaseException, module: Any) -> str:
    """Path of the innermost module that the error came through."""
    paths = {id(part): path for path, part in module.named_modules()}
    found, trace = "", error.__traceback__
    while trace is not None:
        found = paths.get(id(trace.tb_frame.f_locals.get("self")), found)
        trace = trace.tb_next
    return found


def graph(model: Any, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None, *, train: bool = False, optimizer: str = "adam",
          attention: str = "fused", autocast: str = "", name: str = "") -> Graph:
    """The graph of one run of `model` (a torch.nn.Module or a torch.export.ExportedProgram) on `args` and `kwargs`, as the module says.

    `autocast` is "bf16" or "f16", or what torch.autocast says around the call. The model itself is not changed. Attributes `parameters`,
    `unknown_ops`, `no_gradient` and `decided_by` say how many weights it has, what is priced by its bytes alone, which weights no gradient
    reaches, and which inputs' values decided what runs, with file and line.
    """
    if optimizer not in OPTIMIZERS:
        raise InputError(f"optimizer: {optimizer!r}, wanted one of {', '.join(OPTIMIZERS)}.")
    if attention not in ("fused", "math"):
        raise InputError(f"attention: {attention!r}, wanted fused or math.")
    if autocast and autocast not in AUTOCAST:
        raise InputError(f"autocast: {autocast!r}, wanted one of {', '.join(AUTOCAST)}.")
    device, lower = ("cuda", AUTOCAST[autocast]) if autocast else said()
    exported = isinstance(model, torch.export.ExportedProgram)
    if exported:
        if not args and not kwargs and model.example_inputs is not None:
            args, kwargs = model.example_inputs
        module = model.module()
    elif isinstance(model, torch.nn.Module):
        module = model
    else:
        raise InputError(f"the model is a {type(model).__name__}, wanted a torch.nn.Module or a torch.export.ExportedProgram.")
    recorder = Recorder()
    module = _shadow(module, recorder.values)
    args, kwargs = _meta(tuple(args)), _meta(dict(kwargs or {}))
    if not exported:
        module.train(train)
    kind, slots, held = OPTIMIZERS[optimizer]
    weights = []
    for path, weight in module.named_parameters():
        trained = train and weight.requires_grad and weight.is_floating_point()
        recorder.source(path, "Variable", weight, slots if trained else 0, path.rpartition(".")[0])
        if trained:
            weight.grad = None
            weights.append((path, weight))
    for path, buffer in module.named_buffers():
        recorder.source(path, "Variable", buffer, module=path.rpartition(".")[0], trainable=False)
    assumed = _name_inputs(module, args, kwargs, recorder)
    hooks = [] if exported else _follow(module, recorder)
    run: Callable[..., Any] = module
    if exported:
        run = _NamedNodes(module, recorder).run
        flat = tree_flatten((args, kwargs))[0]
        args, kwargs = tuple(flat), {}
    try:
        fused = FusedAttention() if attention == "fused" else contextlib.nullcontext()
        with torch.device("meta"), OfData(recorder.values), fused, torch.set_grad_enabled(train), recorder, autocasting():
            with torch.autocast(device, lower) if lower is not None else contextlib.nullcontext():
                result = run(*args, **kwargs)
                recorder.node_path = None
                loss = _loss(result) if train else None
            if loss is not None:
                recorder.backward = True
                # As loss.backward(), which puts the modes aside that ops which are worked out again need.
                engine: Any = torch.autograd.graph
                engine._engine_run_backward((loss,), (torch.ones_like(loss, memory_format=torch.preserve_format),), False, False, (),
                                            allow_unreachable=True, accumulate_grad=True)
    except RunError:
        raise
    except (RuntimeError, AssertionError) as error:  # where PyTorch refuses before it dispatches
        raise refusal(recorder.module or _where(error, module) or "the model", error) from error
    finally:
        for hook in hooks:
            hook.remove()
    idle = [path for path, weight in weights if weight.grad is None]
    for _, weight in weights:
        if weight.grad is None:
            recorder.freeze(weight)
        elif held == WHOLE:
            recorder.root(weight)
    for _, weight in weights:
        if weight.grad is not None:
            recorder.update(kind, slots, max(held, 0), weight)
    attributes: Dict[str, Any] = {"captured_from": f"torch {torch.__version__}", "mode": "training" if train else "inference",
                                  "parameters": sum(weight.numel() for weight in module.parameters())}
    if train:
        attributes["optimizer"] = optimizer
    if lower is not None:
        attributes["autocast"] = next(name for name, dtype in AUTOCAST.items() if dtype == lower)
    if idle:
        attributes["no_gradient"] = idle
    if recorder.decided:
        attributes["decided_by"] = {name: ("taken as ones, " if name in assumed else "") + line for name, line in sorted(recorder.decided.items())}
    if recorder.unknown:
        counts = [op["type"] for op in recorder.ops]
        attributes["unknown_ops"] = {kind: counts.count(kind) for kind in sorted(recorder.unknown)}
    return Graph.from_dict({"name": name or type(module).__name__, "attributes": attributes, "ops": recorder.ops})


def _name_inputs(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], recorder: Recorder) -> Set[str]:
    """Names of those that are whole numbers without values, which are taken as ones: a mask that hides nothing."""
    try:
        named = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        named = {"input": (args, kwargs)}
    for nested in [name for name, given in named.items() if isinstance(given, dict) and name not in kwargs]:  # what **kwargs took
        named.update(named.pop(nested))
    assumed = set()
    for name, given in named.items():
        for tensor in tensors_of(given):
            recorder.source(name, "Placeholder", tensor)
            if not tensor.is_floating_point() and not tensor.is_complex():
                told = getattr(tensor, TOLD, None)
                if told is None:
                    assumed.add(name)
                    told = torch.ones((), dtype=tensor.dtype).expand(tensor.shape)
                recorder.values.tell(tensor, told, frozenset({name}))
    return assumed


def load(place: str) -> Tuple[Any, Sequence[Any], Mapping[str, Any]]:
    """What `fn` of "model.py:fn" gives, called with "meta" as the default device: model, arguments, keyword arguments."""
    path, colon, wanted = place.rpartition(":")
    if not colon or not wanted.isidentifier():
        raise InputError(f"{place}: wanted FILE.py:FUNCTION.")
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file.")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: is no file of Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        with with_gpu():
            spec.loader.exec_module(module)
    except (RuntimeError, AssertionError) as error:
        raise refusal(place, error) from error
    function = getattr(module, wanted, None)
    if not callable(function):
        known = sorted(key for key, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == spec.name)
        raise InputError(f"{path}: has no function {wanted}" + (f"; it has {', '.join(known)}." if known else "."))
    return given_by(function, place)


def given_by(function: Callable[[], Any], place: str) -> Tuple[Any, Sequence[Any], Mapping[str, Any]]:
    """As `load`, of a function; `place` is what messages call it."""
    values = Values()
    try:
        with torch.device("meta"), OfData(values), Following(values), with_gpu():
            given = function()
    except (RuntimeError, AssertionError) as error:
        raise refusal(place, error) from error
    if not isinstance(given, tuple):
        given = (given,)
    if len(given) > 3:
        raise InputError(f"{place}: gave {len(given)} things, wanted (model, args) or (model, args, kwargs).")
    if len(given) == 3 and not isinstance(given[2], Mapping):
        raise InputError(f"{place}: the third of what it gave is a {type(given[2]).__name__}, wanted (model, args) or (model, args, kwargs) with a "
                         "tuple of arguments and a dict.")
    if len(given) == 2 and isinstance(given[1], Mapping):
        given = (given[0], (), given[1])
    model, args, kwargs = given if len(given) == 3 else (*given, (), {})[:3]
    if not isinstance(args, (tuple, list)):
        args = (args,)
    made = [*model.buffers(), *tensors_of([vars(part) for part in model.modules()])] if isinstance(model, torch.nn.Module) else []
    for tensor in [*made, *tensors_of((args, dict(kwargs)))]:
        known = values.of(tensor)[0] if tensor.device.type == "meta" and not isinstance(tensor, torch.nn.Parameter) else None
        if known is not None:
            setattr(tensor, TOLD, known.clone())
    return model, args, kwargs


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m stowplan.capture", description="A stowplan.graph of a PyTorch model, without weights.")
    parser.add_argument("model", metavar="FILE.py:FUNCTION", help="gives (model, args) or (model, args, kwargs)")
    parser.add_argument("--train", action="store_true", help="forward, backward and update; else inference")
    parser.add_argument("--optimizer", choices=list(OPTIMIZERS), default="adam")
    parser.add_argument("--dtype", choices=["f32", "f16", "bf16"], default="f32", help="of weights that do not say theirs")
    parser.add_argument("--attention", choices=["fused", "math"], default="fused")
    parser.add_argument("--autocast", choices=list(AUTOCAST), default="", help="products in this type and weights in f32, as under torch.autocast")
    parser.add_argument("--out", metavar="PATH", default="graph.json", help="a stowplan.graph; compressed where it ends in .zst (default %(default)s)")
    asked = parser.parse_args(arguments)
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype({"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[asked.dtype])
        model, args, kwargs = load(asked.model)
        made = graph(model, args, kwargs, train=asked.train, optimizer=asked.optimizer, attention=asked.attention,
                     autocast=asked.autocast, name=asked.model.rpartition(":")[2])
        made.save(asked.out)
    except (InputError, RunError) as error:
        print(f"stowplan.capture: {error}", file=sys.stderr)
        return 2
    finally:
        torch.set_default_dtype(before)
    told = made.to_dict()
    flops = sum(op.get("flops", 0) for op in told["ops"])
    print(f"{asked.out}: {len(made):,} ops, {told['attributes']['parameters']:,} weights, {flops / 1e9:,.1f} GFLOP")
    for name, place in told["attributes"].get("decided_by", {}).items():
        print(f"{name} decides what runs: {place}")
    unknown = told["attributes"].get("unknown_ops", {})
    if unknown:
        print("not known, priced by the bytes they move alone: " + ", ".join(f"{kind} ({count})" for kind, count in unknown.items()), file=sys.stderr)
    idle = told["attributes"].get("no_gradient", [])
    if idle:
        print("warning: no gradient reaches these weights, which are not updated: " + ", ".join(idle[:8])
              + (f" and {len(idle) - 8} more" if len(idle) > 8 else ""), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
