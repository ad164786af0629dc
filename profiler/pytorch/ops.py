"""Single operations at the shapes of the workloads and on a grid, on the device and on the host's CPU.

They are a first stock for cost models until stowplan-profile measures the same natively. MEANING below is written into the
recording.
"""

import dataclasses
import time

import torch
from torch.nn import functional

from recording import Unavailable

MEANING = {
    "rows": "one for each op, phase, number format and shape; `flops` = 2 x multiply-adds of contractions, else 0; "
            "`bytes` = inputs read and outputs written once; values random normal",
    "hot": "time between two events around one call, queued behind a waiting kernel, the same operands in every repeat "
           "(on the CPU: wall time of the call)",
    "cold": "the same with 256 MiB of other memory written just before, so that operands come from memory, not from a "
            "cache (on the device only)",
    "unavailable": "why the row was not measured: the library cannot, or the first call took over `longest_call_s`",
    "allow_tf32": "whether the library may use tf32 for float32: convolutions and matrix products, as PyTorch was found; "
                  "rows with the format tf32 switch it on for themselves, rows with float32 off",
    "statistic": "median, median absolute deviation, 5th and 95th percentile, minimum; warm-ups and repeats as in `timing`",
}

_FORMATS = {"float32": torch.float32, "tf32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclasses.dataclass(frozen=True)
class Case:
    op: str
    shape: dict
    formats: tuple = ("float32",)
    phase: str = "forward"

    def key(self, fmt):
        return {"op": self.op, "phase": self.phase, "format": fmt, "shape": self.shape}


# ---- builders: (shape, random) -> (function to time, flops, bytes) ------------------------------------------------
# random(*size) gives a tensor of the row's number format on the device.


def _bytes(*tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _gemm(shape, phase, random):
    m, n, k = shape["m"], shape["n"], shape["k"]
    a, b, c = random(m, k), random(k, n), random(m, n)
    return (lambda: torch.mm(a, b, out=c)), 2 * m * n * k, _bytes(a, b, c)


def _bmm(shape, phase, random):
    batch, m, n, k = (shape[key] for key in ("batch", "m", "n", "k"))
    a, b, c = random(batch, m, k), random(batch, k, n), random(batch, m, n)
    return (lambda: torch.bmm(a, b, out=c)), 2 * batch * m * n * k, _bytes(a, b, c)


def _conv2d(shape, phase, random):
    kernel = shape["kernel"]
    stride, padding = [shape["stride"]] * 2, [size // 2 for size in kernel]
    x = random(shape["batch"], shape["in"], shape["side"], shape["side"])
    w = random(shape["out"], shape["in"], *kernel)
    y = functional.conv2d(x, w, None, stride, padding)
    flops = 2 * y.numel() * shape["in"] * kernel[0] * kernel[1]
    if phase == "forward":
        return (lambda: functional.conv2d(x, w, None, stride, padding)), flops, _bytes(x, w, y)
    mask = [phase == "data_gradient", phase == "filter_gradient", False]
    gradient = torch.randn_like(y)

    def backward():
        return torch.ops.aten.convolution_backward(gradient, x, w, None, stride, padding, [1, 1], False, [0, 0], 1, mask)

    return backward, flops, _bytes(x, w, y)


def _unary(function):
    def build(shape, phase, random):
        x = random(shape["elements"])
        return (lambda: function(x)), 0, 2 * _bytes(x)

    return build


def _add(shape, phase, random):
    x, y = random(shape["elements"]), random(shape["elements"])
    return (lambda: torch.add(x, y)), 0, 3 * _bytes(x)


def _rows(function, written):
    """Ops along the last of two dimensions; `written`: the share of the input's size that they write."""

    def build(shape, phase, random):
        x = random(shape["rows"], shape["columns"])
        return (lambda: function(x)), 0, int((1 + written(shape)) * _bytes(x))

    return build


def _batch_norm(shape, phase, random):
    x = random(shape["batch"], shape["channels"], shape["side"], shape["side"])
    weight, bias, mean, variance = (random(shape["channels"]).abs_() for _ in range(4))
    return (lambda: functional.batch_norm(x, mean, variance, weight, bias, True)), 0, 2 * _bytes(x)


def _embedding(shape, phase, random):
    table = random(shape["rows"], shape["width"])
    ids = torch.randint(shape["rows"], (shape["tokens"],), device=table.device)
    gathered = shape["tokens"] * shape["width"] * table.element_size()
    if phase == "forward":
        return (lambda: functional.embedding(ids, table)), 0, _bytes(ids) + 2 * gathered
    gradient = random(shape["tokens"], shape["width"])
    return (lambda: torch.ops.aten.embedding_dense_backward(gradient, ids, shape["rows"], -1, False)), 0, \
        _bytes(ids, table) + gathered


def _lstm_cell(shape, phase, random):
    batch, width = shape["batch"], shape["width"]
    x, h, c = random(batch, width), random(batch, width), random(batch, width)
    wx, wh, bx, bh = random(4 * width, width), random(4 * width, width), random(4 * width), random(4 * width)
    return (lambda: torch.lstm_cell(x, (h, c), wx, wh, bx, bh)), 16 * batch * width * width, _bytes(x, h, c, wx, wh, h, c)


def _optimizer(make, slots):
    """An optimizer's step over one parameter; it reads the gradient, and reads and writes parameter and slots."""

    def build(shape, phase, random):
        parameter = torch.nn.Parameter(random(shape["elements"]))
        parameter.grad = random(shape["elements"])
        optimizer = make([parameter])
        return optimizer.step, 0, (3 + 2 * slots) * _bytes(parameter)

    return build


def _attention(shape, phase, random):
    """The library's fused attention, forward or all of its gradients."""
    shapes = shape["batch"], shape["heads"], shape["tokens"], shape["width"]
    q, k, v = (random(*shapes).requires_grad_(phase == "backward") for _ in range(3))
    flops = 4 * shape["batch"] * shape["heads"] * shape["tokens"] ** 2 * shape["width"] // (2 if shape["causal"] else 1)
    with torch.enable_grad():
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=bool(shape["causal"]))
    if phase == "forward":
        return (lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=bool(shape["causal"]))), flops, 4 * _bytes(q)
    gradient = random(*shapes)
    return (lambda: torch.autograd.grad(y, (q, k, v), gradient, retain_graph=True)), 5 * flops // 2, 8 * _bytes(q)


def _gradient_of(build):
    """The gradient by its input of what `build` makes of rows."""

    def gradient(shape, phase, random):
        inputs = []

        def kept(*size):
            inputs.append(random(*size).requires_grad_())
            return inputs[-1]

        with torch.enable_grad():
            work, _, moved = build(shape, "forward", kept)
            y = work()
        other = torch.randn_like(y)
        return (lambda: torch.autograd.grad(y, inputs[0], other, retain_graph=True)), 0, moved * 3 // 2

    return gradient


_BUILDERS = {
    "gemm": _gemm,
    "bmm": _bmm,
    "conv2d": _conv2d,
    "add": _add,
    "relu": _unary(torch.relu),
    "gelu": _unary(functional.gelu),
    "tanh": _unary(torch.tanh),
    "copy": _unary(torch.clone),
    "sum": _rows(lambda x: x.sum(1), lambda shape: 1 / shape["columns"]),
    "softmax": _rows(lambda x: torch.softmax(x, 1), lambda shape: 1),
    "layer_norm": _rows(lambda x: functional.layer_norm(x, x.shape[1:]), lambda shape: 1),
    "batch_norm": _batch_norm,
    "fused_attention": _attention,
    "embedding": _embedding,
    "lstm_cell": _lstm_cell,
    "sgd_momentum": _optimizer(lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), 1),
    "adamw": _optimizer(lambda p: torch.optim.AdamW(p, lr=1e-4), 2),
}

