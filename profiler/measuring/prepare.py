"""Here, before: the folder that travels, with programs, workloads and placements, and one packed file of it."""

import json
import os
import shutil
import subprocess
import sys
import tarfile

# On the GPU, on its host and on its two halves; small enough that a placement on the CPU ends in time.
WORKLOADS = {
    "rnnlm": "rnnlm(batch=16,hidden=256,steps=8,vocabulary=1000)",
    "inception": "inception_v3(batch=1)",
    "nmt": "nmt(batch=16,hidden=128,steps=6,vocabulary=500)",
    "cifar10": "cifar10(batch=4)",
}
PLACEMENTS = 15
MOST_PACKED = 40 << 20

# Their kinds, memory, links and dispatch are those of a H100 when placements are chosen, of no matter when they are measured,
# and those that were measured when they are scored.
CLUSTERS = {"host": (("cpu0", "{cpu}", "64GiB"), ("gpu0", "{gpu}", "{memory}")),
            "halves": (("gpu0", "{gpu}", "{half}"), ("gpu1", "{gpu}", "{half}"))}
LINKS = {"host": "{gpu}-pinned", "halves": "{gpu}-on-device"}


class PrepareError(Exception):
    """One sentence for the person who called."""


def cluster_text(name, gpu, cpu, link, dispatch, memory_gib=60):
    """A stowplan.cluster of CLUSTERS on a GPU of which so much memory is used; `link` and `dispatch` are as YAML has them."""
    facts = {"gpu": gpu, "cpu": cpu, "memory": f"{memory_gib}GiB", "half": f"{memory_gib // 2}GiB"}
    devices = [[part.format(**facts) for part in device] for device in CLUSTERS[name]]
    rows = "".join(f"  - {{name: {device}, kind: {kind}, memory: {memory}}}\n" for device, kind, memory in devices)
    return (f"format: stowplan.cluster\nversion: 1\nname: {name}\ndevices:\n{rows}links:\n"
            f"  - {{name: link, ends: [{devices[0][0]}, {devices[1][0]}], {link}}}\n"
            f"dispatch: {{per: process, order: ready, {dispatch}}}\n")


def call(*words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()] or [f"status {done.returncode}"]
        raise PrepareError(f"{os.path.basename(words[0])} {words[1] if len(words) > 1 else ''} failed with \"{lines[-1].strip()}\"")
    return done.stdout


def build(repository, fakes):
    """The portable folder, with the self-test and, for a rehearsal, with what stands for a GPU."""
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            raise PrepareError(f"{tool} is missing, with which the programs are built (.ci/install installs it)")
    call("cmake", "--preset", "portable", cwd=repository)
    folder = os.path.join(repository, "build", "portable")
    call("cmake", "--build", folder, "--target", "portable")
    if not os.path.exists(os.path.join(folder, "stowplan-portable", "libstowplan_cuda.so")):
        raise PrepareError("the CUDA toolkit with cuDNN and CUPTI is missing, from which the plug-in for the GPU is built")
    call("cmake", "--build", folder, "--target", "fakes" if fakes else "self_test")
    return folder


def revision_of(repository):
    try:
        head = call("git", "-C", repository, "rev-parse", "--short=12", "HEAD").strip()
        return head + ("-dirty" if call("git", "-C", repository, "status", "--porcelain").strip() else "")
    except (PrepareError, OSError):
        return "unknown"


def choose(stowplan, session, workloads, placements, folder):
    """Graphs, and placements on each of CLUSTERS, by the prices that are known before anything was measured."""
    for name, workload in workloads.items():
        for cluster in CLUSTERS:
            out = os.path.join(folder, name, cluster)
            given = os.path.join(folder, "given.yaml")
            os.makedirs(folder, exist_ok=True)
            with open(given, "w", encoding="utf-8") as file:
                file.write(cluster_text(cluster, "h100", "cpu-broadwell", "kind: pcie5-x16", "cost: auto"))
            call(stowplan, "validate", "--choose", "--workloads", workload, "--cluster", given, "--placements", str(placements),
                 "--out", out)
            os.replace(os.path.join(out, "graph.json.zst"), os.path.join(folder, name, "graph.json.zst"))
            for scratch in (given, os.path.join(out, "cluster.yaml")):
                os.unlink(scratch)


def prepare(repository, out, binaries=None, self_test=None, workloads=None, placements=PLACEMENTS, pack=True,
            **settings):
    """Makes the folder `out` and out.tar.gz. `binaries`: a folder with the programs, else they are built.

    `settings` are those of plan.steps(). Returns the bytes that travel.
    """
    workloads = workloads or WORKLOADS
    if os.path.exists(out):
        raise PrepareError(f"{out} is there already; give another --out or remove it")
    if binaries is None:
        folder = build(repository, fakes=False)
        binaries, self_test = os.path.join(folder, "stowplan-portable"), os.path.join(folder, "tests", "self_test")
    try:
        _fill(repository, out, binaries, self_test, workloads, placements, settings)
        return packed(out) if pack else 0
    except BaseException:  # else the next call would be refused
        shutil.rmtree(out, ignore_errors=True)
        raise


def _fill(repository, out, binaries, self_test, workloads, placements, settings):
    profiler = os.path.join(repository, "profiler")
    shutil.copytree(binaries, os.path.join(out, "bin"))
    shutil.copy(self_test, os.path.join(out, "bin", "self_test"))
    for part in ("measuring", "pytorch"):
        shutil.copytree(os.path.join(profiler, part), os.path.join(out, part), ignore=shutil.ignore_patterns("__pycache__", "*.md"))
    shutil.copy(os.path.join(profiler, "measure"), os.path.join(out, "measure"))
    choose(os.path.join(out, "bin", "stowplan"), out, workloads, placements, os.path.join(out, "planned"))
    with open(os.path.join(out, "plan.json"), "w", encoding="utf-8") as file:
        json.dump({"revision": revision_of(repository), "workloads": workloads} | settings, file)


def packed(out):
    path = out.rstrip("/") + ".tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        archive.add(out, arcname=os.path.basename(out.rstrip("/")))
    size = os.path.getsize(path)
    if size > MOST_PACKED:
        raise PrepareError(f"{path} has {size >> 20} MiB, more than the {MOST_PACKED >> 20} MiB that may travel")
    print(f"{path} has {size / (1 << 20):.1f} MiB and holds all that the GPU's machine needs.", file=sys.stderr)
    return size
