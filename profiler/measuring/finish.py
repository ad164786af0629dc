"""Here, afterwards: from what came back to a parameter file, the error on steps that it has not seen, and a page."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

from measuring import compare, packs, page, prepare

CPU_KIND = "cpu-broadwell"
UNKNOWN = "gpu"  # the catalogue's kind without rates, for a GPU that it does not know by name


class FinishError(Exception):
    """One sentence for the person who called."""


def find_stowplan(repository):
    """The program that was built last."""
    found = [path for path in (os.path.join(repository, "build", "release", "cli", "stowplan"),
                               os.path.join(repository, "build", "portable", "stowplan-portable", "stowplan"))
             if os.path.exists(path)]
    if not found:
        raise FinishError("stowplan is not built yet; `cmake --preset release && cmake --build --preset release` builds it")
    return max(found, key=os.path.getmtime)


class Finish:
    def __init__(self, folder, out, stowplan, sheet):
        if not os.path.isdir(folder):
            raise FinishError(f"{folder} is no folder; the files that came back are wanted")
        if os.path.exists(out):
            raise FinishError(f"{out} is there already; give another --out or remove it")
        if sheet and not os.path.isfile(sheet):
            raise FinishError(f"{sheet} is no file; a sheet of the GPU is wanted (docs/calibration.md)")
        self._out, self._stowplan, self._sheet = out, stowplan, sheet
        self._back = os.path.join(out, "back")
        self.session = packs.unpack(folder, self._back)
        if self.session is None:
            raise FinishError(f"{folder} holds no file of `measure run`, which are called 1-check.tar to 6-recorder.tar")
        self._check_session(folder)
        self.kind = self._scored = None  # of the parameters, and of those with which steps are scored
        self.said = list(self.session["said"])
        self.summary = {"session": self.session, "scores": {}}

    def _check_session(self, folder):
        for name, kind in (("said", list), ("steps", list), ("gpus", list), ("workloads", dict), ("memory_gib", int), ("date", str),
                           ("revision", str)):
            if not isinstance(self.session.get(name), kind):
                raise FinishError(f"the session.json in the files of {folder} has no '{name}' as `measure run` writes it")

    def _path(self, *names):
        return os.path.join(self._out, *names)

    def _say(self, sentence):
        self.said.append(sentence)
        print(sentence)

    def _call(self, *words):
        """(status, the last line of what it said, all of it)."""
        done = subprocess.run([self._stowplan, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        return done.returncode, lines[-1] if lines else "", done.stdout

    # ---- calibration -------------------------------------------------------------------------------------------

    def _probes(self, with_ops):
        if not os.path.exists(os.path.join(self._back, "links.json.zst")):
            by_torch = [path for name in ("launch", "copies", "ops")
                        for path in glob.glob(os.path.join(glob.escape(self._back), "torch", name + ".json.*"))]
            if by_torch:  # the two families of recordings are not mixed
                return by_torch
        found = [name for name in ("links", "peers", "ops", "host") if os.path.exists(self._back + f"/{name}.json.zst")]
        if with_ops:
            found += [f"{name}.{part}" for name in self.session["workloads"] for part in ("ops", "host_ops")
                      if os.path.exists(self._back + f"/{name}.{part}.json.zst")]
        return [os.path.join(self._back, name + ".json.zst") for name in found]

    def _calibrate(self, name, with_ops, kinds):
        """The parameter file `name`, or None. A recording that is refused is said and left out."""
        recordings = self._probes(with_ops)
        out = self._path(name + ".json")
        while recordings:
            status, said, _ = self._call("calibrate", *recordings, "--kind", "cpu=" + CPU_KIND, *kinds, "--out", out, "--force")
            if status == 0:
                return out
            refused = [path for path in recordings if path + ":" in said]
            if "no device that the catalogue knows" in said or not refused:
                self._refusal = said
                return None
            self._say(f"A recording was left out. {said}")
            recordings.remove(refused[0])
        self._refusal = "no probe was measured"
        return None

    def _fit_sheet(self):
        """The parameters of the kind that the user's sheet describes, which no recording can be scored with."""
        with open(self._sheet, encoding="utf-8") as file:
            found = re.search(r"^\s*-?\s*name:\s*([\w.-]+)", file.read(), re.MULTILINE)
        if found is None:
            raise FinishError(f"{self._sheet} names no device; docs/calibration.md shows a sheet")
        if self._calibrate(found[1], True, ["--kind", "gpu=" + found[1], "--sheet", self._sheet]) is None:
            return self._say(f"The sheet's kind gets no parameters, since {self._refusal}.")
        self.kind = found[1]

    def _fit(self):
        """The parameters of all recordings and those that have seen no op of a graph."""
        if self._sheet:
            self._fit_sheet()
        kinds = []
        if self._calibrate("held_out", False, kinds) is None:
            kinds = ["--kind", "gpu=" + UNKNOWN]
            if self._calibrate("held_out", False, kinds) is None:
                return self._say(f"No parameters can be made, since {self._refusal}.")
            self._say("The catalogue does not know this GPU, so its steps are scored by measured ops alone"
                      + ("." if self._sheet else "; a sheet (docs/calibration.md) gives its parameters rates for others."))
        with open(self._path("held_out.json"), encoding="utf-8") as file:
            told = json.load(file)
        names = [kind["kind"] for kind in told.get("kinds", [])] + [entry["kind"] for entry in told.get("table", [])]
        self._scored = next((name for name in names if not name.startswith("cpu")), None)
        if self._scored is None:
            return
        self._links = {link["kind"] for link in told.get("links", [])}
        self._dispatch = any("dispatch" in kind for kind in told.get("kinds", []) if kind["kind"] == self._scored)
        if self._calibrate(self._scored, True, kinds) is None:
            self._say(f"The ops of the graphs cannot be taken, since {self._refusal}.")
            for ending in (".json", ".report.txt", ".report.html"):
                shutil.copy(self._path("held_out" + ending), self._path(self._scored + ending))
        self.kind = self.kind or self._scored

    def _models(self):
        """(what its scores are called, the cost model) of those that can price whole steps."""
        with_ops = self._path(self._scored + ".json")
        if self._scored == UNKNOWN:
            return [("all", f"chain(table(file={with_ops}),constant(us=3))")]
        return [("held_out", self._path("held_out.json")), ("all", with_ops)]

    # ---- validation --------------------------------------------------------------------------------------------

    def _cluster(self, name):
        """The cluster of a recording as `stowplan` prints it, with the links and the dispatch that were measured."""
        link = prepare.LINKS[name].format(gpu=self._scored)
        link = "kind: " + link if link in self._links else "kind: pcie5-x16" if name == "host" else "bandwidth: 1000GB/s, latency: 3us"
        given = self._path("given.yaml")
        with open(given, "w", encoding="utf-8") as file:
            file.write(prepare.cluster_text(name, self._scored, CPU_KIND, link, "cost: auto" if self._dispatch else "cost: 4us",
                                            self.session["memory_gib"]))
        chosen = self._path("chosen")
        status, said, _ = self._call("validate", "--choose", "--workloads", "chain(ops=3)", "--cluster", given, "--cost-model",
                                     f"chain(table(file={self._path('held_out.json')}),constant)", "--placements", "2", "--out", chosen)
        if status != 0:
            raise FinishError(said)
        with open(os.path.join(chosen, "cluster.yaml"), encoding="utf-8") as file:
            # A recording is scored without the parameters that know the link by its kind; its numbers stand there, too.
            return re.sub(r", kind: [\w-]+, bandwidth:", ", bandwidth:", file.read())

    def _recordings(self):
        """Copies of the recorded steps whose clusters say what was measured of links and dispatch."""
        for name in prepare.CLUSTERS:
            found = glob.glob(os.path.join(glob.escape(self._back), f"*.{name}.steps.json.zst"))
            cluster = self._cluster(name) if found else None
            for path in found:
                try:
                    recording = compare.read(path)
                except (ValueError, OSError, compare.recording.RecordingError) as error:
                    self._say(f"{path} cannot be read ({error}).")
                    continue
                recording["cluster"] = cluster
                workload = os.path.basename(path).split(".")[0]
                target = self._path("steps." + name, f"{workload}.json.zst")
                os.makedirs(os.path.dirname(target), exist_ok=True)
                compare.write(target, recording)
        for scratch in ("given.yaml", "chosen"):
            path = self._path(scratch)
            shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)

    def _score(self, cluster, model, prices):
        """The scores of one cluster's steps, or None. A recording that is refused is said and left out."""
        steps, out = self._path("steps." + cluster), self._path(f"{model}.{cluster}")
        timelines = ["--timelines", os.path.join(out, "timelines")] if model == "all" else []
        while recordings := glob.glob(os.path.join(glob.escape(steps), "*")):
            status, said, _ = self._call("validate", "--recordings", steps, "--cost-model", prices, *timelines, "--out", out, "--force")
            if status == 0:
                with open(os.path.join(out, "scores.json"), encoding="utf-8") as file:
                    return json.load(file)["workloads"]
            refused = [path for path in recordings if path + ":" in said]
            self._say(f"Steps on {cluster} cannot be scored. {said}")
            if not refused:
                return None
            os.unlink(refused[0])
        return None

    def _validate(self):
        self._recordings()
        for cluster in prepare.CLUSTERS:
            for model, prices in self._models():
                scores = self._score(cluster, model, prices)
                if scores is not None:
                    self.summary["scores"][f"{model}.{cluster}"] = scores

    # ---- what PyTorch and the recorder say ---------------------------------------------------------------------

    def _torch(self, pattern):
        return sorted(glob.glob(os.path.join(glob.escape(self._back), "torch", pattern)))

    def _traces(self):
        """Which ops of the traces are told by name, shapes and kernels."""
        self.summary["told"] = {}
        for path in self._torch("*.kineto.json.*") + glob.glob(os.path.join(glob.escape(self._back), "recorder.json.zst")):
            status, said, text = self._call("calibrate", "--steps", path)
            self.summary["told"][os.path.relpath(path, self._back)] = text if status == 0 else said

    def _graphs(self):
        """PyTorch's steps as measured graphs; of each why it is none, or nothing."""
        self.summary["graphs"] = {}
        os.makedirs(self._path("graphs"), exist_ok=True)
        for path in self._torch("*.et.json.*"):
            name = os.path.basename(path).split(".")[0]
            words = [word for kineto in self._torch(name + ".kineto.json.*")[:1] for word in ("--kineto", kineto)]
            words += ["--gpu", self._scored] if self._scored else []
            status, said, _ = self._call("graph", "import", path, *words, "--out", self._path("graphs", name + ".json.zst"))
            self.summary["graphs"][name] = "" if status == 0 else said

    def run(self):
        self._fit()
        if self._scored:
            self._validate()
        self._traces()
        self._graphs()
        self.summary |= {"said": self.said, "kind": self.kind, "networks": compare.networks(os.path.join(self._back, "torch")),
                         "collectives": compare.collectives(self._back), "recorders": compare.recorders(self._back)}
        with open(self._path("summary.json"), "w", encoding="utf-8") as file:
            json.dump(self.summary, file, indent=1)
        with open(self._path("index.html"), "w", encoding="utf-8") as file:
            file.write(page.text(self.summary))
        print(f"{self._path('index.html')} shows what was found"
              + (f" and {self._path(self.kind + '.json')} is for --cost-model." if self.kind else ", but there are no parameters."))
        return 0 if self.kind and self.summary.get("scores") else 1


def finish(folder, out, stowplan, sheet=None):
    return Finish(folder, out, stowplan, sheet).run()
