#!/usr/bin/env python3
"""Shares of made-up traces.

    traces_test.py SOURCE_FOLDER STOWPLAN
"""
import csv
import gzip
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, STOWPLAN = Path(sys.argv[1]), sys.argv[2]
del sys.argv[1:3]


def event(category, name, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}


def call(number, ts):
    return event("cuda_runtime", "cudaLaunchKernel", ts, 2, correlation=number)


STEP = [event("cpu_op", "aten::mm", 10, 20, **{"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}), call(1, 15),
        event("kernel", "ampere_sgemm_128x64_nn", 100, 60, correlation=1),
        event("cpu_op", "aten::relu", 40, 20), call(2, 45),
        event("kernel", "vectorized_elementwise_kernel", 200, 10, correlation=2),
        event("cpu_op", "aten::copy_", 70, 20), call(3, 75),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 300, 30, correlation=3, bytes=4096)]


class Traces(unittest.TestCase):
    def test_each_trace_has_its_shares_or_why_it_is_refused(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for name, events in (("step", STEP), ("no_device", [event("cpu_op", "aten::mm", 10, 20)])):
                with gzip.open(folder / f"{name}.json.gz", "wt") as file:
                    json.dump({"schemaVersion": 1, "traceEvents": events}, file)
            subprocess.run([sys.executable, SOURCE / "cost_models/rows/traces.py", folder, STOWPLAN, folder], check=True)
            with (folder / "traces.csv").open(newline="") as file:
                rows = [tuple(row.values()) for row in csv.DictReader(file)]
        self.assertEqual(rows[0][:2], ("no_device", ""))
        self.assertRegex(rows[0][2], "^refused: .*no work of a GPU")
        self.assertEqual(rows[1:], [("step", "60.0", "told: ops with name, shapes and kernels"),
                                    ("step", "30.0", "told: copies, ends and bytes"),
                                    ("step", "10.0", "not told: aten::relu, without shapes")])


if __name__ == "__main__":
    unittest.main()
