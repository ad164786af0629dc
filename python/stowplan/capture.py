"""A graph of a PyTorch model: its inference or its training step, without weights (needs the package `torch`).

    python -m stowplan.capture model.py:fn [--train] [--out graph.json]

`fn()` gives the model and its arguments: `(model, args)`, `(model, args, kwargs)` or a torch.export.ExportedProgram. It is called with
"meta" as the default device, so that weights and inputs are shapes alone; what stands elsewhere is moved there. The model then runs once, with
`--train` backwards too, and every op that PyTorch dispatches becomes an op of the graph:

    names       module path and op, "model.layers.0.mlp.up_proj/mm"; weights as in state_dict(), "model.layers.0.mlp.up_proj.weight"
    views       share their input's storage: no bytes, no time. So do ops that work in place, which wait for those that still read
    weights     Variables, those of a module on one device, with their optimizer's state: as many bytes for each slot (sgd 0, momentum 1, adam 2)
    loss        the output, or its `loss`, where that is a number; else the mean cross-entropy over its last axis
    attention   scaled_dot_product_attention is one op that writes no scores, as on a GPU; --attention math has it as products and a softmax
    collectives functional ones (torch.distributed) of a process group: the run is that of one rank, the graph that of all, rank0/NAME and so on
    flops       2 x multiply-adds, as torch.utils.flop_counter counts; half of a causal mask is not taken off

What reads a value (`.item()`, `if x.sum() > 0:`, `nonzero`) cannot be captured: there are none. Bytes are those of contiguous tensors.
"""

import argparse
import copy
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

try:
    import torch  # type: ignore[import-not-found, unused-ignore]
except ImportError as missing:
    _NEEDED = "stowplan.capture needs PyTorch: pip install torch (2.6 or later)."
    if __name__ == "__main__":
        print(_NEEDED, file=sys.stderr)
        sys.exit(2)
    raise ImportError(_NEEDED) from missing
from torch.overrides import TorchFunctionMode  # type: ignore[import-not-found, unused-ignore]
from torch.utils._python_dispatch import TorchDispatchMode  # type: ignore[import-not-found, unused-ignore]
from torch.utils._pytree import tree_flatten, tree_map  # type: ignore[import-not-found, unused-ignore]
from torch.utils.flop_counter import flop_registry  # type: ignore[import-not-found, unused-ignore]

from ._aten import BIAS_FIRST, COLLECTIVES, DTYPES, TYPES
from ._core import InputError, RunError
from ._graph import Graph

#: Optimizers: the op that updates a weight, and how many tensors of its size and type are kept beside it.
OPTIMIZERS = {"sgd": ("ApplyGradientDescent", 0), "momentum": ("ApplyMomentum", 1), "adam": ("ApplyAdam", 2)}

_Geometry = Tuple[Any, ...]


class _Memory:
    """What is known of one storage."""

    def __init__(self, base: str, keep: Any) -> None:
        self.base = base  # the output that it began as
        self.keep = keep  # so that its address is not used again
        self.views: Dict[_Geometry, Tuple[str, int]] = {}  # output, and the version that it shows
        self.version = 0  # counts writes
        self.writer = ""
        self.readers: List[str] = []  # since the last write
        self.variable: Dict[str, Any] = {}  # the op, where it is one


