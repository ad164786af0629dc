"""Copies: how long bytes take from memory to memory. MEANING below is written into the recording."""

import threading
import time

import torch

import kineto
from device import export_trace
from recording import summarise

MEANING = {
    "rows": "one for each size in bytes; sizes are the powers of two from 4 B to 1 GiB; one buffer of the largest size "
            "at each end, the copy from its beginning; contents a random MiB over and over",
    "host": "wall time of the copy on the host's clock, the device idle before and after, the call and the waiting "
            "included: what a program sees",
    "call": "wall time of the enqueuing call alone, queue empty",
    "device": "time between two events around one copy, which was queued behind a waiting kernel: the copy and the "
              "cost of an event (see launch, event_pair), without the call",
    "queued": "time between two events around `queued_copies` copies of one queue, all queued before the first starts, "
              "divided by their number",
    "busy": "`queued` of this direction while the other direction copies without a break; `covered` says whether the "
            "other direction's last copy ended after this one's. In pageable memory: wall time of the call while a "
            "second thread copies the other way (below 64 KiB the interpreter's lock dominates; towards the device the "
            "call may return before the last staged bytes are there)",
    "traced": "duration in the device's own records (CUPTI) of 10 copies (3 from 16 MiB on) after as many to warm up, by kind and bytes",
    "statistic": "median, median absolute deviation, 5th and 95th percentile, minimum; warm-ups and repeats as in `timing`",
}

KINDS = ("pinned", "pageable")
DIRECTIONS = ("h2d", "d2h")


def sizes(quick):
    return [1 << power for power in (range(2, 23, 4) if quick else range(2, 31))]


_BLOCK = torch.empty(1 << 20, dtype=torch.uint8).random_(0, 256)


class Buffers:
    """One pair of buffers for each direction, of the largest size."""

    def __init__(self, device, kind, largest):
        self._near, self._far = {}, {}
        for direction in DIRECTIONS:
            near = device.pinned(largest) if kind == "pinned" else torch.empty(largest, dtype=torch.uint8)
            near.view(-1, _BLOCK.numel()).copy_(_BLOCK)
            self._near[direction] = near
            self._far[direction] = self._near[direction].to(device.torch_device, copy=True)

    def copy(self, direction, size):
        """A function that copies the first `size` bytes without waiting for the end."""
        near, far = self._near[direction][:size], self._far[direction][:size]
        target, source = (far, near) if direction == "h2d" else (near, far)
        return lambda: target.copy_(source, non_blocking=True)


def _queue_length(row):
    """So many copies that a queue of them takes about 2 ms, at most 64."""
    return max(1, min(64, int(2000 / max(row["device"]["median_us"], 1e-3))))


def _alone(device, timer, kind, direction, copy_sizes):
    buffers = Buffers(device, kind, copy_sizes[-1])
    rows = []
    for size in copy_sizes:
        work = buffers.copy(direction, size)
        row = {"bytes": size, "host": timer.host(work)}
        if kind == "pinned":  # a pageable copy waits in the call, for itself and for what is queued before it
            row |= {"call": timer.call(work), "device": timer.on_device(work)}
            row["queued_copies"] = _queue_length(row)
            row["queued"] = timer.on_device(work, row["queued_copies"])
        rows.append(row)
    return {"rows": rows}


def _both_pinned(device, timer, direction, copy_sizes):
    other = DIRECTIONS[1 - DIRECTIONS.index(direction)]
    buffers = Buffers(device, "pinned", copy_sizes[-1])
    streams = {way: device.stream() for way in DIRECTIONS}
    rows = []
    for size in copy_sizes:
        copies = {way: buffers.copy(way, size) for way in DIRECTIONS}
        count = _queue_length({"device": timer.on_device(copies[direction])})
        covered = []

        def once():
            device.synchronize()
            device.hold(200 + 100 * count)
            go = device.event()
            ends = {}
            for way, number in ((other, 3 * count), (direction, count)):
                with device.using(streams[way]):
                    device.wait(go)
                    start = device.event()
                    for _ in range(number):
                        copies[way]()
                    ends[way] = (start, device.event())
            device.synchronize()
            covered.append(device.elapsed_us(ends[direction][1], ends[other][1]) >= 0)
            return device.elapsed_us(*ends[direction]) / count

        busy = summarise(timer.samples(once))
        rows.append({"bytes": size, "busy": busy, "queued_copies": count, "covered": all(covered)})
    return {"rows": rows}


