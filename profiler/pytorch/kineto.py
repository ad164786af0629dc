"""Reading what torch.profiler exports: enough to see whether a trace is whole, and to keep it small. Needs no torch."""

import json

# What costs space, and neither this nor stowplan reads.
_BULKY = ("Input Strides", "Ev Idx")


def _events_of(document):
    """A PyTorch that was built without Kineto (Debian's) writes the events alone, with fewer fields."""
    return document if isinstance(document, list) else document["traceEvents"]


def parse(text):
    """The events of a trace; None where the text is no trace (names with quotes break the JSON of some versions)."""
    try:
        events = _events_of(json.loads(text))
    except (ValueError, KeyError, TypeError):
        return None
    return events if all(isinstance(event, dict) for event in events) else None


def of_category(events, *categories):
    return [event for event in events if event.get("ph") == "X" and str(event.get("cat", "")).lower() in categories]


def kernels(events):
    return of_category(events, "kernel")


def launches(events):
    """Host calls that put a kernel into a queue."""
    calls = of_category(events, "cuda_runtime", "cuda_driver", "runtime", "driver")
    return [call for call in calls if "LaunchKernel" in call["name"]]


def gaps_us(kernel_events):
    """Idle time between one kernel's end and the next one's start, for each stream; overlaps count as negative gaps."""
    streams = {}
    for event in kernel_events:
        args = event.get("args", {})
        streams.setdefault((args.get("device"), args.get("stream")), []).append(event)
    gaps = []
    for queue in streams.values():
        queue.sort(key=lambda event: event["ts"])
        gaps += [b["ts"] - (a["ts"] + a["dur"]) for a, b in zip(queue, queue[1:])]
    return gaps


def launch_latencies_us(events):
    """From the start of the host's launch call to the start of its kernel, matched by correlation number."""
    calls = {call["args"]["correlation"]: call for call in launches(events) if "correlation" in call.get("args", {})}
    latencies = []
    for kernel in kernels(events):
        call = calls.get(kernel.get("args", {}).get("correlation"))
        if call is not None:
            latencies.append(kernel["ts"] - call["ts"])
    return latencies


def copies_us(events):
    """{(name, bytes): [duration, …]} of the memory copies."""
    found = {}
    for event in of_category(events, "gpu_memcpy", "memcpy"):
        found.setdefault((event["name"], event.get("args", {}).get("bytes")), []).append(event["dur"])
    return found


def summary(events):
    """Counts, and the known faults of such traces (docs/profiling.md): zero stamps, overlaps, kernels before their launch."""
    if events is None:
        return {"unreadable": True}
    found = kernels(events)
    return {
        "events": len(events),
        "cpu_ops": len(of_category(events, "cpu_op", "operator")),
        "kernels": len(found),
        "launches": len(launches(events)),
        "copies": sum(len(durations) for durations in copies_us(events).values()),
        "kernel_us": round(sum(kernel["dur"] for kernel in found), 3),
        "zero_stamps": sum(1 for kernel in found if not kernel["ts"]),
        "overlaps": sum(1 for gap in gaps_us(found) if gap < 0),
        "before_launch": sum(1 for latency in launch_latencies_us(events) if latency < 0),
    }


def without_bulk(text):
    """The same trace without the arguments that nothing reads, for a file that would be too large."""
    document = json.loads(text)
    for event in _events_of(document):
        for key in _BULKY:
            event.get("args", {}).pop(key, None)
    return json.dumps(document, separators=(",", ":"))
