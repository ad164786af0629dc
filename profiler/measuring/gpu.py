"""The GPU as nvidia-smi tells of it: what it is, what it does now, and what makes its times doubtful."""

import os
import subprocess

FACTS = ("index", "name", "uuid", "driver_version", "memory.total", "mig.mode.current", "pcie.link.gen.max", "pcie.link.width.max",
         "clocks.max.sm", "clocks.max.memory", "power.limit")
STATE = ("clocks.sm", "clocks.memory", "temperature.gpu", "power.draw", "memory.used", "utilization.gpu",
         "clocks_throttle_reasons.active", "clocks_event_reasons.active")  # the latter is what newer drivers call it

# Bits of clocks_throttle_reasons.active that make a GPU slower than it is; the others are idleness and settings.
THROTTLED = ((0x4, "its power limit"), (0x8, "the hardware"), (0x20, "its temperature"), (0x40, "its temperature"),
             (0x80, "the power supply"))


class NoDriver(Exception):
    """One sentence: why nvidia-smi tells nothing."""


def _ask(*arguments):
    try:
        done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        raise NoDriver("There is no NVIDIA driver here, since nvidia-smi is missing.") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise NoDriver(f"nvidia-smi does not answer ({error}).") from None
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise NoDriver(f"nvidia-smi fails with \"{said[0] if said else done.returncode}\".")
    return done.stdout.strip()


_unknown = set()


def _rows(fields):
    """{field: answer} of each GPU. One field that this driver does not know fails the whole query, so it is left out."""
    of = ("--format=csv,noheader",)
    fields = [field for field in fields if field not in _unknown]
    try:
        lines = _ask("--query-gpu=" + ",".join(fields), *of).splitlines()
        return [dict(zip(fields, (part.strip() for part in line.split(",")))) for line in lines]
    except NoDriver:
        columns = {}
        for field in fields:
            try:
                columns[field] = _ask("--query-gpu=" + field, *of).splitlines()
            except NoDriver as reason:
                if field == fields[0]:
                    raise reason
                _unknown.add(field)
        return [dict(zip(columns, answers)) for answers in zip(*columns.values())]


def visible(rows):
    """Those that CUDA_VISIBLE_DEVICES leaves, in its order."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return rows
    return [row for name in chosen.split(",") for row in rows
            if name.strip() and (row.get("index") == name.strip() or row.get("uuid", "").startswith(name.strip()))]


def facts():
    """The visible GPUs. Throws NoDriver."""
    found = visible(_rows(FACTS))
    if not found:
        raise NoDriver("The driver shows no GPU to this process.")
    return found


def state(uuid):
    """What the GPU does now; {} where nobody tells."""
    try:
        return next((row for row in _rows(("uuid",) + STATE) if row["uuid"] == uuid), {})
    except NoDriver:
        return {}


def throttling(found):
    """What slows the GPU down in this state: reasons, without repeats."""
    told = found.get("clocks_throttle_reasons.active") or found.get("clocks_event_reasons.active", "0")
    try:
        bits = int(told, 16)
    except ValueError:
        return []
    return list(dict.fromkeys(reason for bit, reason in THROTTLED if bits & bit))


def doubts(gpu):
    """Sentences: what makes times of this GPU doubtful before anything is measured."""
    said = []
    if gpu.get("mig.mode.current") == "Enabled":
        said.append("The GPU is divided (MIG), so the times are those of a slice and fit no kind of the catalogue.")
    try:
        users = _ask("--query-compute-apps=pid,process_name", "--format=csv,noheader", "-i", gpu["uuid"]).splitlines()
    except NoDriver:
        users = []
    if users:
        said.append(f"Another process uses the GPU ({users[0]}), so the times are those of a shared GPU.")
    reasons = throttling(state(gpu["uuid"]))
    if reasons:
        said.append(f"The GPU is slowed down by {' and '.join(reasons)} before anything is measured.")
    return said
