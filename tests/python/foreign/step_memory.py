#!/usr/bin/env python3
"""What a training step of models.py holds, by PyTorch's CPU allocator: writes memory.json, which CI compares with the graphs of graphs/.

    pip install -r requirements.txt          in an environment of its own; CPU alone, 16 GB
    python step_memory.py [NAME...]

Each model runs for real, two steps of Adam(foreach=True) as on a GPU, the second under the profiler. The peak counts weights, the optimizer's state,
inputs and every allocation of the step. Apart stands the peak without the scratch memory that the CPU's convolutions and recurrent layers take and
give back within one call, since another device's kernels take another amount. Three minutes for all.
"""

import json
import pathlib
import sys
import warnings

import torch
from torch.profiler import ProfilerActivity, profile

HERE = pathlib.Path(__file__).parent
SCRATCH = ("convolution", "conv2d", "rnn_layer")


def loss_of(result):
    """As stowplan.capture has it."""
    if hasattr(result, "keys"):
        result = next(result[key] for key in ("loss", "logits") if result.get(key) is not None) if "logits" in result or "loss" in result \
            else next(one for one in result.values() if torch.is_tensor(one) and one.is_floating_point())
    output = result[0] if isinstance(result, (tuple, list)) else result
    if output.numel() == 1:
        return output.reshape(())
    if output.dim() < 2:
        return output.mean()
    rows = output.reshape(-1, output.shape[-1])
    return torch.nn.functional.cross_entropy(rows, torch.zeros(rows.shape[0], dtype=torch.long))


def allocations(events, scratch=None):
    """(time, address, bytes, the call whose scratch it may be) in no order."""
    for event in events:
        if "Allocation" in str(event.tag):
            yield event.start_time_ns, event.extra_fields.ptr, event.extra_fields.alloc_size, scratch
        else:
            inner = scratch if scratch is not None or not any(word in event.name for word in SCRATCH) else event
            yield from allocations(event.children, inner)


def peaks(held, events):
    """Bytes at the highest moment: of all, and without scratch. `held` is what the step begins with."""
    told = sorted(allocations(events), key=lambda one: one[0])
    freed_in, open_ = {}, {}
    for at, (_, address, size, scratch) in enumerate(told):
        if size > 0:
            open_[address] = (at, scratch)
        elif address in open_:
            begin, call = open_.pop(address)
            if call is not None and call is scratch:
                freed_in[begin] = freed_in[at] = True
    most, without, now, lasting = held, held, held, held
    for at, (_, _, size, _) in enumerate(told):
        now += size
        lasting += 0 if at in freed_in else size
        most, without = max(most, now), max(without, lasting)
    return most, without


def measured(function):
    model, args, kwargs = function()
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-6, foreach=True)

    def step():
        loss_of(model(*args, **kwargs)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    tensors = [*model.parameters(), *model.buffers(), *args, *kwargs.values()]
    tensors += [value for state in optimizer.state.values() for value in state.values()]
    held = sum(one.numel() * one.element_size() for one in tensors if torch.is_tensor(one))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        step()
    most, without = peaks(held, recorded.profiler.kineto_results.experimental_event_tree())
    return {"peak_bytes": most, "without_scratch_bytes": without, "torch": torch.__version__}


def main():
    warnings.simplefilter("ignore")
    from models import MODELS

    rows = json.loads((HERE / "memory.json").read_text(encoding="utf-8")) if (HERE / "memory.json").exists() else {}
    with_graph = {path.name.partition(".")[0] for path in (HERE / "graphs").glob("*.step.json.zst")}
    for function in MODELS:
        name = function.__name__
        if name in (sys.argv[1:] or with_graph):
            rows[name] = measured(function)
            print(f"{name:24}{rows[name]['peak_bytes'] / 1e6:10.1f} MB, without scratch {rows[name]['without_scratch_bytes'] / 1e6:10.1f}", flush=True)
            (HERE / "memory.json").write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
