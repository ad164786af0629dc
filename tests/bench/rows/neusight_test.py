#!/usr/bin/env python3
"""The converter of measured rows on a made-up input, and what berth makes of it.

    neusight_test.py SOURCE_FOLDER BERTH
"""
import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BERTH = Path(sys.argv[1]), sys.argv[2]
del sys.argv[1:3]
SCRIPT = SOURCE / "bench/rows/neusight.py"
spec = importlib.util.spec_from_file_location("neusight", SCRIPT)
neusight = importlib.util.module_from_spec(spec)
spec.loader.exec_module(neusight)

OPS = """op,B,M,N,K,H,IC,OC,KS,IS,S,P,us
linear,2,64,128,256,,,,,,,,50
bmm,4,64,128,256,,,,,,,,60
conv,8,,,,,16,32,3,28,1,1,70
softmax,512,,,,1024,,,,,,,80
ln,512,,,,1024,,,,,,,90
add,512,,,,1024,,,,,,,40
relu,512,,,,1024,,,,,,,30
"""
# A layer of one product that is repeated, and what stands behind it.
GRAPH = [("embed", "misc", "[]", "[]", ""), ("layer_0_linear", "linear", "[('Linear', (8, 16, 32))]", "[]", "1.5"),
         ("layer_0_drop", "dropout", "[('VECdropout', (8, 32))]", "[]", ""),
         ("head", "linear", "[('Linear', (8, 32, 4))]", "[('Linear', (32, 8, 4))]", "0.5")]


class Converter(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)

    def write_graph(self, name):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["Name", "OpName", "FwOps", "BwOps", "AccOps", "latency"])
            for op, kind, forward, backward, latency in GRAPH:
                writer.writerow([op, kind, forward, backward, "[]", latency])
        return path

    def test_rows_have_the_dimensions_that_berth_reads(self):
        for gpu in neusight.KINDS:
            (self.root / f"{gpu}.csv").write_text(OPS)
        subprocess.run([sys.executable, SCRIPT, "ops", self.root, self.root / "rows"], check=True)
        text = (self.root / "rows/t4.csv").read_text()
        self.assertIn("# device: t4\n", text)
        rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
        told = [{key: value for key, value in row.items() if value and key not in ("dtype", "us")} for row in rows]
        self.assertEqual(told[0], {"op": "linear", "rows": "128", "depth": "128", "columns": "256"})
        self.assertEqual(told[1], {"op": "bmm", "batch": "4", "rows": "64", "depth": "128", "columns": "256"})
        self.assertEqual(told[2]["padding"], "1")
        self.assertEqual([row["tensors"] for row in told[3:]], ["2", "2", "3", "2"])
        self.assertEqual(rows[6]["us"], "30")
        # Read to the end: seven rows are too few of anything to be fitted.
        done = subprocess.run([BERTH, "calibrate", self.root / "rows/t4.csv", "--out", self.root / "t4.json"],
                              capture_output=True, text=True)
        self.assertIn("fewer than 50", done.stdout + done.stderr)

    def test_a_layer_is_repeated_and_the_graph_simulates(self):
        out = self.root / "graph.json"
        neusight.convert_graph(self.write_graph("bert-inf-8.csv"), 3, out)
        ops = [op for op in json.loads(out.read_text())["ops"] if op["type"] != "Const"]
        self.assertEqual([op["type"] for op in ops], ["MatMul"] * 5)  # dropout is none of inference
        self.assertEqual([op["flops"] for op in ops[:4]], [2 * 8 * 16 * 32] * 3 + [2 * 8 * 32 * 4])
        self.assertEqual(ops[1]["control"], [ops[0]["name"]])
        cluster = self.root / "one.yaml"
        cluster.write_text("format: berth.cluster\nversion: 1\ndevices:\n  - {name: gpu0, kind: t4, memory: 1GiB}\n")
        self.assertGreater(neusight.simulate(BERTH, out, cluster), 0)

    def test_operators_are_added_up_with_their_layer_repeated(self):
        path = self.write_graph("bert-inf-8.csv")
        self.assertEqual(neusight.sum_of_operators(path, 3), 3 * 1.5 + 0.5)
        self.assertEqual(neusight.sum_of_operators(self.root / "missing.csv", 3), "")


if __name__ == "__main__":
    unittest.main()
