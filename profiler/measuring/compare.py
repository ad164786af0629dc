"""What PyTorch's traces say, and whether our recorder says the same of the same steps."""

import collections
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pytorch"))
import kineto  # noqa: E402
import recording  # noqa: E402

MARK = "stowplan step"  # the range around a marked step


def read(path):
    with open(path, "rb") as file:
        return json.loads(recording.decompress(file.read()))


def write(path, document):
    recording.write_atomically(path, recording.compress(json.dumps(document).encode(), os.path.splitext(path)[1]))


def _found(folder, pattern):
    return sorted(glob.glob(os.path.join(folder, pattern)))


def networks(folder):
    """Rows (network, way, step in ms, peaks in MiB, kernels a step) of all recordings of networks."""
    rows = []
    for path in _found(folder, "*.json.*"):
        name = os.path.basename(path).split(".json")[0]
        try:
            parts = read(path).get("parts", {}) if "kineto" not in path and "-" not in name else {}
        except (OSError, ValueError, AttributeError, recording.RecordingError):
            continue
        for way, part in parts.items():
            result = part.get("result") or {}
            if "step" not in result:
                continue
            memory = result.get("memory") or {}
            mib = lambda key: f"{memory[key] / (1 << 20):.0f}" if key in memory else ""
            rows.append((name, way, f"{result['step']['median_us'] / 1e3:.3f}", mib("allocated_peak_bytes"), mib("reserved_peak_bytes"),
                         result.get("trace", {}).get("kernels_a_step", "")))
    return rows


def _of_kineto(path):
    """{name: [us, …]} of the kernels of a trace, and how many steps it holds."""
    with open(path, "rb") as file:
        events = kineto.parse(recording.decompress(file.read()).decode(errors="replace")) or []
    kernels = collections.defaultdict(list)
    for kernel in kineto.kernels(events):
        kernels[kernel["name"]].append(kernel["dur"])
    steps = len({event["name"] for event in events if str(event.get("name", "")).startswith("ProfilerStep#")})
    return kernels, max(1, steps)


def _of_recorder(path):
    """The same of our recording: the kernels that were launched inside of the marks; of all where there is no mark."""
    kernels = collections.defaultdict(list)
    steps = 0
    for part in read(path).get("parts", {}).values():
        result = part.get("result") or {}
        marks = [(mark["start_ns"], mark["end_ns"]) for mark in result.get("markers", []) if mark["name"] == MARK]
        steps += len(marks)
        inside = {call["correlation"] for call in result.get("calls", [])
                  if any(start <= call["start_ns"] <= end for start, end in marks)}
        for kernel in result.get("kernels", []):
            if not marks or kernel["correlation"] in inside:
                kernels[kernel["name"]].append((kernel["end_ns"] - kernel["start_ns"]) / 1e3)
    return kernels, max(1, steps)


def recorders(folder):
    """Whether both tell the same kernels as often in a step, and by how much their times differ; None without both."""
    ours, theirs = _found(folder, "recorder.json.*"), _found(folder, "torch/gpt2_small-eager.kineto.json.*")
    if not ours or not theirs:
        return None
    try:
        (a, a_steps), (b, b_steps) = _of_recorder(ours[0]), _of_kineto(theirs[0])
    except (OSError, ValueError, KeyError, TypeError, recording.RecordingError) as error:
        return {"sentence": f"They cannot be compared ({error})."}
    of = lambda kernels, steps: {name: len(found) / steps for name, found in kernels.items()}
    ours_counts, their_counts = of(a, a_steps), of(b, b_steps)
    differing = sorted(name for name in ours_counts.keys() | their_counts.keys()
                       if ours_counts.get(name) != their_counts.get(name))
    total = lambda kernels, steps: sum(map(sum, kernels.values())) / steps
    a_us, b_us = total(a, a_steps), total(b, b_steps)
    common = [sum(a[name]) / len(a[name]) / (sum(b[name]) / len(b[name])) for name in a.keys() & b.keys() if sum(b[name]) > 0]
    found = {"steps": [a_steps, b_steps], "kernels_a_step": [sum(ours_counts.values()), sum(their_counts.values())],
             "us_a_step": [round(a_us, 3), round(b_us, 3)], "names": [len(a), len(b)], "differing": differing[:50],
             "ratio_of_means": round(sorted(common)[len(common) // 2], 4) if common else None}
    same = "the same kernels" if not differing else f"{len(differing)} of {len(ours_counts.keys() | their_counts.keys())} kernels otherwise"
    found["sentence"] = (f"They tell {same}. A step has {found['kernels_a_step'][0]:g} and {found['kernels_a_step'][1]:g} kernels "
                         f"of {a_us:.1f} and {b_us:.1f} us.")
    return found
