"""What is known of the values of tensors that are shapes alone.

What a model computes from constants, from its buffers and from whole-numbered inputs (masks, positions, sizes of a grid) has values
although its weights and activations have none. They are worked out beside the run, on the CPU, so that a condition on them, `.item()` or
`nonzero` gives what it gives in a run with data.
"""

import contextlib
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

import torch  # type: ignore[import-not-found, unused-ignore]
from torch.overrides import TorchFunctionMode  # type: ignore[import-not-found, unused-ignore]
from torch.utils._python_dispatch import TorchDispatchMode  # type: ignore[import-not-found, unused-ignore]
from torch.utils._pytree import tree_flatten, tree_map  # type: ignore[import-not-found, unused-ignore]

aten: Any = torch.ops.aten

#: Bytes of the largest tensor whose values are followed, of whole numbers (a batch of masks of images) and of others; and of all together.
MOST, MOST_FLOATING, MOST_TOGETHER = 1 << 27, 1 << 24, 1 << 29

#: Attribute of a tensor without data that says its values.
TOLD = "_stowplan_values"

#: What decides where a model goes by which of its scores are highest (the experts of a token).
EVEN = "choices among scores"

#: Ops whose shapes go by values, and the arguments that decide.
_DECIDES: Dict[str, Tuple[int, ...]] = {
    "nonzero": (0,), "masked_select": (1,), "repeat_interleave": (0,), "bincount": (0,), "_unique2": (0,), "unique_dim": (0,), "unique_consecutive": (0,),
    "_unique": (0,), "_pack_padded_sequence": (1,)}

#: Functions that make tensors of Python's values, which are lost where the tensor has no data.
_OF_DATA = (torch.tensor, torch.as_tensor, torch.asarray, torch.Tensor.new_tensor, torch.from_numpy)


#: Those that give a tensor's values to Python.
_TO_PYTHON = (torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.__format__)

#: Those that say by their name where a tensor goes.
_MOVES = (torch.Tensor.cuda, torch.Tensor.xpu)


class Unknown(Exception):
    """A value that decides is not known."""


class _Known:
    def __init__(self, keep: Any, flat: Any, inputs: FrozenSet[str]) -> None:
        self.keep = keep  # the storage, so that its address is not used again
        self.flat = flat  # its elements, on the CPU
        self.inputs = inputs  # whose values these go by


def tensors_of(tree: Any) -> List[Any]:
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def is_small(tensor: Any) -> bool:
    """Small enough to follow."""
    whole = not tensor.is_floating_point() and not tensor.is_complex()
    return bool(tensor.numel() * tensor.element_size() <= (MOST if whole else MOST_FLOATING))