# ---- what is measured --------------------------------------------------------------------------------------------

_MATRIX = ("float32", "tf32", "float16", "bfloat16")
_PHASES = ("forward", "data_gradient", "filter_gradient")


def _gemms():
    shapes = [(n, n, n) for n in (64, 128, 256, 512, 1024, 2048, 4096, 8192)]
    shapes += [(4096, 768, 768), (4096, 2304, 768), (4096, 3072, 768), (4096, 768, 3072)]  # BERT, 32 x 128 tokens
    shapes += [(2048, 512, 512), (2048, 32000, 512), (64, 2048, 512)]  # LSTM sequence to sequence
    shapes += [(512, 50257, 768), (32, 1000, 2048), (1, 4096, 4096), (16, 4096, 1024)]
    return [Case("gemm", {"m": m, "n": n, "k": k}, _MATRIX) for m, n, k in shapes]


def _convolutions():
    rows = [(3, 64, 7, 2, 224), (64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 128, 1, 1, 56),
            (128, 128, 3, 2, 56), (128, 128, 3, 1, 28), (256, 256, 3, 1, 14), (256, 1024, 1, 1, 14),
            (1024, 256, 1, 1, 14), (512, 512, 3, 1, 7), (2048, 512, 1, 1, 7)]  # ResNet-152
    cases = []
    for inputs, outputs, kernel, stride, side in rows:
        for batch in (2, 32):
            shape = {"batch": batch, "in": inputs, "out": outputs, "kernel": [kernel, kernel], "stride": stride, "side": side}
            cases += [Case("conv2d", shape, ("tf32",) if batch == 2 else ("float32", "tf32"), phase) for phase in _PHASES]
    for kernel in ([1, 7], [7, 1]):  # Inception-V3
        shape = {"batch": 32, "in": 192, "out": 192, "kernel": kernel, "stride": 1, "side": 17}
        cases += [Case("conv2d", shape, ("tf32",), phase) for phase in _PHASES]
    return cases


