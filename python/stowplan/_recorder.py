"""Every op that PyTorch dispatches in a run without data, as an op of a stowplan.graph: the recorder of stowplan.capture."""

import sys
import traceback
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

import torch  # type: ignore[import-not-found, unused-ignore]
from torch.utils._python_dispatch import TorchDispatchMode  # type: ignore[import-not-found, unused-ignore]
from torch.utils._pytree import tree_map  # type: ignore[import-not-found, unused-ignore]

from ._aten import BIAS_FIRST, COLLECTIVES, DTYPES, TYPES
from ._core import InputError, RunError
from ._kernels import shape_rule
from ._values import Unknown, Values, arguments_of, tensors_of, written_of

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


def _awaited(leaf: Any) -> Any:
    """What a collective gave, from which PyTorch hides that it is under way."""
    return leaf.elem if type(leaf).__name__ == "AsyncCollectiveTensor" else leaf


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def users_line(error: Optional[BaseException] = None) -> str:
    """File and line of the innermost call of the model that is not PyTorch's, now or where the error came from; "" where there is none."""
    here = str(Path(__file__).parent) + "/"
    calls = traceback.walk_stack(sys._getframe(1)) if error is None else reversed(list(traceback.walk_tb(error.__traceback__)))
    for frame, line in calls:
        file = frame.f_code.co_filename
        if file == here + "capture.py":  # which called the model
            break
        if not file.startswith((str(Path(torch.__file__).parent) + "/", here, "<")):
            return f"{file}:{line}"
    return ""


def refusal(place: str, error: BaseException) -> RunError:
    """What PyTorch said, as one sentence."""
    return RunError(": ".join(part for part in (place, users_line(error), first_line(error)) if part))