def arguments_of(func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
    """In the order of the schema; None where one is left out."""
    return [args[i] if i < len(args) else kwargs.get(argument.name) for i, argument in enumerate(func._schema.arguments)]


def written_of(func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
    """The tensors that it writes into."""
    return [tensor for argument, given in zip(func._schema.arguments, arguments_of(func, args, kwargs))
            if argument.alias_info is not None and argument.alias_info.is_write for tensor in tensors_of(given)]


def _key(tensor: Any) -> int:
    key: int = tensor.untyped_storage()._cdata
    return key


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is done within is no part of the run."""
    guards: Any = torch._C
    with guards.DisableTorchFunction(), guards._DisableTorchDispatch(), torch.no_grad():
        yield


class Values:
    """By storage, so that views and what is written in place are seen by all that share it."""

    def __init__(self, read: Callable[[FrozenSet[str]], None] = lambda inputs: None) -> None:
        self._read = read  # is told which inputs decided what a run does
        self._known: Dict[int, _Known] = {}
        self._bytes = 0  # of what is known
        self._stale: Dict[int, Any] = {}  # storages with data in which something without was written

    def tell(self, tensor: Any, values: Any, inputs: FrozenSet[str] = frozenset()) -> None:
        """`values`: with data, of the same type and, but for what repeats, of the same shape."""
        if tensor.layout != torch.strided or not is_small(tensor) or tensor.device.type == "cpu":
            return
        storage = tensor.untyped_storage()
        elements = storage.nbytes() // tensor.element_size()
        if storage.nbytes() > MOST or not elements:
            return
        flat = torch.zeros(elements, dtype=tensor.dtype, device="cpu")
        values, shape = values.expand(tensor.shape), list(tensor.shape)
        for axis, stride in enumerate(tensor.stride()):
            if stride == 0 and shape[axis] > 1:  # one element that shows as many
                values, shape[axis] = values.narrow(axis, 0, 1), 1
        flat.as_strided(shape, tensor.stride(), tensor.storage_offset()).copy_(values)
        self._drop(storage._cdata)
        self._known[storage._cdata] = _Known(storage, flat, inputs)
        self._bytes += storage.nbytes()
        while self._bytes > MOST_TOGETHER:
            self._drop(next(iter(self._known)))  # the oldest

    def of(self, tensor: Any) -> Tuple[Optional[Any], FrozenSet[str]]:
        """With data, sharing memory with all views of it; None where they are not known. And the inputs that they go by."""
        if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
            return None, frozenset()
        if not tensor.numel():
            return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu"), frozenset()
        known = self._known.get(_key(tensor))
        if known is None:
            with_data = tensor.device.type == "cpu" and _key(tensor) not in self._stale
            return (tensor.detach() if with_data else None), frozenset()
        self._known[_key(tensor)] = self._known.pop(_key(tensor))  # the youngest
        flat = known.flat if known.flat.dtype == tensor.dtype else known.flat.view(tensor.dtype)
        return flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()), known.inputs

    def read(self, tensor: Any) -> Optional[Any]:
        """As `of`, to decide what a run does."""
        values, inputs = self.of(tensor)
        if values is not None and inputs:
            self._read(inputs)
        return values

    def forget(self, tensor: Any) -> None:
        if not self._drop(_key(tensor)) and tensor.device.type == "cpu":
            self._stale[_key(tensor)] = tensor.untyped_storage()

    def _drop(self, key: int) -> bool:
        known = self._known.pop(key, None)
        if known is not None:
            self._bytes -= known.keep.nbytes()
        return known is not None

    # ---- along a run

    def call(self, func: Any, args: Sequence[Any], kwargs: Dict[str, Any], run: Callable[..., Any]) -> Any:
        """What the op gives, and follows it. `run` runs it on shapes. Unknown where values that decide are not known."""
        name = func._schema.name.partition("::")[2]
        if func is aten._local_scalar_dense.default or func is aten.equal.default:
            return self._decision(func, args)
        if name in _DECIDES and (torch.Tag.dynamic_output_shape in func.tags or name == "_pack_padded_sequence"):
            return self._shaped(func, name, args, kwargs)
        to_host = name == "_to_copy" and getattr(kwargs.get("device"), "type", "") == "cpu"
        if to_host and args[0].device.type != "cpu":
            values = self.read(args[0])
            if values is not None:
                with aside():
                    return func(values, **kwargs).clone()
            kwargs = {**kwargs, "device": args[0].device}  # stays without data
        tensors = tensors_of((args, kwargs))
        shapes = (args, kwargs)
        if name in ("index", "_unsafe_index"):
            shapes = ((args[0], [one for index in args[1] for one in self._places(index)], *args[2:]), kwargs)
        without = next((one.device for one in tensors if one.device.type != "cpu"), None)
        if without is not None and any(one.device.type == "cpu" and one.dim() for one in tensors):
            shapes = tree_map(lambda one: self._twin(one, without), shapes)
        result = run(*shapes[0], **shapes[1])
        self._follow(func, name, args, kwargs, result, tensors)
        return result

    def _twin(self, one: Any, device: Any) -> Any:
        if not isinstance(one, torch.Tensor) or one.device.type != "cpu" or not one.dim():
            return one
        with aside():
            return torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=device)

    def _places(self, index: Any) -> List[Any]:
        """A mask is as many indices as it has dimensions."""
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            return [index]
        values = self.read(index)
        if values is None:
            raise Unknown
        with aside():
            return [torch.empty(int(values.count_nonzero()), dtype=torch.int64, device=index.device) for _ in range(max(index.dim(), 1))]

    def _decision(self, func: Any, args: Sequence[Any]) -> Any:
        with_data = []
        for tensor in args[:1 if func is aten._local_scalar_dense.default else 2]:
            values = self.read(tensor)
            if values is None:
                raise Unknown
            with_data.append(values)
        with aside():
            return func(*with_data)

    def _shaped(self, func: Any, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        """Worked out with zeros for what does not decide."""
        all_known, inputs = True, frozenset()  # type: Tuple[bool, FrozenSet[str]]
        device = args[0].device
        with_data: List[Any] = []
        for i, given in enumerate(args):
            if not isinstance(given, torch.Tensor):
                with_data.append(given)
                continue
            values, whose = self.of(given)
            if values is None:
                if i in _DECIDES[name]:
                    raise Unknown
                with aside():
                    values = torch.zeros((), dtype=given.dtype).expand(given.shape)
                all_known = False
            elif i in _DECIDES[name]:
                self._read(whose)
            with_data.append(values)
            inputs |= whose
        with aside():
            result = func(*with_data, **kwargs)

            def without(one: Any) -> Any:
                if not isinstance(one, torch.Tensor) or device.type == "cpu" or name == "_pack_padded_sequence" and one.dtype == torch.int64:
                    return one  # sizes of the batches, which the host reads
                shape = torch.empty(one.shape, dtype=one.dtype, device=device)
                if all_known:
                    self.tell(shape, one, inputs)
                return shape

            return tree_map(without, result)

    def _follow(self, func: Any, name: str, args: Sequence[Any], kwargs: Dict[str, Any], result: Any, read: List[Any]) -> None:
        written = written_of(func, args, kwargs)
        made = [tensor for tensor in tensors_of(result) if tensor.device.type != "cpu"]
        before = {_key(tensor) for tensor in read}
        new = [tensor for tensor in made if _key(tensor) not in before]
        if not new and not written or all(one.device.type == "cpu" for one in [*read, *made]):  # a view, or with data
            return
        if torch.Tag.nondeterministic_seeded in func.tags:
            self._drawn(name, args, new, written)
            return
        known = [self.of(tensor) for tensor in read]
        if new and any(values is None for values, _ in known) and self._taken(name, args, new):
            return
        whole = name in ("fill_", "zero_", "copy_") and all(values is not None for values, _ in known[1:]) and known[0][0] is None
        if whole and written[0].numel() * written[0].element_size() == written[0].untyped_storage().nbytes():
            with aside():
                self.tell(written[0], torch.empty(written[0].shape, dtype=written[0].dtype))
            known[0] = self.of(read[0])
        if any(values is None for values, _ in known) or name.startswith(("empty", "new_empty")) or not all(map(is_small, new)):
            for tensor in written:
                self.forget(tensor)
            return
        inputs = frozenset().union(*(whose for _, whose in known))
        try:
            with aside():
                given = func(*tree_map(self._with_data, args), **tree_map(self._with_data, kwargs))
        except (RuntimeError, NotImplementedError, TypeError, IndexError):
            for tensor in written:
                self.forget(tensor)
            return
        for tensor in written:
            if _key(tensor) in self._known:
                self._known[_key(tensor)].inputs |= inputs
        with aside():
            for shape, values in zip(tensors_of(result), tensors_of(given)):
                if shape.shape == values.shape and any(shape is one for one in new):
                    self.tell(shape, values, inputs)

    def _taken(self, name: str, args: Sequence[Any], new: List[Any]) -> bool:
        """What is taken for granted of values that are not known: they are finite, and choices among them fall evenly."""
        if name in ("topk", "argmax", "max") and new[-1].dtype == torch.int64 and args[0].dim():
            at = (args[2] if len(args) > 2 else -1) if name == "topk" else args[1] if len(args) > 1 else None
            chosen, among = new[-1], args[0].numel() if at is None else args[0].shape[at]
            if chosen.numel() and is_small(chosen):
                with aside():
                    dealt = torch.arange(chosen.numel(), device="cpu") % among
                    last = chosen.movedim(at, -1) if name == "topk" else chosen
                    dealt = dealt.view(last.shape)
                    self.tell(chosen, dealt.movedim(-1, at) if name == "topk" else dealt, frozenset({EVEN}))
            return True
        finite = {"isnan": False, "isinf": False, "eq": True, "ne": True}.get(name)
        if finite is None or name == "eq" and args[0] is not args[1] or name == "ne" and args[1] not in (float("inf"), float("-inf")):
            return False
        with aside():
            self.tell(new[0], torch.full((), finite, device="cpu"))
        return True

    def _with_data(self, one: Any) -> Any:
        if isinstance(one, torch.Tensor):
            return self.of(one)[0]
        return torch.device("cpu") if isinstance(one, torch.device) else one

    def _drawn(self, name: str, args: Sequence[Any], new: List[Any], written: List[Any]) -> None:
        """One number drawn at random is its mean: what is left out with a probability below one half is not left out. Places are drawn in order."""
        for tensor in written:
            self.forget(tensor)
        if len(new) != 1 or not new[0].numel() or not is_small(new[0]):
            return
        drawn, mean = new[0], None
        if name in ("rand", "rand_like"):
            mean = 0.5
        elif name == "randint":
            bounds = [one for one in args if isinstance(one, int)]
            mean = sum(bounds[:2] if len(bounds) > 1 else [0, *bounds]) // 2
        with aside():
            if name in ("randperm", "multinomial"):
                among = drawn.shape[-1] if name == "randperm" else args[0].shape[-1]
                self.tell(drawn, (torch.arange(drawn.shape[-1], device="cpu") % among).to(drawn.dtype).expand(drawn.shape))
            elif mean is not None and drawn.numel() == 1:
                self.tell(drawn, torch.full(drawn.shape, mean, dtype=drawn.dtype, device="cpu"))


def _plain(values: Values, data: Any) -> Any:
    """Python's values, those of tensors among them."""
    if isinstance(data, torch.Tensor):
        known = values.read(data)
        if known is None:
            raise Unknown
        return known.tolist()
    if isinstance(data, (list, tuple)):
        return [_plain(values, one) for one in data]
    return data


def _somewhere(device: Any) -> Any:
    """Every device but the CPU is the one without data: a graph says nothing of where its ops run."""
    return device if device is None or str(device).partition(":")[0] == "cpu" else "meta"


class OfData(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """Tensors made of Python's values keep them, and give them back to Python. All devices but the CPU are one."""

    def __init__(self, values: Values) -> None:
        super().__init__()
        self._values = values

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _somewhere(kwargs["device"])}
        if func in _MOVES:
            func, args, kwargs = torch.Tensor.to, (args[0], "meta"), {}
        elif func is torch.Tensor.to and len(args) > 1 and isinstance(args[1], (str, int, torch.device)):
            args = (args[0], _somewhere(args[1]), *args[2:])
        if func in _TO_PYTHON and args[0].device.type != "cpu":
            known = self._values.read(args[0])
            if known is not None:
                with aside():
                    return func(known.clone(), *args[1:], **kwargs)
        result = func(*args, **kwargs)
        if func in _OF_DATA and isinstance(result, torch.Tensor) and result.device.type != "cpu":
            data = args[-1] if func is torch.Tensor.new_tensor else args[0] if args else kwargs.get("data", kwargs.get("obj"))
            if not isinstance(data, torch.Tensor):
                try:
                    plain = _plain(self._values, data)
                except Unknown:
                    return result
                with aside():
                    self._values.tell(result, torch.tensor(plain, dtype=result.dtype, device="cpu"))
        return result


class Following(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Follows values where nothing is recorded: while a model is made."""

    def __init__(self, values: Values) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self._values = values

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self._values.call(func, args, kwargs or {}, func)
        except Unknown:
            return func(*args, **(kwargs or {}))
