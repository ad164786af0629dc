"""Launches: what an op costs beyond its work. MEANING below is written into the recording."""

import torch

import kineto
from device import export_trace
from recording import Unavailable, summarise

MEANING = {
    "event_pair": "time between two events with nothing between them, queued behind a waiting kernel: what `device` "
                  "and `queued` times of other probes contain once",
    "empty": "a kernel without work. `call`: wall time of the call that enqueues it, queue empty at the first of 100 "
             "calls, divided by 100. `roundtrip`: wall time from the call to the device being idle again. `queued`: "
             "time between two events around 500 of them, all queued before the first starts, divided by 500: the "
             "kernel and the gap to the next one",
    "add": "the same three figures for x.add_(1) on one float32: a framework op, dispatch included",
    "view": "`call`: wall time of x.view(-1), which launches nothing: the framework's dispatch alone",
    "graph": "a CUDA graph of n x.add_(1): `replay` = time between two events around the replay, divided by n; "
             "`call` = wall time of the replay's call",
    "traced": "from the device's own records of 300 x.add_(1): duration of a kernel, gap to the next kernel when the "
              "queue is never empty, launch call, and the time from launch call to kernel start when it is",
    "host": "x.add_(1) on the CPU, by number of float32 and threads: wall time of a call, 100 calls a sample below "
            "65,536 elements, one above",
    "statistic": "median, median absolute deviation, 5th and 95th percentile, minimum; warm-ups and repeats as in `timing`",
}

_QUEUE = 500  # a stream takes about 1,000 launches before a call waits


def _graph(device, timer):
    rows = []
    for nodes in (1, 10, 100, 1000):
        x = torch.zeros(1, device=device.torch_device)

        def work():
            for _ in range(nodes):
                x.add_(1)

        replay = device.capture(work)
        on_device = timer.on_device(replay)
        each = {key: value / nodes if key.endswith("_us") and value is not None else value
                for key, value in on_device.items()}
        rows.append({"nodes": nodes, "replay": each, "call": timer.call(replay)})
    return {"rows": rows}


def _traced(device):
    if device.kind != "cuda":
        raise Unavailable("kernels are traced on a CUDA device")
    x = torch.zeros(1, device=device.torch_device)

    def queued():
        device.hold(20000)
        for _ in range(300):
            x.add_(1)

    def apart():
        for _ in range(300):
            x.add_(1)
            device.synchronize()

    full = kineto.parse(export_trace(device, queued, shapes=False)[0]) or []
    empty = kineto.parse(export_trace(device, apart, shapes=False)[0]) or []
    adds = [kernel for kernel in kineto.kernels(full) if "spin" not in kernel["name"]]
    if len(adds) < 100:
        raise RuntimeError(f"the trace holds {len(adds)} of 300 kernels: no permission for the device's records?")
    return {
        "kernel": summarise([kernel["dur"] for kernel in adds]),
        "gap_queued": summarise(kineto.gaps_us(adds)),
        "launch_call": summarise([call["dur"] for call in kineto.launches(full)]),
        "launch_to_start": summarise(kineto.launch_latencies_us(empty)),
        "summary": [kineto.summary(full), kineto.summary(empty)],
    }


def _host(device, timer, quick):
    before = torch.get_num_threads()
    rows = []
    try:
        for threads in sorted({1, before}):
            torch.set_num_threads(threads)
            for power in range(0, 15 if quick else 25, 4):
                x = torch.zeros(1 << power)
                calls = 100 if power < 16 else 1
                rows.append({"threads": threads, "elements": 1 << power, "call": timer.call(lambda: x.add_(1), calls)})
    finally:
        torch.set_num_threads(before)
    return {"rows": rows}


def _op(device, timer, work):
    return {"call": timer.call(work, 100), "roundtrip": timer.host(work), "queued": timer.on_device(work, _QUEUE)}


def parts(device, timer, quick):
    """{part: function that measures it}."""
    x = torch.zeros(1, device=device.torch_device)
    return {
        "event_pair": lambda: {"device": timer.on_device(lambda: None)},
        "empty": lambda: _op(device, timer, device.empty_kernel),
        "add": lambda: _op(device, timer, lambda: x.add_(1)),
        "view": lambda: {"call": timer.call(lambda: x.view(-1), 100)},
        "graph": lambda: _graph(device, timer),
        "traced": lambda: _traced(device),
        "host": lambda: _host(device, timer, quick),
    }
