"""The device that is measured, and the clocks it is measured with.

`Cuda` is the real thing. `Host` answers the same calls on the CPU, one thing after another, so that every line of the
probes can be tried where there is no GPU; its recordings say `"device": "cpu"` and stand for nothing else.
"""

import contextlib
import os
import tempfile
import time

import torch

from recording import Unavailable, summarise


class Cuda:
    kind = "cuda"
    torch_device = torch.device("cuda", 0)

    def __init__(self):
        if not torch.cuda.is_available():
            raise Unavailable("this PyTorch sees no CUDA device")
        torch.cuda.init()
        self._cycles_per_us = 1500

    def synchronize(self):
        torch.cuda.synchronize()

    def event(self):
        """An event recorded in the current stream now."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def elapsed_us(self, first, second):
        return first.elapsed_time(second) * 1e3

    def stream(self):
        return torch.cuda.Stream()

    def using(self, stream):
        return torch.cuda.stream(stream)

    def wait(self, event):
        torch.cuda.current_stream().wait_event(event)

    def hold(self, microseconds):
        """Keeps the current stream busy about that long or longer, so that what follows is queued before it starts."""
        torch.cuda._sleep(int(microseconds * self._cycles_per_us))

    def empty_kernel(self):
        torch.cuda._sleep(0)

    def pinned(self, count):
        return torch.empty(count, dtype=torch.uint8, pin_memory=True)

    def activities(self):
        return [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]

    @contextlib.contextmanager
    def marked(self, name):
        """A range of NVTX, with one for each op in it."""
        torch.cuda.nvtx.range_push(name)
        try:
            with torch.autograd.profiler.emit_nvtx(record_shapes=True):
                yield
        finally:
            torch.cuda.nvtx.range_pop()

    def forget(self):
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def memory(self):
        """Bytes of the caching allocator; peaks are since forget()."""
        stats = torch.cuda.memory_stats()
        keys = {
            "requested": "requested_bytes.all",
            "allocated": "allocated_bytes.all",
            "reserved": "reserved_bytes.all",
        }
        found = {}
        for name, key in keys.items():
            if key + ".peak" in stats:
                found[name + "_now_bytes"] = stats[key + ".current"]
                found[name + "_peak_bytes"] = stats[key + ".peak"]
        found["retries"] = stats.get("num_alloc_retries")
        return found

    def capture(self, work):
        """A function that replays what work() enqueues."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return graph.replay


class Host:
    kind = "cpu"
    torch_device = torch.device("cpu")

    def synchronize(self):
        pass

    def event(self):
        return time.perf_counter_ns()

    def elapsed_us(self, first, second):
        return (second - first) / 1e3

    def stream(self):
        return None

    def using(self, stream):
        return contextlib.nullcontext()

    def wait(self, event):
        pass

    def hold(self, microseconds):
        pass

    def empty_kernel(self):
        pass

    def pinned(self, count):
        return torch.empty(count, dtype=torch.uint8)

    def activities(self):
        return [torch.profiler.ProfilerActivity.CPU]

    def marked(self, name):
        return contextlib.nullcontext()

    def forget(self):
        pass

    def memory(self):
        return {}

    def capture(self, work):
        raise Unavailable("CUDA graphs need a CUDA device")


class Timer:
    """Repeats a measurement: `warmups` untimed, then at least `least`, then more until `most` or `seconds` are spent."""

    def __init__(self, device, budget, warmups, least, most, seconds):
        self.device = device
        self.budget = budget
        self.warmups = warmups
        self.least = least
        self.most = most
        self.seconds = seconds

    def samples(self, once):
        """`once()` returns one sample in microseconds."""
        for _ in range(self.warmups):
            self.budget.check()
            once()
        found, end = [], time.monotonic() + self.seconds
        while len(found) < self.least or (len(found) < self.most and time.monotonic() < end):
            self.budget.check()
            found.append(once())
        return found

    def host(self, work):
        """Wall time on the host's clock, the device idle before and after."""

        def once():
            self.device.synchronize()
            start = time.perf_counter_ns()
            work()
            self.device.synchronize()
            return (time.perf_counter_ns() - start) / 1e3

        return summarise(self.samples(once))

    def call(self, work, calls=1):
        """Wall time of one enqueuing call; the device idle before, and not waited for."""

        def once():
            self.device.synchronize()
            start = time.perf_counter_ns()
            for _ in range(calls):
                work()
            return (time.perf_counter_ns() - start) / 1e3 / calls

        found = summarise(self.samples(once))
        self.device.synchronize()
        return found

    def on_device(self, work, count=1, before=None):
        """Time between two events around `count` calls, for each call, all queued before the first starts.

        `before` is enqueued ahead of the first event (to empty a cache, say).
        """
        hold_us = 100 + 25 * count

        def once():
            self.device.synchronize()
            self.device.hold(hold_us)
            if before is not None:
                before()
            first = self.device.event()
            for _ in range(count):
                work()
            second = self.device.event()
            self.device.synchronize()
            return self.device.elapsed_us(first, second) / count

        return summarise(self.samples(once))


def _execution_observer(path):
    """What writes an execution trace to `path`; None where this PyTorch has none."""
    try:
        return torch.profiler.ExecutionTraceObserver().register_callback(path)
    except AttributeError:
        return None


def export_trace(device, work, shapes=True, execution=False):
    """(the text of a Kineto trace of work(), that of its execution trace or None).

    One call before it warms the tracing up and is in neither.
    """
    rounds = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        path, graph = os.path.join(folder, "kineto.json"), os.path.join(folder, "execution.json")

        def keep(profiler):
            profiler.export_chrome_trace(path)
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())

        observer = _execution_observer(graph) if execution else None
        more = {} if observer is None else {"execution_trace_observer": observer}
        with torch.profiler.profile(activities=device.activities(), schedule=rounds, record_shapes=shapes,
                                    on_trace_ready=keep, **more) as profiler:
            for _ in range(2):
                work()
                device.synchronize()
                profiler.step()
        if observer is None or not os.path.exists(graph):
            return texts[0], None
        observer.unregister_callback()
        with open(graph, encoding="utf-8", errors="replace") as file:
            return texts[0], file.read()
