#!/usr/bin/env python3
"""The converter of measured rows on a made-up input, and what stowplan makes of it.

    neusight_test.py SOURCE_FOLDER STOWPLAN
"""
import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, STOWPLAN = Path(sys.argv[1]), sys.argv[2]
del sys.argv[1:3]
SCRIPT = SOURCE / "cost_models/rows/neusight.py"
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
powu,512,,,,1024,,,,,,,30
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

    def write_graph(self, name, graph=GRAPH):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["Name", "OpName", "FwOps", "BwOps", "AccOps", "latency", "InputShapes", "OutputShape"])
            for op, kind, forward, backward, latency in graph:
                writer.writerow([op, kind, forward, backward, "[]", latency, "[(2, 4, 32)]", "(2, 4, 32)"])
        return path

    def test_rows_have_the_dimensions_that_stowplan_reads(self):
        for gpu in neusight.KINDS:
            (self.root / f"{gpu}.csv").write_text(OPS)
        subprocess.run([sys.executable, SCRIPT, "ops", self.root, self.root / "rows"], check=True)
        text = (self.root / "rows/t4.csv").read_text()
        self.assertIn("# device: t4\n", text)
        rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
        told = [{key: value for key, value in row.items() if value and key not in ("dtype", "us")} for row in rows]
        self.assertEqual(told[0], {"op": "linear", "rows": "128", "depth": "128", "columns": "256"})
        self.assertEqual(told[1], {"op": "bmm", "batch": "4", "rows": "64", "depth": "128", "columns": "256"})
        self.assertNotIn("conv2d", [row["op"] for row in told])  # DeepBench has more kinds of them
        self.assertEqual([row["tensors"] for row in told[2:]], ["2", "2", "3", "2", "2"])
        self.assertEqual([row["name"] for row in rows[4:]], ["add", "relu", "pow"])
        self.assertEqual(rows[5]["us"], "30")
        # Read to the end: eight rows are too few of anything to be fitted.
        done = subprocess.run([STOWPLAN, "calibrate", self.root / "rows/t4.csv", "--out", self.root / "t4.json"],
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
        cluster.write_text("format: stowplan.cluster\nversion: 1\ndevices:\n  - {name: gpu0, kind: t4, memory: 1GiB}\n")
        self.assertGreater(neusight.simulate(STOWPLAN, out, cluster), 0)

    def test_numbers_and_masks_that_are_stretched_are_no_second_tensor(self):
        for inputs, read in (("[(2, 4, 32), (2, 4, 32)]", 2), ("[(2, 4, 32), (1,)]", 1), ("[(2, 4, 32), (2, 1, 32)]", 1),
                             ("[(2, 4, 32)]", 2), ("", 2)):
            self.assertEqual(neusight.whole_inputs({"InputShapes": inputs, "OutputShape": "(2, 4, 32)"}), read, inputs)
        chain = neusight.Chain([])
        chain.operator("VECdiv", (8, 32), 1)
        chain.operator("VECadd", (8, 32), 2)
        self.assertEqual([(op["type"], len(op["inputs"])) for op in chain.ops if op["type"] != "Const"], [("RealDiv", 1), ("Add", 2)])

    def test_stages_send_what_a_layer_hands_on(self):
        out = self.root / "graph.json"
        neusight.convert_graph(self.write_graph("gpt-train-4-pp4_1.csv"), 2, out, stages=2)
        ops = json.loads(out.read_text())["ops"]
        devices = [(op["type"], op["colocate"]) for op in ops if op["type"] in ("MatMul", "Identity")]
        self.assertEqual(devices, [("MatMul", "gpu0"), ("Identity", "gpu0"), ("Identity", "gpu1"), ("MatMul", "gpu1"),
                                   ("MatMul", "gpu1"), ("MatMul", "gpu1"), ("Identity", "gpu1"), ("Identity", "gpu0")])
        self.assertEqual([op["outputs"][0]["bytes"] for op in ops if op["type"] == "Identity"], [4 * 2 * 4 * 32] * 4)

    def test_ranks_add_up(self):
        graph = [*GRAPH, ("sum", "allreduce", "[('ALLREDUCE', (100,))]", "[('ALLREDUCE_ASYNC', (50,))]", "")]
        out = self.root / "graph.json"
        neusight.convert_graph(self.write_graph("gpt-train-4-dp4.csv", graph), 1, out, ranks=2)
        ops = json.loads(out.read_text())["ops"]
        self.assertEqual([[tensor["bytes"] for tensor in op["outputs"]] for op in ops if op["type"] == "AllReduce"],
                         [[400, 400], [200, 200]])
        self.assertEqual(sum(op["type"] == "MatMul" for op in ops), 2 * 3)
        done = subprocess.run([STOWPLAN, "graph", "convert", out, "--out", "-"], check=True, capture_output=True, text=True)
        split = json.loads(done.stdout)["ops"]
        self.assertEqual({op.get("colocate") for op in split}, {"gpu0", "gpu1"})
        self.assertEqual([op["outputs"][0]["bytes"] for op in split if op["type"] == "AllReduce"], [400, 400, 200, 200])

    def test_operators_are_added_up_with_their_layer_repeated(self):
        path = self.write_graph("bert-inf-8.csv")
        self.assertEqual(neusight.sum_of_operators(path, 3), 3 * 1.5 + 0.5)
        self.assertEqual(neusight.sum_of_operators(self.root / "missing.csv", 3), "")


if __name__ == "__main__":
    unittest.main()
