"""What a recording is: its header, its parts, its statistics, and how it reaches the disk. Needs no torch.

A recording is one compressed JSON file:

    {"format": "stowplan.trace", "version": 1, "kind": "pytorch.copies", "device": "cuda", "quick": false,
     "machine": {...}, "software": {...}, "meaning": {...}, "parts": {"pinned_h2d": {...}, ...}}

A part is the smallest thing that is measured or not: when it is done the whole file is written anew beside the old one
and renamed over it, so a run that is cut off loses at most the part it was in. Every part carries the date, the exact
command, the revision and the clocks it was measured under, because parts of one file may come from several runs. They
may not come from several machines: a file of another machine or other software is refused.
"""

import datetime
import gzip
import json
import math
import os
import shutil
import subprocess
import tempfile
import time

FORMAT = "stowplan.trace"
VERSION = 1


class RecordingError(Exception):
    """One sentence for the person who called: file, what is wrong, what would be right."""


class BudgetSpent(Exception):
    """The time is up, or somebody asked to stop; what is finished is on the disk."""


# ---- statistics ----------------------------------------------------------------------------------


def quantile(samples, q):
    """The q-quantile by linear interpolation between the order statistics."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summarise(samples_us):
    """Median and spread in microseconds; mad_us is the median absolute deviation, not scaled to a sigma.

    With fewer than three samples there is no spread to speak of, and none is made up: it is None.
    """
    median = quantile(samples_us, 0.5)
    spread = None
    if len(samples_us) >= 3:
        spread = quantile([abs(sample - median) for sample in samples_us], 0.5)
    rounded = {
        "median_us": median,
        "mad_us": spread,
        "p05_us": quantile(samples_us, 0.05),
        "p95_us": quantile(samples_us, 0.95),
        "min_us": min(samples_us),
    }
    return {"count": len(samples_us)} | {
        key: None if value is None else round(value, 4) for key, value in rounded.items()
    }


# ---- files ---------------------------------------------------------------------------------------


def _zstd_codec():
    """(compress, decompress) of whichever zstd this Python can reach, or None."""
    try:
        from compression import zstd  # Python 3.14

        return (lambda data: zstd.compress(data, 19)), zstd.decompress  # of all frames
    except ImportError:
        pass
    try:
        import zstandard

        def all_frames(data):
            made = []
            while data:
                frame = zstandard.ZstdDecompressor().decompressobj()
                made.append(frame.decompress(data))
                if not frame.eof:
                    raise ValueError("the last frame is cut")
                data = frame.unused_data
            return b"".join(made)

        return zstandard.ZstdCompressor(level=19).compress, all_frames
    except ImportError:
        pass
    program = shutil.which("zstd")
    if program:

        def through(*flags):
            return lambda data: subprocess.run(
                [program, "-q", "-c", *flags], input=data, stdout=subprocess.PIPE, check=True
            ).stdout

        return through("-19"), through("-d")
    return None


_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_MAGIC = b"\x1f\x8b"


def compressed_suffix():
    """".zst" where this Python can write it (stowplan's own readers take it), else ".gz"."""
    return ".zst" if _zstd_codec() else ".gz"


def compress(data, suffix):
    if suffix == ".gz":
        return gzip.compress(data, 9, mtime=0)
    return _zstd_codec()[0](data)


def decompress(data):
    """All of it, also where there are several frames one behind the other."""
    if data.startswith(_GZIP_MAGIC):
        return gzip.decompress(data)
    if data.startswith(_ZSTD_MAGIC):
        codec = _zstd_codec()
        if codec is None:
            raise RecordingError("the file is zstd-compressed and neither the module zstandard nor the program zstd is here")
        try:
            return codec[1](data)
        except Exception as error:  # each codec has an error of its own
            raise RecordingError(f"the file is damaged or was cut ({error})") from error
    return data


def find_compressed(stem):
    """The path of `stem` with one of the suffixes it may have on the disk, or None."""
    for suffix in (".zst", ".gz", ""):
        if os.path.exists(stem + suffix):
            return stem + suffix
    return None


def write_atomically(path, data):
    """The whole file or the old one: written beside `path`, forced to the disk, renamed."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, neighbour = tempfile.mkstemp(prefix="." + os.path.basename(path) + ".", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(neighbour, 0o644)
        os.replace(neighbour, path)
    except BaseException:
        if os.path.exists(neighbour):
            os.unlink(neighbour)
        raise


def write_compressed(stem, data):
    """Writes `data` to stem.zst or stem.gz and returns (path, bytes on the disk)."""
    suffix = compressed_suffix()
    packed = compress(data, suffix)
    write_atomically(stem + suffix, packed)
    return stem + suffix, len(packed)


# ---- recordings ----------------------------------------------------------------------------------


class Recording:
    """One file of parts. Not for several threads or processes at once."""

    def __init__(self, folder, name, header):
        """`header` holds everything but `format`, `version` and `parts`; an existing file must have the same one."""
        self.stem = os.path.join(folder, name + ".json")
        self._document = {"format": FORMAT, "version": VERSION, **header, "parts": {}}
        path = find_compressed(self.stem)
        if path is not None:
            self._resume(path, header)

    def _resume(self, path, header):
        document = read_document(path)
        for key, value in header.items():
            if document.get(key) != json.loads(json.dumps(value)):
                raise RecordingError(
                    f"{path}: '{key}' is not what it is in this run, and recordings are not mixed; "
                    "record into another folder"
                )
        self._document = document

    def done(self, part):
        """Measured, or known to be impossible here. A part that failed is tried again."""
        return self._document["parts"].get(part, {}).get("outcome") in ("measured", "skipped")

    def put(self, part, record):
        self._document["parts"][part] = record
        text = json.dumps(self._document, separators=(",", ":"), allow_nan=False)
        path, _ = write_compressed(self.stem, text.encode())
        for suffix in (".zst", ".gz", ""):  # a file of an earlier run with another codec
            if self.stem + suffix != path and os.path.exists(self.stem + suffix):
                os.unlink(self.stem + suffix)

    def outcomes(self):
        return {part: record["outcome"] for part, record in self._document["parts"].items()}


def read_document(path):
    """The JSON of a recording; refuses other formats and versions."""
    try:
        with open(path, "rb") as file:
            document = json.loads(decompress(file.read()))
    except (OSError, EOFError, ValueError, RecordingError) as error:
        raise RecordingError(f"{path}: not a readable recording ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT or document.get("version") != VERSION:
        raise RecordingError(f"{path}: not a {FORMAT} of version {VERSION}")
    return document


class Budget:
    """Says when to stop: after `seconds` (None = never), or once Stop() was called (a signal handler does)."""

    def __init__(self, seconds=None, clock=time.monotonic):
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds
        self._stopped = False

    def stop(self):
        self._stopped = True

    def left(self):
        return math.inf if self._end is None else self._end - self._clock()

    def check(self):
        if self._stopped:
            raise BudgetSpent("stopped")
        if self.left() <= 0:
            raise BudgetSpent("the budget is spent")


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def measure_part(recording, part, measure, provenance):
    """Runs `measure()`, unless the part is done, and puts what came of it. Returns the outcome.

    `measure` returns the result, or raises Unavailable. Anything else that it raises is a failed part with its reason;
    BudgetSpent and KeyboardInterrupt leave the part unrecorded.
    """
    if recording.done(part):
        return "done before"
    start = time.monotonic()
    record = {"outcome": "measured", "date": now(), **provenance()}
    try:
        record["result"] = measure()
    except Unavailable as reason:
        record |= {"outcome": "skipped", "reason": str(reason)}
    except (BudgetSpent, KeyboardInterrupt):
        raise
    except Exception as error:  # a driver, a missing kernel, a lack of memory: the other parts can still be measured
        record |= {"outcome": "failed", "reason": f"{type(error).__name__}: {error}"[:2000]}
    record["wall_s"] = round(time.monotonic() - start, 3)
    recording.put(part, record)
    return record["outcome"] + (": " + record["reason"] if "reason" in record else "")


class Unavailable(Exception):
    """This machine cannot do what the part measures; the reason goes into the recording."""
