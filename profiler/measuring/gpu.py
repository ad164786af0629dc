"""The GPU as nvidia-smi tells of it: what it is, what it does now, and what makes its times doubtful."""

import os
import signal
import subprocess

FACTS = ("index", "name", "uuid", "driver_version", "memory.total", "mig.mode.current", "pcie.link.gen.max", "pcie.link.width.max",
         "clocks.max.sm", "clocks.max.memory", "power.limit")
STATE = ("clocks.sm", "clocks.memory", "temperature.gpu", "power.draw", "memory.used", "utilization.gpu",
         "clocks_throttle_reasons.active", "clocks_event_reasons.active")  # the latter is what newer drivers call it

# Bits of clocks_throttle_reasons.active that make a GPU slower than it is; the others are idleness and settings.
THROTTLED = ((0x4, "its power limit"), (0x8, "the hardware"), (0x20, "its temperature"), (0x40, "its temperature"),
             (0x80, "the power supply"))


MOST_SECONDS = 5.0  # that one answer may take
_KILLED = 1.0  # [s] after which a killed nvidia-smi, which may hang in the driver, is left alone


class NoDriver(Exception):
    """One sentence: why nvidia-smi tells nothing."""


class Hangs(NoDriver):
    """It did not answer in time, and is not asked again."""


def visible(rows):
    """Those that CUDA_VISIBLE_DEVICES leaves, in its order."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return rows
    return [row for name in chosen.split(",") for row in rows
            if name.strip() and (row.get("index") == name.strip() or row.get("uuid", "").startswith(name.strip()))]


def throttling(found):
    """What slows the GPU down in this state: reasons, without repeats."""
    told = found.get("clocks_throttle_reasons.active") or found.get("clocks_event_reasons.active", "0")
    try:
        bits = int(told, 16)
    except ValueError:
        return []
    return list(dict.fromkeys(reason for bit, reason in THROTTLED if bits & bit))


class Smi:
    """nvidia-smi. `left` tells how many seconds there are; an answer that takes longer, or MOST_SECONDS, was the last."""

    def __init__(self, left):
        self._left = left
        self._unknown = set()  # fields
        self.hangs = None  # or the sentence that says so

    def _ask(self, *arguments):
        if self.hangs:
            raise Hangs(self.hangs)
        limit = min(MOST_SECONDS, self._left())
        if limit <= 0:
            raise Hangs("There is no time to ask nvidia-smi.")
        try:
            child = subprocess.Popen(["nvidia-smi", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     start_new_session=True)
        except FileNotFoundError:
            raise NoDriver("There is no NVIDIA driver here, since nvidia-smi is missing.") from None
        except OSError as error:
            raise NoDriver(f"nvidia-smi does not answer ({error}).") from None
        try:
            out, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self._leave(child)
            self.hangs = f"nvidia-smi did not answer in {limit:.1f} s and is not asked again."
            raise Hangs(self.hangs) from None
        if child.returncode != 0:
            said = (out + errors).strip().splitlines()
            raise NoDriver(f"nvidia-smi fails with \"{said[0] if said else child.returncode}\".")
        return out.strip()

    @staticmethod
    def _leave(child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(timeout=_KILLED)
        except (OSError, subprocess.TimeoutExpired):
            pass
        child.stdout.close()
        child.stderr.close()

    def _rows(self, fields):
        """{field: answer} of each GPU. One field that this driver does not know fails the whole query, so it is left out."""
        of = ("--format=csv,noheader",)
        fields = [field for field in fields if field not in self._unknown]
        try:
            lines = self._ask("--query-gpu=" + ",".join(fields), *of).splitlines()
            return [dict(zip(fields, (part.strip() for part in line.split(",")))) for line in lines]
        except Hangs:
            raise
        except NoDriver:
            columns = {}
            for field in fields:
                try:
                    columns[field] = self._ask("--query-gpu=" + field, *of).splitlines()
                except NoDriver as reason:
                    if field == fields[0] or isinstance(reason, Hangs):
                        raise
                    self._unknown.add(field)
            return [dict(zip(columns, answers)) for answers in zip(*columns.values())]

    def facts(self):
        """The visible GPUs. Throws NoDriver."""
        found = visible(self._rows(FACTS))
        if not found:
            raise NoDriver("The driver shows no GPU to this process.")
        return found

    def state(self, uuid):
        """What the GPU does now; {} where nobody tells."""
        try:
            return next((row for row in self._rows(("uuid",) + STATE) if row["uuid"] == uuid), {})
        except NoDriver:
            return {}

    def doubts(self, gpu):
        """Sentences: what makes times of this GPU doubtful before anything is measured."""
        said = []
        if gpu.get("mig.mode.current") == "Enabled":
            said.append("The GPU is divided (MIG), so the times are those of a slice and fit no kind of the catalogue.")
        try:
            users = self._ask("--query-compute-apps=pid,process_name", "--format=csv,noheader", "-i", gpu["uuid"]).splitlines()
        except NoDriver:
            users = []
        if users:
            said.append(f"Another process uses the GPU ({users[0]}), so the times are those of a shared GPU.")
        reasons = throttling(self.state(gpu["uuid"]))
        if reasons:
            said.append(f"The GPU is slowed down by {' and '.join(reasons)} before anything is measured.")
        return said
