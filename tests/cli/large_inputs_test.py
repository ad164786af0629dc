#!/usr/bin/env python3
"""No input of a megabyte, however it is made, takes 2 GiB, goes on for ever or ends in anything but an answer or a sentence.

    large_inputs_test.py PROGRAM [--all]      --all: every file of tests/fuzz/large_inputs.py, with a line each; 2 minutes
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

MAKER = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "large_inputs.py"
PROGRAM = os.path.abspath(sys.argv[1])
ALL = "--all" in sys.argv
MOST_BYTES = 2 << 30
MOST_SECONDS = 60  # before it is taken for endless; 10 s on a quiet machine are the goal
CLUSTER = ["--cluster", "k80(gpus=2)"]
ON_ONE = ["--placement", "round_robin"]
PRICE = ["--cost-model", "constant(us=1)"]
# What reads a target's files, one of them FILE.
GRAPH = ["simulate", "--graph", "FILE", *CLUSTER, *PRICE, *ON_ONE]
TRACE = ["calibrate", "FILE", "--out", "fitted.json"]
ON_CLUSTER = ["simulate", "--graph", "chain", "--cluster", "FILE", *PRICE, *ON_ONE]
PLACEMENT = ["simulate", "--graph", "chain", *CLUSTER, "--placement", "FILE"]
TABLE = ["table", "run", "hierarchical", "--cells", "rnnlm/single_gpu", "--seeds", "1", "--out", "out"]
IMPORT = ["graph", "import", "FILE", "--out", "graph.json"]
SCENARIO = ["place", "--scenario", "FILE"]
COMMANDS = {
    "graph": GRAPH, "json": GRAPH, "onnx": GRAPH, "msr": GRAPH, "doppler": GRAPH, "zstd": GRAPH, "gzip": GRAPH,
    "cluster": ON_CLUSTER, "yaml": ON_CLUSTER, "units": ON_CLUSTER,
    "scenario": SCENARIO, "spec": SCENARIO,
    "sheet": ["list", "devices", "--sheet", "FILE"],
    "placement": PLACEMENT, "split": PLACEMENT, "map": PLACEMENT,
    "trace": TRACE, "kineto": ["calibrate", "--steps", "FILE"],
    "execution": IMPORT, "memory": ["graph", "import", "model.onnx", "--out", "graph.json", "--memory-stats", "FILE"],
    "validation": ["validate", "--recordings", "recordings", *PRICE], "measured": [*TRACE, "--kind", "gpu=t4"],
    "checkpoint": ["place", "--agent", "placeto", "--init", "FILE", "--graph", "chain", *CLUSTER, "--samples", "1"],
    "gate": [*TABLE, "--store", "new.db", "--from", "from"],
    "parameters": ["simulate", "--graph", "chain", *CLUSTER, *ON_ONE, "--cost-model", "FILE"],
    "rows": [*TABLE, "--store", "new.db", "--adopt", "FILE"], "store": [*TABLE, "--store", "FILE", "--resume"],
    "table": ["table", "run", "FILE", "--samples", "1", "--store", "new.db", "--out", "out", "--cells", "none/none"],
    "external": ["place", "--agent", "external(command=\"cat FILE\")", "--graph", "chain", *CLUSTER],
}
# What else is compressed: YAML takes more memory than JSON, and traces have more events than graphs have ops.
CALLS = [*COMMANDS.items(), *[(packed, words) for packed in ("zstd", "gzip") for words in (ON_CLUSTER, COMMANDS["kineto"])]]
# What no command gets to where it stands in a file of somebody else: its hash is checked before. Its fuzz target reads it.
NOT_BY_A_COMMAND = {"report"}
# Where the program looks for what is read from no path that one gives, or is told by its name.
PLACES = {"gate": "from/gate/rows.csv", "validation": "recordings/input.json.zst", "measured": "input.csv"}
DEVICE = "{format: stowplan.cluster, version: 1, name: c, devices: [{name: d, kind: cpu, memory: %s}]}"
WORKLOAD = "{format: stowplan.scenario, version: 1, cluster: k80(gpus=2), workload: %s}"


def in_quotes(content):
    return json.dumps(content.decode("utf-8", "replace"))


def files_of(target, content, made):
    """What to write for an input of a fuzz target, by path, the input itself first."""
    path = PLACES.get(target, "input.yaml")
    if target == "units":
        return {path: (DEVICE % in_quotes(content)).encode()}
    if target == "spec":
        return {path: (WORKLOAD % in_quotes(content)).encode()}
    if target == "checkpoint":
        return {path: content[1:]}  # its first byte tells the target what the others are
    if target == "memory":
        return {path: content, "model.onnx": (made / "onnx" / "chain").read_bytes()}
    if target == "execution" and b"\0" in content:
        execution, kineto = content.split(b"\0", 1)
        return {path: execution, "kineto.json": kineto}
    # The kinds of the fuzz targets' catalogue as ours calls them.
    return {path: content.replace(b"kind: cpu-a", b"kind: cpu").replace(b"kind: gpu-a", b"kind: gpu")}


class Ended:
    """A call that is over: its status, what it said, seconds and the most memory that it took."""

    def __init__(self, words, folder):
        start = time.monotonic()
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen([PROGRAM, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL)
            clock = threading.Timer(MOST_SECONDS, process.kill)
            clock.start()
            _, status, usage = os.wait4(process.pid, 0)
            clock.cancel()
            said.seek(0)
            self.said = said.read()
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.bytes = usage.ru_maxrss * 1024
        self.seconds = time.monotonic() - start


class LargeInputs(unittest.TestCase):
    def test_none_takes_two_gigabytes(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        # By another program: what this one holds would count as memory of those that it starts.
        subprocess.run([sys.executable, "-B", MAKER, made.name], check=True)
        self.assertEqual({path.name for path in pathlib.Path(made.name).iterdir()} - set(COMMANDS), NOT_BY_A_COMMAND)
        tried = 0
        for target, words in CALLS:
            for path in sorted(pathlib.Path(made.name, target).iterdir()):
                if not ALL and path.name.startswith("repeated") and target not in ("graph", "cluster", "rows"):
                    continue  # the same readers below
                with self.subTest(target=target, name=path.name), tempfile.TemporaryDirectory() as folder:
                    files = files_of(target, path.read_bytes(), pathlib.Path(made.name))
                    for name, content in files.items():
                        (pathlib.Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                        (pathlib.Path(folder) / name).write_bytes(content)
                    kineto = ["--kineto", "kineto.json"] if "kineto.json" in files else []
                    ended = Ended([word.replace("FILE", f"./{next(iter(files))}") for word in words] + kineto, folder)
                    if ALL:
                        print(f"{target:10} {path.name:16} {ended.seconds:6.1f} s {ended.bytes >> 20:5} MiB  {ended.said[:100]!r}", flush=True)
                    self.assertNotEqual(ended.status, -signal.SIGKILL, f"did not end in {MOST_SECONDS} s")
                    self.assertIn(ended.status, (0, 2), ended.said[-500:])
                    self.assertLess(ended.bytes, MOST_BYTES)
                    tried += 1
        self.assertGreater(tried, 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