def _geometry(tensor: Any) -> _Geometry:
    return (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


def _output(tensor: Any) -> Dict[str, Any]:
    bits = tensor.dtype.itemsize * 8
    dtype = DTYPES.get(str(tensor.dtype).replace("torch.", ""), "")
    output: Dict[str, Any] = {"bytes": tensor.numel() * bits // 8}
    if dtype:
        output.update(dtype=dtype, shape=list(tensor.shape))
    return output


def _group(path: str) -> str:
    """Up to the first number, "model.layers.0": the blocks of a model."""
    parts = path.split(".")
    number = next((i for i, part in enumerate(parts) if part.isdigit()), None)
    return ".".join(parts[: 2 if number is None else number + 1])


def _tensors(tree: Any) -> List[Any]:
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def _awaited(leaf: Any) -> Any:
    """What a collective gave, from which PyTorch hides that it is under way."""
    return leaf.elem if type(leaf).__name__ == "AsyncCollectiveTensor" else leaf


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class _FusedAttention(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """Attention as GPUs have it; without this it falls apart on meta tensors."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.nn.functional.scaled_dot_product_attention:
            return self._attend(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _attend(self, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                scale: Optional[float] = None, enable_gqa: bool = False) -> Any:
        if query.dim() != 4:
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                                                                    enable_gqa=enable_gqa)
        if attn_mask is None:
            return torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(attn_mask.logical_not(), float("-inf"))
        shape = (*query.shape[:-1], key.shape[-2])
        return torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask.expand(shape), torch.is_grad_enabled(),
                                                                      dropout_p, is_causal, scale=scale)[0]


class _Recorder(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Every op that is dispatched while it is entered, as an op of a graph."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.ops: List[Dict[str, Any]] = []
        self.unknown: Set[str] = set()  # ops that TYPES does not have
        self.path: List[str] = []  # modules that are running
        self.node_path: Optional[str] = None  # of an exported program
        self._names: Dict[str, int] = {}
        self._memories: Dict[int, _Memory] = {}
        self.backward = False
        self._forward: Dict[int, Tuple[str, str]] = {}  # by autograd's number: module and name of the op
        self._last = ("", "")  # of these, where the backward pass is

    # ---- sources

    def source(self, name: str, kind: str, tensor: Any, slots: int = 0, module: str = "") -> None:
        memory = self._memories.get(tensor.untyped_storage()._cdata)
        if memory is not None:  # a weight that is tied to another
            return
        output = _output(tensor)
        op: Dict[str, Any] = {"name": self._unique(name), "type": kind, "outputs": [output], "phase": "forward",
                              "attributes": {"module": module}, "group": _group(module)}
        if kind == "Variable":
            op.update(persistent_bytes=output["bytes"] * (1 + slots), colocate=module or op["name"])
        memory = self._remember(tensor, op["name"] + ":0")
        memory.variable = op if kind == "Variable" else {}
        self.ops.append(op)

    def update(self, kind: str, slots: int, weight: Any) -> None:
        """The optimizer's op for a weight that has a gradient."""
        memory = self._memories[weight.untyped_storage()._cdata]
        variable = memory.variable
        gradient, control = self._read(weight.grad, "")
        self.ops.append({
            "name": self._unique("updates/" + variable["name"]), "type": kind, "inputs": [memory.base, gradient],
            "control": sorted({*memory.readers, *control} - {gradient.rpartition(":")[0]} - {""}), "colocate": variable["colocate"], "phase": "update",
            "group": variable["group"], "attributes": {**variable["attributes"], "slots": slots}})

    def freeze(self, weight: Any) -> None:
        """Optimizers make their state when a gradient comes: without one there is none."""
        variable = self._memories[weight.untyped_storage()._cdata].variable
        variable["persistent_bytes"] = variable["outputs"][0]["bytes"]

    # ---- tensors

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self._unique(f"{name}#{count}")

    def _remember(self, tensor: Any, output: str) -> _Memory:
        storage = tensor.untyped_storage()
        memory = self._memories.setdefault(storage._cdata, _Memory(output, storage))
        memory.views[_geometry(tensor)] = (output, memory.version)
        return memory

    def _read(self, tensor: Any, reader: str) -> Tuple[str, List[str]]:
        """The output that it is, and the op that has written into its storage since."""
        memory = self._memories.get(tensor.untyped_storage()._cdata)
        if memory is None:
            name = "constant" if not self.module else self.module + "/constant"
            self.source(name, "Constant", tensor, module=self.module)
            memory = self._memories[tensor.untyped_storage()._cdata]
        output, version = memory.views.get(_geometry(tensor), (memory.base, 0))
        if reader:
            memory.readers.append(reader)
        return output, [memory.writer] if version < memory.version else []

    # ---- ops

    @property
    def module(self) -> str:
        return self.node_path if self.node_path is not None else self.path[-1] if self.path else ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = tree_map(_awaited, (args, kwargs or {}))
        if func is torch.ops.aten._local_scalar_dense.default:
            raise InputError(f"{self.module or 'the model'}: reads the value of a tensor (.item(), or a condition on one), which a run without data "
                             "does not have; capture the part that does not.")
        if func._schema.name == "_c10d_functional::wait_tensor":  # edges wait
            return args[0]
        try:
            result = func(*args, **kwargs)
        except NotImplementedError as error:
            raise RunError(f"{self._place()[0] or 'the model'}: PyTorch cannot say what {func} gives without data: {_first_line(error)}") from error
        except RuntimeError as error:
            raise RunError(f"{self._place()[0] or 'the model'}: {func}: {_first_line(error)}") from error
        made = _tensors(result)
        written = {tensor.untyped_storage()._cdata
                   for argument, given in zip(func._schema.arguments, self._arguments(func, args, kwargs))
                   if argument.alias_info is not None and argument.alias_info.is_write for tensor in _tensors(given)}
        if made or written:
            self._record(func, args, kwargs, result, made, written)
        return result

    def _place(self) -> Tuple[str, str, str]:
        """Module, phase, and the forward op that a backward one belongs to."""
        if not self.backward or self.path:  # within a module it is run again (checkpointing)
            return self.module, "backward" if self.backward else "forward", ""
        node: Any = torch._C._current_autograd_node()
        if node is not None:  # gradients are added up between the nodes
            self._last = self._forward.get(node._sequence_nr(), self._last)
        return (self._last[0], "backward", self._last[1])

    def _number(self, module: str, name: str) -> None:
        """The first op since autograd counted on is the one that it counted."""
        if not self.backward:
            autograd: Any = torch.autograd
            self._forward.setdefault(autograd._get_sequence_nr() - 1, (module, name))

    def _record(self, func: Any, args: Any, kwargs: Dict[str, Any], result: Any, made: List[Any], written: Set[int]) -> None:
        aten = func._schema.name.partition("::")[2]
        space = func._schema.name.partition("::")[0]
        kind = aten[:-1] if aten.endswith("_") and not aten.endswith("__") else aten
        read = _tensors((args, kwargs))
        collective = self._collective(func, args, kwargs) if space == "_c10d_functional" and kind in COLLECTIVES else {}
        ranks = collective.get("ranks", 0)
        if kind in BIAS_FIRST:
            read = read[1:] + read[:1]
        stored = [tensor.untyped_storage()._cdata for tensor in made]
        before = {tensor.untyped_storage()._cdata for tensor in read}
        view = not written and all(one in before for one in stored)
        module, phase, forward = self._place()
        if view and len(made) == 1:
            known = self._memory_of(read, stored[0]).views.get(_geometry(made[0]))
            if known is not None:  # detach() and the like
                return self._number(module, known[0].rpartition(":")[0])
        if view:
            type_ = "Reshape"
        elif space == "aten" and kind in TYPES:
            type_ = TYPES[kind]
        elif kind in ("convolution", "convolution_backward"):
            type_ = self._convolution(args, kind)
        elif ranks > 1:
            type_ = COLLECTIVES[kind]
        else:
            type_ = f"{space}.{kind}"
            self.unknown.add(type_)
        name = self._unique((f"gradients/{forward}/" if forward else module + "/" if module else "") + aten)
        inputs: List[str] = []
        control: List[str] = []
        for tensor in read:
            source, waits = self._read(tensor, name)
            inputs.append(source)
            control += waits
        op: Dict[str, Any] = {"name": name, "type": type_, "inputs": inputs, "phase": phase, "group": _group(module),
                              "attributes": {"module": module, "torch_op": f"{space}.{aten}"}}
        outputs = []
        for i, tensor in enumerate(made):
            output = _output(tensor)
            if ranks <= 1 and (stored[i] in before or stored[i] in written):  # a ring says itself where its sum stands
                output["alias"] = inputs[next(at for at, one in enumerate(read) if one.untyped_storage()._cdata == stored[i])]
            outputs.append(output)
        op["outputs"] = outputs
        for one in written:
            memory = self._memories[one]
            control += [reader for reader in memory.readers if reader != name]
            memory.version += 1
            memory.writer, memory.readers = name, []
            if memory.variable:
                op["colocate"] = memory.variable["colocate"]
        for i, tensor in enumerate(made):
            self._remember(tensor, f"{name}:{i}")
        control = sorted(set(control) - {one.rpartition(":")[0] for one in inputs})
        if control:
            op["control"] = control
        flops = 0 if view else self._flops(func, args, kwargs, result)
        if flops:
            op["flops"] = flops
        if kind in ("convolution", "convolution_backward"):
            op["attributes"].update(self._window(args, kind))
        if ranks > 1:
            op["attributes"].update(collective)
            op.pop("colocate", None)
        self.ops.append(op)
        self._number(module, name)

    def _collective(self, func: Any, args: Any, kwargs: Any) -> Dict[str, int]:
        """The ranks of its process group, and whose tensor it is; nothing where ranks send unequal parts, since one rank's do not tell the others'."""
        named = {argument.name: given for argument, given in zip(func._schema.arguments, self._arguments(func, args, kwargs))}
        if any(len(set(named.get(splits) or ())) > 1 for splits in ("input_split_sizes", "output_split_sizes")):
            return {}
        told = {"ranks": int(torch._C._distributed_c10d._resolve_process_group(named["group_name"]).size())}
        return {**told, "root": int(named["src"])} if "src" in named else told

    def _memory_of(self, read: Sequence[Any], storage: int) -> _Memory:
        for tensor in read:
            if tensor.untyped_storage()._cdata == storage:
                self._read(tensor, "")
        return self._memories[storage]

    @staticmethod
    def _arguments(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
        for i, argument in enumerate(func._schema.arguments):
            yield args[i] if i < len(args) else kwargs.get(argument.name)

    @staticmethod
    def _flops(func: Any, args: Any, kwargs: Any, result: Any) -> float:
        packet = func._overloadpacket
        if packet._qualified_op_name.startswith("aten::_scaled_dot_product"):  # the counter refuses fewer heads of keys than of queries
            first = 1 if "backward" in packet._qualified_op_name else 0
            query, key, value = args[first:first + 3]
            batch, heads, queries, size = query.shape
            products = float(2 * batch * heads * queries * key.shape[-2] * (size + value.shape[-1]))
            return 2.5 * products if first else products
        count = flop_registry.get(packet)
        return float(count(*args, **kwargs, out_val=result)) if count is not None else 0.0

    @staticmethod
    def _convolution(args: Sequence[Any], kind: str) -> str:
        back = kind == "convolution_backward"
        image, filters, groups = args[1 if back else 0], args[2 if back else 1], args[9 if back else 8]
        turned = args[7 if back else 6]
        if turned:
            return "Conv2D" if back else "ConvTranspose"
        name = {3: "Conv1D", 4: "Conv2D", 5: "Conv3D"}.get(image.dim(), "Conv2D")
        if name == "Conv2D" and groups > 1 and groups == image.shape[1] and filters.shape[1] == 1:
            name = "DepthwiseConv2dNative"
        return name + "BackpropFilter" if back else name

    @staticmethod
    def _window(args: Sequence[Any], kind: str) -> Dict[str, Any]:
        back = kind == "convolution_backward"
        at = 4 if back else 3
        padding = list(args[at + 1])
        window = {"kernel": list(args[2 if back else 1].shape[2:]), "strides": list(args[at]), "data_format": "NCHW",
                  "padding": padding + padding if any(padding) else "VALID"}
        if any(dilation > 1 for dilation in args[at + 2]):
            window["dilations"] = list(args[at + 2])
        if args[9 if back else 8] > 1:
            window["groups"] = args[9 if back else 8]
        return window


class _NamedNodes(torch.fx.Interpreter):  # type: ignore[misc, unused-ignore]
    """Runs an exported program, with the modules that its nodes came from."""

    def __init__(self, program: Any, recorder: _Recorder) -> None:
        super().__init__(program)
        self._recorder = recorder

    def run_node(self, node: Any) -> Any:
        stack = node.meta.get("nn_module_stack")
        self._recorder.node_path = next(reversed(stack.values()))[0] if stack else ""
        return super().run_node(node)


def _empty(tensor: Any) -> Any:
    """Its shape alone, a leaf: what made it is not part of the run."""
    return tensor.detach().to("meta").requires_grad_(tensor.requires_grad)


def _shadow(module: Any) -> Any:
    """The module with weights that are shapes alone; those that are tied stay so. The module itself keeps its own."""
    shadows: Dict[int, Any] = {}
    plain = [tensor for part in module.modules() for tensor in _tensors(dict(vars(part)))]
    for tensor in [*module.parameters(), *module.buffers(), *plain]:
        if id(tensor) not in shadows:
            empty = _empty(tensor)
            shadows[id(tensor)] = torch.nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else empty
    return copy.deepcopy(module, shadows)


def _meta(tree: Any) -> Any:
    return tree_map(lambda leaf: _empty(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def _loss(result: Any) -> Any:
    """What is minimised."""
    named = (result.get(key) if isinstance(result, Mapping) else getattr(result, key, None) for key in ("loss", "logits"))
    found = next((one for one in named if one is not None), None)
    tensors = [tensor for tensor in _tensors(found if found is not None else result) if tensor.is_floating_point() and tensor.requires_grad]
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


def _follow(model: Any, recorder: _Recorder) -> List[Any]:
    hooks = []
    for path, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda _, __, path=path: recorder.path.append(path)))
        hooks.append(module.register_forward_hook(lambda *_: (recorder.path.pop(), None)[1], always_call=True))
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
          attention: str = "fused", name: str = "") -> Graph:
    """The graph of one run of `model` (a torch.nn.Module or a torch.export.ExportedProgram) on `args` and `kwargs`, as the module says.

    The model itself is not changed. Attributes `parameters`, `unknown_ops` and `no_gradient` say how many weights it has,
    what is priced by its bytes alone, and which weights no gradient reaches.
    """
    if optimizer not in OPTIMIZERS:
        raise InputError(f"optimizer: {optimizer!r}, wanted one of {', '.join(OPTIMIZERS)}.")
    if attention not in ("fused", "math"):
        raise InputError(f"attention: {attention!r}, wanted fused or math.")
    exported = isinstance(model, torch.export.ExportedProgram)
    if exported:
        if not args and not kwargs and model.example_inputs is not None:
            args, kwargs = model.example_inputs
        module = model.module()
    elif isinstance(model, torch.nn.Module):
        module = model
    else:
        raise InputError(f"the model is a {type(model).__name__}, wanted a torch.nn.Module or a torch.export.ExportedProgram.")
    module = _shadow(module)
    args, kwargs = _meta(tuple(args)), _meta(dict(kwargs or {}))
    if not exported:
        module.train(train)
    kind, slots = OPTIMIZERS[optimizer]
    recorder = _Recorder()
    weights = []
    for path, weight in module.named_parameters():
        trained = train and weight.requires_grad and weight.is_floating_point()
        recorder.source(path, "Variable", weight, slots if trained else 0, path.rpartition(".")[0])
        if trained:
            weight.grad = None
            weights.append((path, weight))
    for path, buffer in module.named_buffers():
        recorder.source(path, "Variable", buffer, module=path.rpartition(".")[0])
    _name_inputs(module, args, kwargs, recorder)
    hooks = [] if exported else _follow(module, recorder)
    run: Callable[..., Any] = module
    if exported:
        run = _NamedNodes(module, recorder).run
        flat = tree_flatten((args, kwargs))[0]
        args, kwargs = tuple(flat), {}
    try:
        with torch.device("meta"), torch.set_grad_enabled(train), recorder:
            if attention == "fused":
                with _FusedAttention():
                    result = run(*args, **kwargs)
            else:
                result = run(*args, **kwargs)
            recorder.node_path = None
            if train:
                loss = _loss(result)
                recorder.backward = True
                loss.backward()
    except RunError:
        raise
    except (RuntimeError, AssertionError) as error:  # where PyTorch refuses before it dispatches
        raise RunError(f"{recorder.module or _where(error, module) or 'the model'}: {_first_line(error)}") from error
    finally:
        for hook in hooks:
            hook.remove()
    idle = []
    for path, weight in weights:
        if weight.grad is not None:
            recorder.update(kind, slots, weight)
        else:
            idle.append(path)
            recorder.freeze(weight)
    attributes: Dict[str, Any] = {"captured_from": f"torch {torch.__version__}", "mode": "training" if train else "inference",
                                  "parameters": sum(weight.numel() for weight in module.parameters())}
    if train:
        attributes["optimizer"] = optimizer
    if idle:
        attributes["no_gradient"] = idle
    if recorder.unknown:
        counts = [op["type"] for op in recorder.ops]
        attributes["unknown_ops"] = {kind: counts.count(kind) for kind in sorted(recorder.unknown)}
    return Graph.from_dict({"name": name or type(module).__name__, "attributes": attributes, "ops": recorder.ops})


def _name_inputs(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], recorder: _Recorder) -> None:
    try:
        named = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        named = {"input": (args, kwargs)}
    for name, given in named.items():
        for tensor in _tensors(given):
            recorder.source(name, "Placeholder", tensor)


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
    spec.loader.exec_module(module)
    function = getattr(module, wanted, None)
    if not callable(function):
        known = sorted(key for key, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == spec.name)
        raise InputError(f"{path}: has no function {wanted}" + (f"; it has {', '.join(known)}." if known else "."))
    try:
        with torch.device("meta"):
            given = function()
    except (RuntimeError, AssertionError) as error:
        raise RunError(f"{place}: {_first_line(error)}") from error
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
    return model, args, kwargs


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m stowplan.capture", description="A stowplan.graph of a PyTorch model, without weights.")
    parser.add_argument("model", metavar="FILE.py:FUNCTION", help="gives (model, args) or (model, args, kwargs)")
    parser.add_argument("--train", action="store_true", help="forward, backward and update; else inference")
    parser.add_argument("--optimizer", choices=list(OPTIMIZERS), default="adam")
    parser.add_argument("--dtype", choices=["f32", "f16", "bf16"], default="f32", help="of weights that do not say theirs")
    parser.add_argument("--attention", choices=["fused", "math"], default="fused")
    parser.add_argument("--out", metavar="PATH", default="graph.json", help="a stowplan.graph; compressed where it ends in .zst (default %(default)s)")
    asked = parser.parse_args(arguments)
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype({"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[asked.dtype])
        model, args, kwargs = load(asked.model)
        made = graph(model, args, kwargs, train=asked.train, optimizer=asked.optimizer, attention=asked.attention,
                     name=asked.model.rpartition(":")[2])
        made.save(asked.out)
    except (InputError, RunError) as error:
        print(f"stowplan.capture: {error}", file=sys.stderr)
        return 2
    finally:
        torch.set_default_dtype(before)
    told = made.to_dict()
    flops = sum(op.get("flops", 0) for op in told["ops"])
    print(f"{asked.out}: {len(made):,} ops, {told['attributes']['parameters']:,} weights, {flops / 1e9:,.1f} GFLOP")
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
