"""The machine as it was found: processor, accelerator, driver, clocks, software, revision. Needs no torch."""

import os
import platform
import subprocess
import time

_STATIC = ("name", "memory.total", "driver_version", "vbios_version", "pcie.link.gen.max", "pcie.link.width.max",
           "clocks.max.sm", "clocks.max.memory", "power.limit", "ecc.mode.current", "mig.mode.current")
_CLOCKS = ("clocks.sm", "clocks.memory", "pcie.link.gen.current", "pcie.link.width.current", "temperature.gpu",
           "power.draw", "clocks_throttle_reasons.active")


def _run(*command):
    """What a program printed, or None where it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _first_gpu():
    """The first GPU that CUDA shows, as nvidia-smi names it: by index or UUID."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip() or "0"


def _query(fields):
    """The first GPU's answers of nvidia-smi by field; fields that this driver does not know are left out."""
    of = ("--format=csv,noheader", "-i", _first_gpu())
    text = _run("nvidia-smi", "--query-gpu=" + ",".join(fields), *of)
    if text is not None:
        return dict(zip(fields, (value.strip() for value in text.splitlines()[0].split(","))))
    answers = {}
    if _run("nvidia-smi", "-L") is not None:  # one unknown field fails the whole query
        for field in fields:
            value = _run("nvidia-smi", "--query-gpu=" + field, *of)
            if value is not None:
                answers[field] = value
    return answers


def _cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def describe():
    """What does not change while this machine runs; two recordings with equal ones come from one kind of machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": pages,
        "kernel": platform.release(),
        "gpu": _query(_STATIC) or None,
    }


class Clocks:
    """The accelerator's clocks, asked for anew when the last answer is older than `age_s` seconds."""

    def __init__(self, age_s=15):
        self._age_s = age_s
        self._at = None
        self._answer = None

    def as_found(self):
        if self._at is None or time.monotonic() - self._at > self._age_s:
            self._answer = _query(_CLOCKS) or None
            self._at = time.monotonic()
        return self._answer


def revision(given, folder):
    """The revision of the tree that `folder` is in, with "-dirty" where files differ from it; `given` wins."""
    if given:
        return given
    head = _run("git", "-C", folder, "rev-parse", "HEAD")
    if head is None:
        return "unknown"
    return head + ("-dirty" if _run("git", "-C", folder, "status", "--porcelain") else "")