class Recorder(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Every op that is dispatched while it is entered, as an op of a graph."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.values = Values(self._decide)
        self.decided: Dict[str, str] = {}  # inputs whose values decided what runs: where
        self.ops: List[Dict[str, Any]] = []
        self.unknown: Set[str] = set()  # ops that TYPES does not have
        self.path: List[str] = []  # modules that are running
        self.node_path: Optional[str] = None  # of an exported program
        self._names: Dict[str, int] = {}
        self._memories: Dict[int, _Memory] = {}
        self.backward = False
        self._roots: Dict[str, str] = {}  # by weight
        self._forward: Dict[int, Tuple[str, str]] = {}  # by autograd's number: module and name of the op
        self._last = ("", "")  # of these, where the backward pass is

    # ---- sources

    def source(self, name: str, kind: str, tensor: Any, slots: int = 0, module: str = "", trainable: bool = True) -> None:
        memory = self._memories.get(tensor.untyped_storage()._cdata)
        if memory is not None:  # a weight that is tied to another
            return
        output = _output(tensor)
        op: Dict[str, Any] = {"name": self._unique(name), "type": kind, "outputs": [output], "phase": "forward",
                              "attributes": {"module": module}, "group": _group(module)}
        if kind == "Variable":
            op.update(persistent_bytes=output["bytes"] * (1 + slots), colocate=module or op["name"])
            if not trainable:  # a buffer is no parameter
                op["attributes"]["trainable"] = False
        memory = self._remember(tensor, op["name"] + ":0")
        memory.variable = op if kind == "Variable" else {}
        self.ops.append(op)

    def root(self, weight: Any) -> None:
        """Takes the root of a weight's second moment, which its update reads; for-each optimizers have those of all weights at once."""
        variable = self._memories[weight.untyped_storage()._cdata].variable
        gradient, _ = self._read(weight.grad, "")
        name = self._unique("roots/" + variable["name"])
        self._roots[variable["name"]] = name + ":0"
        self.ops.append({
            "name": name, "type": "Sqrt", "inputs": [variable["name"] + ":0"], "outputs": [dict(variable["outputs"][0])],
            "control": [gradient.rpartition(":")[0]], "colocate": variable["colocate"], "phase": "update", "group": variable["group"],
            "attributes": dict(variable["attributes"])})

    def update(self, kind: str, slots: int, held: int, weight: Any) -> None:
        """The optimizer's op for a weight that has a gradient; while it runs it holds `held` more tensors of the weight's size."""
        memory = self._memories[weight.untyped_storage()._cdata]
        variable = memory.variable
        gradient, control = self._read(weight.grad, "")
        inputs = [memory.base, gradient, *filter(None, [self._roots.get(variable["name"])])]
        self.ops.append({
            "name": self._unique("updates/" + variable["name"]), "type": kind, "inputs": inputs,
            "control": sorted({*memory.readers, *control} - {gradient.rpartition(":")[0]} - {""}), "colocate": variable["colocate"], "phase": "update",
            "group": variable["group"], "attributes": {**variable["attributes"], "slots": slots}})
        if held:
            self.ops[-1]["workspace_bytes"] = held * variable["outputs"][0]["bytes"]

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
        if func._schema.name in ("_c10d_functional::wait_tensor", "_c10d_functional::_wrap_tensor_autograd"):  # edges wait
            return args[0]
        if func._schema.name == "aten::_assert_tensor_metadata":  # of an exported program, whose types were others without autocast
            return None
        try:
            result = self.values.call(func, args, kwargs, shape_rule(func))
        except Unknown:
            raise InputError(f"{self._here(' ')}reads the value of a tensor (.item(), a condition on one, or a shape that goes "
                             "by one), which goes by data that a capture does not have; capture the part that does not.") from None
        except NotImplementedError as error:
            raise RunError(f"{self._here(': ')}PyTorch cannot say what {func} gives without data: {first_line(error)}") from error
        except RuntimeError as error:
            raise RunError(f"{self._here(': ')}{func}: {first_line(error)}") from error
        made = tensors_of(result)
        written = {tensor.untyped_storage()._cdata for tensor in written_of(func, args, kwargs)}
        if made or written:
            self._record(func, args, kwargs, made, written)
        return result

    def _here(self, then: str) -> str:
        line = users_line()
        return f"{self._place()[0] or 'the model'}: {line + then if line else ''}"

    def _decide(self, inputs: FrozenSet[str]) -> None:
        line = users_line() or "PyTorch itself"
        roots = [root for root in sys.path if root and line.startswith(root.rstrip("/") + "/")]
        for name in inputs:  # as imported, which is the same on every machine
            self.decided.setdefault(name, line[len(max(roots, key=len, default="").rstrip("/")) + 1:] if roots else line)

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

    def _record(self, func: Any, args: Any, kwargs: Dict[str, Any], made: List[Any], written: Set[int]) -> None:
        aten = func._schema.name.partition("::")[2]
        space = func._schema.name.partition("::")[0]
        kind = aten[:-1] if aten.endswith("_") and not aten.endswith("__") else aten
        read = tensors_of((args, kwargs))
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
        if view or torch.Tag.inplace_view in func.tags:
            type_ = "Reshape"
        elif space in ("aten", "transformers") and kind in TYPES:
            type_ = TYPES[kind]
        elif kind == "convolution":
            type_ = self._convolution(args)
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
        arguments = arguments_of(func, args, kwargs)
        if kind in _DETAILS:
            op["attributes"].update(_DETAILS[kind](arguments))
        if any(argument.name == "is_causal" and given for argument, given in zip(func._schema.arguments, arguments)):
            op["attributes"]["causal"] = True
        if ranks > 1:
            op["attributes"].update(collective)
            op.pop("colocate", None)
        self.ops.append(op)
        self._number(module, name)

    def _collective(self, func: Any, args: Any, kwargs: Any) -> Dict[str, int]:
        """The ranks of its process group, and whose tensor it is; nothing where ranks send unequal parts, since one rank's do not tell the others'."""
        named = {argument.name: given for argument, given in zip(func._schema.arguments, arguments_of(func, args, kwargs))}
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
    def _convolution(args: Sequence[Any]) -> str:
        image, filters, transposed, groups = args[0], args[1], args[6], args[8]
        if transposed:
            return "ConvTranspose"
        if image.dim() == 4 and groups > 1 and groups == image.shape[1] and filters.shape[1] == 1:
            return "DepthwiseConv2dNative"
        return {3: "Conv1D", 4: "Conv2D", 5: "Conv3D"}.get(image.dim(), "Conv2D")


def _window(filters: Any, strides: Any, padding: Any, dilations: Any, groups: int) -> Dict[str, Any]:
    padding = list(padding)
    window = {"kernel": list(filters.shape[2:]), "strides": list(strides), "data_format": "NCHW",
              "padding": padding + padding if any(padding) else "VALID"}
    if any(dilation > 1 for dilation in dilations):
        window["dilations"] = list(dilations)
    if groups > 1:
        window["groups"] = groups
    return window


def _of_convolution(args: Sequence[Any]) -> Dict[str, Any]:
    return _window(args[1], args[3], args[4], args[5], args[8])


def _of_convolution_backward(args: Sequence[Any]) -> Dict[str, Any]:
    """With which gradients it gives: of the image, the filter and the bias."""
    return {**_window(args[2], args[4], args[5], args[6], args[9]), "output_mask": [bool(one) for one in args[10]], "transposed": bool(args[7])}


#: What prices need to know of an op beside its shapes.
_DETAILS = {"convolution": _of_convolution, "convolution_backward": _of_convolution_backward}