def _memory_bound():
    grid = [1 << power for power in range(8, 27, 3)]
    cases = [Case(op, {"elements": n}) for op in ("add", "relu", "gelu", "tanh", "copy") for n in grid]
    cases += [Case(op, {"rows": rows, "columns": columns}) for op in ("sum", "softmax", "layer_norm")
              for rows, columns in ((64, 768), (4096, 768), (32768, 768), (49152, 128), (512, 50257))]
    cases += [Case("batch_norm", {"batch": 32, "channels": c, "side": side})
              for c, side in ((64, 112), (256, 56), (512, 28), (1024, 14), (2048, 7))]
    cases += [Case("embedding", {"rows": 32000, "width": 512, "tokens": tokens}, phase=phase)
              for tokens in (64, 2048) for phase in ("forward", "backward")]
    cases += [Case("lstm_cell", {"batch": batch, "width": 512}) for batch in (1, 8, 64)]
    cases += [Case("bmm", {"batch": 384, "m": 128, "n": 128, "k": 64}), Case("bmm", {"batch": 384, "m": 128, "n": 64, "k": 128})]
    cases += [Case(op, {"elements": 1 << power}) for op in ("sgd_momentum", "adamw") for power in (10, 16, 20, 24)]
    return cases


def _attentions():
    formats = ("float32", "float16", "bfloat16")
    shapes = [(32, 12, 128, 64, 0), (8, 12, 512, 64, 1), (1, 12, 1024, 64, 1), (4, 16, 2048, 128, 1), (1, 32, 4096, 128, 1)]
    return [Case("fused_attention", dict(zip(("batch", "heads", "tokens", "width", "causal"), shape)), formats, phase)
            for phase in ("forward", "backward") for shape in shapes]


def _norms():
    rows = ((64, 768), (4096, 768), (32768, 768), (49152, 128), (512, 50257))
    cases = [Case(op, {"rows": r, "columns": c}, ("float32", "bfloat16"), phase)
             for phase in ("forward", "backward") for op in ("softmax", "layer_norm") for r, c in rows]
    return cases + [Case("batch_norm", {"batch": 32, "channels": c, "side": side}, phase="backward")
                    for c, side in ((64, 112), (512, 28), (2048, 7))]


_FAMILIES = {"attention": _attentions, "norms": _norms, "gemm": _gemms, "conv2d": _convolutions, "memory_bound": _memory_bound}


class _Formats:
    """Switches tf32 for the rows and puts it back."""

    def __enter__(self):
        self._before = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
        return self

    def choose(self, fmt):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fmt == "tf32"

    def __exit__(self, *unused):
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = self._before


def _measure(case, fmt, device, timer, longest_call_s):
    def random(*size):
        return torch.randn(*size, device=device.torch_device).to(_FORMATS[fmt])

    with torch.no_grad():
        build = _BUILDERS[case.op]
        if case.phase == "backward" and case.op in ("softmax", "layer_norm", "batch_norm"):
            build = _gradient_of(build)
        work, flops, moved = build(case.shape, case.phase, random)
        start = time.monotonic()
        work()
        device.synchronize()
        row = case.key(fmt) | {"flops": flops, "bytes": moved}
        if time.monotonic() - start > longest_call_s:
            raise Unavailable(f"one call took more than {longest_call_s} s")
        if device.kind != "cuda":
            return row | {"hot": timer.host(work)}
        other = torch.empty(256 << 20, dtype=torch.uint8, device=device.torch_device)
        return row | {"hot": timer.on_device(work), "cold": timer.on_device(work, before=other.zero_)}


def _family(cases, device, timer, longest_call_s):
    rows = []
    with _Formats() as formats:
        for case in cases:
            for fmt in case.formats:
                timer.budget.check()
                if fmt == "tf32" and device.kind != "cuda":
                    continue  # a CPU has no such mode: the float32 row is the one
                formats.choose(fmt)
                try:
                    rows.append(_measure(case, fmt, device, timer, longest_call_s))
                except (Unavailable, RuntimeError, NotImplementedError, AttributeError) as error:
                    rows.append(case.key(fmt) | {"unavailable": str(error).splitlines()[0]})
    return {"rows": rows, "threads": torch.get_num_threads(), "longest_call_s": longest_call_s}


def _thinned(cases, quick):
    """In a quick run the two smallest of every op, so that each builder is tried."""
    if not quick:
        return cases
    kept, seen = [], {}
    for case in cases:
        place = (case.op, case.phase)
        seen[place] = seen.get(place, 0) + 1
        if seen[place] <= 2:
            kept.append(case)
    return kept


def parts(device, host, timer, host_timer, quick):
    """{part: function that measures it}; the host's rows are made on the CPU whatever the device is."""
    table = {}
    for family, cases in _FAMILIES.items():
        chosen = _thinned(cases(), quick)
        if device.kind == "cuda":
            table[f"device_{family}"] = lambda c=chosen: _family(c, device, timer, 2.0)
        table[f"host_{family}"] = lambda c=chosen: _family(_for_host(c), host, host_timer, 0.3)
    return table


def _for_host(cases):
    """A CPU has no tf32: convolutions that are recorded in tf32 alone on the device are float32 there."""
    return [dataclasses.replace(case, formats=("float32",)) if case.formats == ("tf32",) else case for case in cases]
