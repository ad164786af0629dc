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


def documents(path):
    """The documents of a file, which are several where it was written while its program ran: pieces of one recording."""
    with open(path, "rb") as file:
        text = recording.decompress(file.read()).decode()
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        document, at = decoder.raw_decode(text, at)
        if not isinstance(document, dict):
            raise ValueError("it is no object")
        found.append(document)
    return found


def read(path):
    """The one document of a file."""
    found = documents(path)
    if len(found) != 1:
        raise ValueError(f"it holds {len(found)} documents, not one")
    return found[0]


def write(path, document):
    recording.write_atomically(path, recording.compress(json.dumps(document).encode(), os.path.splitext(path)[1]))


def _found(folder, pattern):
    return sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))


def networks(folder):
    """Rows (network, way, step in ms, peaks in MiB, kernels a step) of all recordings of networks."""
    rows = []
    for path in _found(folder, "*.json.*"):
        name = os.path.basename(path).split(".json")[0]
        try:
            parts = read(path).get("parts", {}) if "kineto" not in path and "-" not in name else {}
        except (OSError, EOFError, ValueError, recording.RecordingError):
            continue
        for way, part in parts.items():
            result = part.get("result") or {}
            if "step" not in result:
                continue
            peaks = [_mib(result.get("memory") or {}, key + "_peak_bytes") for key in ("allocated", "reserved")]
            rows.append((name, way, f"{result['step']['median_us'] / 1e3:.3f}", *peaks,
                         result.get("trace", {}).get("kernels", "")))
    return rows


def _mib(memory, key):
    return f"{memory[key] / (1 << 20):.0f}" if key in memory else ""


def collectives(folder):
    """Rows (collective, GPUs, bytes, us) of several GPUs."""
    rows = []
    for path in _found(folder, "collectives.json"):
        try:
            rows += [(row["op"], row["ranks"], row["bytes"], row["host"]["median_us"])
                     for row in read(path)["parts"]["collectives"]["result"]["rows"]]
        except (OSError, EOFError, ValueError, KeyError, TypeError, recording.RecordingError):
            pass  # of a collective that was cut off
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


def _records(pieces, key):
    """(record, its start and end on the clock of all pieces) of those that have both."""
    for piece in pieces:
        base = piece.get("base_ns", 0)
        for record in piece.get(key, []):
            if record.get("start_ns", 0) != 0 and record.get("end_ns", 0) != 0:
                yield record, base + record["start_ns"], base + record["end_ns"]


def _of_recorder(path):
    """The same of our recording: the kernels that were launched inside of the marks; of all where there is no mark.

    A mark, a call inside of it and the kernel of that call may stand in three pieces.
    """
    parts = collections.defaultdict(list)
    for document in documents(path):
        for name, part in document.get("parts", {}).items():
            parts[name].append(part.get("result") or {})
    kernels = collections.defaultdict(list)
    steps = 0
    for pieces in parts.values():
        marks = [(start, end) for mark, start, end in _records(pieces, "markers") if mark["name"] == MARK]
        steps += len(marks)
        inside = {call["correlation"] for call, at, _ in _records(pieces, "calls") if any(start <= at <= end for start, end in marks)}
        for kernel, start, end in _records(pieces, "kernels"):
            if not marks or kernel["correlation"] in inside:
                kernels[kernel["name"]].append((end - start) / 1e3)
    return kernels, max(1, steps)


class _Told:
    """What one of the two tells of a step."""

    def __init__(self, kernels, steps):
        self.kernels, self.steps = kernels, steps
        self.counts = {name: len(found) / steps for name, found in kernels.items()}
        self.us = sum(map(sum, kernels.values())) / steps

    def mean_us(self, name):
        return sum(self.kernels[name]) / len(self.kernels[name])


def recorders(folder):
    """Whether both tell the same kernels as often in a step, and by how much their times differ; None without both."""
    ours, theirs = _found(folder, "recorder.json.*"), _found(folder, "torch/gpt2_small-eager.kineto.json.*")
    if not ours or not theirs:
        return None
    try:
        a, b = _Told(*_of_recorder(ours[0])), _Told(*_of_kineto(theirs[0]))
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, recording.RecordingError) as error:
        return {"sentence": f"They cannot be compared ({error})."}
    names = a.counts.keys() | b.counts.keys()
    differing = sorted(name for name in names if a.counts.get(name) != b.counts.get(name))
    ratios = sorted(a.mean_us(name) / b.mean_us(name) for name in a.kernels.keys() & b.kernels.keys() if b.mean_us(name) > 0)
    same = "the same kernels" if not differing else f"{len(differing)} of {len(names)} kernels otherwise"
    counts = [sum(told.counts.values()) for told in (a, b)]
    return {"steps": [a.steps, b.steps], "kernels_a_step": counts, "us_a_step": [round(a.us, 3), round(b.us, 3)],
            "differing": differing[:50], "median_ratio": round(ratios[len(ratios) // 2], 4) if ratios else None,
            "sentence": f"They tell {same}. A step has {counts[0]:g} and {counts[1]:g} kernels of {a.us:.1f} and {b.us:.1f} us."}