def _both_pageable(device, timer, direction, copy_sizes):
    other = DIRECTIONS[1 - DIRECTIONS.index(direction)]
    buffers = Buffers(device, "pageable", copy_sizes[-1])
    rows = []
    for size in copy_sizes:
        stop = threading.Event()
        background = buffers.copy(other, size)
        stream = {way: device.stream() for way in DIRECTIONS}

        def keep_copying():
            with device.using(stream[other]):
                while not stop.is_set():
                    background()

        def once():
            start = time.perf_counter_ns()
            measured()  # a pageable copy has read or written all host memory when the call returns
            return (time.perf_counter_ns() - start) / 1e3

        measured = buffers.copy(direction, size)
        thread = threading.Thread(target=keep_copying, daemon=True)
        thread.start()
        try:
            with device.using(stream[direction]):
                rows.append({"bytes": size, "busy": summarise(timer.samples(once)), "covered": True})
        finally:
            stop.set()
            thread.join()
            device.synchronize()
    return {"rows": rows}


def _within(torch_device, device, timer, copy_sizes):
    """Copies from one buffer to another of the same memory; on the host with the synchronous call alone."""
    source = _BLOCK.repeat(copy_sizes[-1] // _BLOCK.numel()).to(torch_device)
    target = torch.empty_like(source)
    rows = []
    for size in copy_sizes:
        def work(a=target[:size], b=source[:size]):
            a.copy_(b)

        row = {"bytes": size, "host": timer.host(work)}
        if torch_device.type == "cuda":
            row |= {"call": timer.call(work), "device": timer.on_device(work)}
            row["queued_copies"] = _queue_length(row)
            row["queued"] = timer.on_device(work, row["queued_copies"])
        rows.append(row)
    return {"rows": rows, "threads": torch.get_num_threads()}


def _traced(device, copy_sizes):
    found = []
    for kind in KINDS:
        buffers = Buffers(device, kind, copy_sizes[-1])

        def work():
            for size in copy_sizes:
                for direction in DIRECTIONS:
                    copy = buffers.copy(direction, size)
                    for _ in range(10 if size < 16 << 20 else 3):
                        copy()
                device.synchronize()

        events = kineto.parse(export_trace(device, work, shapes=False)[0]) or []
        found += [{"memory": kind, "name": name, "bytes": size, "duration": summarise(durations)}
                  for (name, size), durations in sorted(kineto.copies_us(events).items(), key=str)]
    return {"rows": found}


def parts(device, timer, quick):
    """{part: function that measures it}."""
    copy_sizes = sizes(quick)
    table = {}
    for kind in KINDS:
        for way in DIRECTIONS:
            table[f"{kind}_{way}"] = lambda k=kind, w=way: _alone(device, timer, k, w, copy_sizes)
    for way in DIRECTIONS:
        table[f"both_pinned_{way}"] = lambda w=way: _both_pinned(device, timer, w, copy_sizes)
        table[f"both_pageable_{way}"] = lambda w=way: _both_pageable(device, timer, w, copy_sizes)
    table["on_device"] = lambda: _within(device.torch_device, device, timer, copy_sizes)
    table["on_host"] = lambda: _within(torch.device("cpu"), device, timer, copy_sizes)
    table["traced"] = lambda: _traced(device, copy_sizes)
    return table
