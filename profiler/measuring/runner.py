"""Runs the plan on the GPU's machine, unattended: a limit for each step, on to the next after a failure, an end in time."""

import datetime
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

from measuring import gpu, packs, plan, prepare

GRACE = 2.0  # [s] at most, between asking a step to end and killing it
LEAST = 1.0  # [s] with less a step is not started


def reserve(seconds):
    """What is kept for the last packing."""
    return min(10.0, 2 + 0.02 * seconds)


def _libraries(python):
    """Where CUDA's libraries may be: they may come with a Python package alone."""
    try:
        told = subprocess.run([python, "-c", "import sys; print(*sys.path, sep='\\n')"], capture_output=True, text=True, timeout=20)
        folders = told.stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        folders = []
    found = [path for folder in folders if folder for path in sorted(glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "lib")))]
    return found + ["/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"]


def _die_with_parent():
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Run:
    def __init__(self, root, out, seconds, python=sys.executable, rehearsal=False, clock=time.monotonic):
        self._root, self._out, self._python, self._rehearsal, self._clock = root, out, python, rehearsal, clock
        self._work = os.path.join(root, "measured")
        self._start = clock()
        self._end = self._start + seconds - reserve(seconds)
        self._seconds = seconds
        with open(os.path.join(root, "plan.json"), encoding="utf-8") as file:
            self._chosen = json.load(file)
        self._off = {}  # {part: why}
        self._libraries = _libraries(python)
        self._smi = gpu.Smi(lambda: self._end - self._clock())
        self._gpu, self._last_state = None, {}
        self._no_driver = None  # or why nvidia-smi tells nothing
        self._stand_ins = []
        self._torch_device = "cpu" if rehearsal else "cuda"
        self._child = None
        self._stopped = False
        self._missing = set()  # steps that time cut or left out, and no other has completed
        self.session = {"format": "stowplan.session", "version": 1, "written": 0, "revision": self._chosen["revision"],
                        "workloads": self._chosen["workloads"], "rehearsal": rehearsal, "seconds": seconds,
                        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                        "gpus": [], "said": [], "off": self._off, "steps": [], "left_out": {}}

    # ---- what is said ------------------------------------------------------------------------------------------

    def say(self, sentence):
        if sentence not in self.session["said"]:
            self.session["said"].append(sentence)
            print(sentence, flush=True)

    def _switch_off(self, part, why):
        if part not in self._off:
            self._off[part] = why
            self.say(f"{plan.PARTS[part]} left out. {why}")

    # ---- one step ----------------------------------------------------------------------------------------------

    def _words(self, step, limit):
        facts = {"root": self._root, "profile": os.path.join(self._root, "bin", "stowplan-profile"), "python": self._python,
                 "torch_program": os.path.join(self._root, "pytorch", "record.py"), "torch_device": self._torch_device,
                 "revision": self._chosen["revision"], "cores": str(max(1, min(8, len(os.sched_getaffinity(0)) - 1))),
                 "budget": f"{max(1.0, limit - min(GRACE, limit / 2) - 0.5):.1f}"}
        words = []
        for word in step.command:
            if word == "{torch_quick}":
                words += ["--quick"] if self._rehearsal else []
            elif word == "{stand_ins}":
                words += [part for kind in self._stand_ins for part in ("--stand-in", kind)]
            elif word.startswith("{placements:"):
                words += sorted(glob.glob(os.path.join(glob.escape(word[12:-1].format(**facts)), "placements", "*.json")))
            elif word.startswith("{workload:"):
                words.append(self._chosen["workloads"][word[10:-1]])
            else:
                words.append(word.format(**facts))
        return words

    def _environment(self, step):
        own = os.environ.get("LD_LIBRARY_PATH", "")
        libraries = ([own] if own else []) + self._libraries
        if step.name == "self_test":
            libraries.append(os.path.join(self._root, "bin", "lib"))
        # What a killed step leaves half compiled must not spoil the next.
        compiled = os.path.join(self._work, "compiled", step.name)
        return os.environ | {"LD_LIBRARY_PATH": ":".join(libraries), "PYTHONDONTWRITEBYTECODE": "1",
                             "TORCHINDUCTOR_CACHE_DIR": compiled, "TRITON_CACHE_DIR": compiled}

    def _stop_child(self, number):
        try:
            os.killpg(self._child.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def _wait(self, limit):
        """The status, and what had to be done to it: "", "asked", "killed", or "left" where even that did not end it."""
        grace = min(GRACE, limit / 2)
        end = self._clock() + limit - grace
        while not self._stopped and self._clock() < end:
            try:
                return self._child.wait(timeout=0.2), ""
            except subprocess.TimeoutExpired:
                pass
        self._stop_child(signal.SIGTERM)
        try:
            return self._child.wait(timeout=grace), "asked"
        except subprocess.TimeoutExpired:
            self._stop_child(signal.SIGKILL)
        try:
            return self._child.wait(timeout=GRACE), "killed"
        except subprocess.TimeoutExpired:  # it hangs in the driver
            return None, "left"

    def _call(self, step, limit):
        """{outcome, why} of the step's command, whose output goes to a file."""
        log = os.path.join(self._work, step.name + ".log")
        for path in step.fresh:  # of an earlier run in this folder
            if os.path.exists(os.path.join(self._work, path)):
                os.unlink(os.path.join(self._work, path))
        try:
            with open(log, "wb") as output:
                self._child = subprocess.Popen(self._words(step, limit), cwd=self._work, env=self._environment(step), stdin=subprocess.DEVNULL,
                                               stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                               preexec_fn=_die_with_parent)
                status, ended = self._wait(limit)
        except OSError as error:
            return {"outcome": "failed", "why": f"it cannot be started ({error.strerror}: {error.filename})"}
        finally:
            if self._child is not None:
                self._stop_child(signal.SIGKILL)  # what it has left running
                self._child = None
        said = self._last_line(log).removeprefix("stowplan-profile: ")
        if ended == "left":
            return {"outcome": "failed", "why": "it cannot be killed"}
        if self._stopped:
            return {"outcome": "cut", "why": "the run was stopped"}
        if ended == "killed":
            return {"outcome": "failed", "why": f"it did not end after its limit of {limit:.0f} s and was killed"}
        if ended == "asked":
            return {"outcome": "cut", "why": f"its limit of {limit:.0f} s was over"}
        if status < 0:
            return {"outcome": "failed", "why": f"it was killed by signal {-status}"}
        if status == 0:
            return {"outcome": "done"}
        return {"outcome": "cut" if "the same command continues" in said else "failed", "why": said or f"it ended with status {status}"}

    @staticmethod
    def _last_line(log, begin=""):
        try:
            with open(log, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if line.strip() and line.startswith(begin)]
        except OSError:
            return ""
        return lines[-1][:500] if lines else ""

    def _limit(self, step):
        left = self._end - self._clock()
        if step.spare or step.pack == plan.PACKS[0]:  # a check decides about all that follows
            return min(step.seconds, left)
        planned = sum(one.seconds for one in self._plan if not one.spare and not self._why_not(one))
        return min(step.seconds * min(1.0, self._seconds / planned), left)

    def _why_not(self, step):
        if step.instead_of and step.instead_of not in self._off:
            return "it is not needed"
        before = next((one for one in self.session["steps"] if one["name"] == step.goes_on), {})
        if before.get("outcome") == "failed":
            return f"{step.goes_on} failed before it"
        if step.completes and before.get("outcome") == "done":
            return "nothing is missing"
        return next((self._off[part] for part in step.needs if part in self._off), None)

    def _run_step(self, step):
        record = {"name": step.name, "pack": step.pack}
        self.session["steps"].append(record)
        limit = self._limit(step)
        why_not = self._why_not(step)
        if why_not is not None:
            record |= {"outcome": "skipped", "why": why_not}
        elif self._stopped or limit < LEAST:
            over = self._end - self._clock() < LEAST
            record |= {"outcome": "skipped", "why": "the run was stopped" if self._stopped else "the time was over" if over else
                       f"its share of the time is {limit:.1f} s"}
            self._note_missing(step)
        else:
            before = self._last_state
            start = self._clock()
            record |= self._call(step, limit)
            record["seconds"] = round(self._clock() - start, 2)
            self._last_state = self._state()
            record |= {"limit": round(limit, 2), "command": self._words(step, limit), "clocks": [before, self._last_state]}
            if record["outcome"] == "cut":
                self._note_missing(step)
            elif record["outcome"] == "done":
                self._missing.discard(step.goes_on)
            for found in record["clocks"]:
                for reason in gpu.throttling(found):
                    self.say(f"The GPU was slowed down by {reason} during {step.name} or after it.")
        print(f"{step.name:24} {record.get('seconds', 0):7.1f} s  {record['outcome']}"
              f"{': ' + record['why'] if 'why' in record else ''}", flush=True)
        return record

    def _note_missing(self, step):
        if not step.spare:
            self._missing.add(step.name)

    def _state(self):
        found = self._smi.state(self._gpu["uuid"]) if self._gpu else {}
        if self._smi.hangs:
            self.say(self._smi.hangs)
        return found

    # ---- what the checks decide --------------------------------------------------------------------------------

    def _find_gpu(self):
        try:
            self.session["gpus"] = self._smi.facts()
        except gpu.NoDriver as reason:
            self._no_driver = str(reason)
        if len(self.session["gpus"]) < 2:
            self._switch_off("peers", "Fewer are visible.")
        if self._no_driver:
            return
        self._gpu = self.session["gpus"][0]
        self._last_state = self._state()
        for sentence in self._smi.doubts(self._gpu):
            self.say(sentence)

    def _write_clusters(self):
        """Of the profiler's clusters names and memory are of matter; kinds and prices are for whoever scores the steps."""
        memory = re.match(r"(\d+) MiB", self._gpu.get("memory.total", "") if self._gpu else "")
        gib = min(60, int(memory[1]) * 3 // 4096) if memory else 12
        self.session["memory_gib"] = gib
        for name in prepare.CLUSTERS:
            with open(os.path.join(self._work, name + ".yaml"), "w", encoding="utf-8") as file:
                file.write(prepare.cluster_text(name, "gpu", "cpu", "bandwidth: 25GB/s, latency: 10us", "cost: 5us", gib))

    def _read(self, name):
        try:
            with open(os.path.join(self._work, name), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def _after_records(self, record):
        told = self._read("check.json")
        parts = told.get("parts", {}) if told else {}
        if parts.get("launch", {}).get("outcome") != "measured":
            why = parts.get("launch", {}).get("reason") or record.get("why") or "It told nothing."
            if self._no_driver:
                self._switch_off("gpu", self._no_driver)
            return self._switch_off("plugin", why)
        if self._no_driver:  # as in a container
            self.session["gpus"] = [{"name": told["machine"].get("gpu", "not told")}]
            self.say(f"Clocks are not recorded. {self._no_driver}")
        gap = parts.get("kernel_gap", {})
        if gap.get("outcome") != "measured":
            self._switch_off("records", gap.get("reason") or record.get("why") or "They were not told.")

    def _after_self_test(self, record):
        told = self._read("self_test.json")
        if told is None:
            if record["outcome"] not in ("done", "skipped"):
                self.say(f"The kernels were not checked, because the self-test told nothing ({record['why']}).")
            return
        for suite in told.get("testsuites", []):
            for test in suite.get("testsuite", []):
                failures = [failure.get("failure", "") for failure in test.get("failures", [])]
                if failures:
                    self._judge(suite["name"], failures)
                elif test.get("result") == "SKIPPED" and suite["name"].startswith("GpuPartition"):
                    self._switch_off("halves", "This driver does not divide multiprocessors.")
                elif test.get("result") == "SKIPPED":
                    self.say(f"The self-test left out {suite['name']}.{test['name']}.")

    def _judge(self, suite, failures):
        why = (failures[0].strip() or f"{suite} fails and does not say why.").splitlines()[-1]
        if suite.startswith("GpuSteps"):
            self._switch_off("steps", why)
        elif suite.startswith("GpuPartition"):
            self._switch_off("halves", why)
        for failure in failures if suite.startswith("GpuKernels") else ():
            for kind in re.findall(r"^\s*([A-Za-z][A-Za-z0-9]*)[^\n]*, tensor \d+, element \d+: ", failure, re.MULTILINE):
                if kind not in self._stand_ins:
                    self._stand_ins.append(kind)
                    self.say(f"The kernel of {kind} computes wrong numbers, so a stand-in runs in whole steps.")
        self.session["stand_ins"] = self._stand_ins

    def _after_torch(self, record):
        if "ModuleNotFoundError" in record.get("why", ""):
            record |= {"outcome": "skipped", "why": "This Python has no PyTorch; --python names another."}
        if record["outcome"] != "done":
            return self._switch_off("torch", record.get("why", "It was not asked."))
        told = json.loads(self._last_line(os.path.join(self._work, "torch.log"), "{"))
        self.session["torch"] = told
        if not told["cuda"] and not self._rehearsal:
            self._switch_off("torch", f"PyTorch {told['torch']} sees no GPU.")

    # ---- all steps ---------------------------------------------------------------------------------------------

    def stop(self, *unused):
        self._stopped = True
        if self._child is not None:
            self._stop_child(signal.SIGTERM)

    def _pack(self, name):
        """The files of a pack's steps so far. Never throws: what cannot be written is said, and the next step runs."""
        files = {"logs/" + step.name + ".log": os.path.join(self._work, step.name + ".log")
                 for step in self._plan if step.pack == name}
        kept = {}
        for step in self._plan:
            for pattern in step.keep if step.pack == name else ():
                for path in sorted(glob.glob(os.path.join(glob.escape(self._work), pattern))):
                    kept[os.path.relpath(path, self._work)] = path
        self.session["written"] += 1
        left_out, fault = packs.write(os.path.join(self._out, name + ".tar"), self.session, kept | files)
        self.session["left_out"][name] = left_out
        if fault:
            self.say(f"Nothing can be written any more: {fault}.")

    def run(self):
        """The exit status: 0 where all that could be measured was."""
        self._find_gpu()
        self._write_clusters()
        self._plan = plan.steps(self._chosen)
        for step in self._plan:
            record = self._run_step(step)
            decide = getattr(self, "_after_" + step.name, None)
            if decide is not None:
                try:
                    decide(record)
                except Exception as error:  # the other steps can still be measured
                    self.say(f"What {step.name} tells is not understood ({type(error).__name__}: {error}).")
            if record["outcome"] != "skipped" or step is self._plan[-1]:
                self._pack(step.pack)
        self._pack(plan.PACKS[0])
        failed = any(step["outcome"] == "failed" for step in self.session["steps"])
        return 1 if failed or self._stopped or self._missing or self._off.keys() & {"gpu", "plugin"} else 0
