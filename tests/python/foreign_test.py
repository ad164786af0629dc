"""Models that others wrote, as foreign/capture_models.py captured them: weights, FLOPs and op lists against what is known apart. Run by run.py.

foreign/known.json has what others published, with its source, or what is worked out by hand; rows.json beside what was captured what counter.py
counted in the same run by the functions that a model calls; memory.json what PyTorch's CPU allocator held in a step that ran (step_memory.py).
"""

import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import stowplan

FOREIGN = pathlib.Path(__file__).parent / "foreign"
GRAPHS = sorted((FOREIGN / "graphs").glob("*.json.zst"))
ONE_GPU = {"name": "one", "interconnect": "fair", "devices": [{"name": "gpu0", "kind": "a100", "memory": "80GiB"}], "links": []}


def elements(output):
    return math.prod(output["shape"])


def recount(op, inputs):
    """FLOPs of a product by the shapes that the graph has, apart from stowplan.capture."""
    kind, outputs = op["type"], op.get("outputs", [])
    if kind in ("MatMul", "BatchMatMul"):
        return 2 * elements(outputs[0]) * inputs[0]["shape"][-1]
    if kind in ("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2dNative"):
        return 2 * elements(outputs[0]) * math.prod(inputs[1]["shape"][1:])
    if kind == "ConvBackward":
        mask = op["attributes"]["output_mask"]
        spread = inputs[1] if op["attributes"].get("transposed") else inputs[0]
        return 2 * elements(spread) * math.prod(inputs[2]["shape"][1:]) * (mask[0] + mask[1])
    if kind == "GroupedMatMul":  # each row, or each step of the depth, meets one expert
        if len(inputs[0]["shape"]) == len(inputs[1]["shape"]) == 2:
            return 2 * elements(inputs[0]) * inputs[1]["shape"][1]
        return 2 * elements(outputs[0]) * inputs[0]["shape"][-1]
    if kind in ("Attention", "AttentionGrad"):
        first = 1 if kind == "AttentionGrad" else 0
        query, key, value = (one["shape"] for one in inputs[first:first + 3])
        scores = 2 * math.prod(query[:-1]) * key[-2]
        return scores * (query[-1] + value[-1]) if not first else scores * (3 * query[-1] + 2 * value[-1])
    return 0


class Foreign(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.known = json.loads((FOREIGN / "known.json").read_text(encoding="utf-8"))
        cls.rows = json.loads((FOREIGN / "rows.json").read_text(encoding="utf-8"))

    def test_all_models_are_captured(self):
        self.assertEqual(set(self.rows), set(self.known))
        self.assertGreaterEqual(len(self.rows), 30)

    def test_weights_are_as_many_as_were_published(self):
        for name, row in self.rows.items():
            with self.subTest(name):
                self.assertEqual(row["parameters"], self.known[name]["parameters"])

    def test_flops_are_those_that_were_published(self):
        for name, known in self.known.items():
            wanted = known.get("forward_flops", 2e9 * known.get("forward_gmacs", 0) * known.get("images", 0))
            if wanted:
                with self.subTest(name):
                    self.assertLess(abs(self.rows[name]["forward_flops"] / wanted - 1), 0.01)

    def test_flops_are_those_that_were_counted_apart(self):
        for name, row in self.rows.items():
            for kind in ("forward", "step"):
                with self.subTest(name, kind=kind):
                    self.assertLess(abs(row[f"{kind}_flops"] / row[f"counted_{kind}_flops"] - 1), 0.01)

    def test_a_step_is_two_to_four_times_its_forward_pass(self):
        for name, row in self.rows.items():
            with self.subTest(name):
                self.assertTrue(2 < row["step_flops"] / row["forward_flops"] < 4)

    def test_every_op_is_known(self):
        self.assertEqual({name: row["unknown_ops"] for name, row in self.rows.items() if "unknown_ops" in row}, {})

    def test_graphs_have_the_flops_of_their_shapes_and_the_ops_of_their_rows(self):
        self.assertGreaterEqual(len(GRAPHS), 25)
        for path in GRAPHS:
            name, kind = path.name.split(".")[:2]
            with self.subTest(path.name):
                graph = stowplan.Graph.load(str(path))
                ops = graph.to_dict()["ops"]
                self.assertEqual(len(ops), self.rows[name][f"{kind}_ops"])
                self.assertEqual(sum(op.get("flops", 0) for op in ops), self.rows[name][f"{kind}_flops"])
                outputs = {f"{op['name']}:{i}": output for op in ops for i, output in enumerate(op.get("outputs", []))}
                for op in ops:
                    self.assertEqual(op.get("flops", 0), recount(op, [outputs[one] for one in op.get("inputs", [])]), op["name"])

    def test_a_step_holds_what_the_allocator_of_pytorch_holds(self):
        measured = json.loads((FOREIGN / "memory.json").read_text(encoding="utf-8"))
        del measured["segformer_b0"]  # its decoder keeps four maps in a list after their last reader, 11 %
        self.assertGreaterEqual(len(measured), 15)
        for name, row in measured.items():
            with self.subTest(name):
                step = stowplan.Problem(str(FOREIGN / "graphs" / f"{name}.step.json.zst"), ONE_GPU, reserve="0").simulate("single_gpu")
                self.assertLess(abs(step.device_peak_bytes[0] / row["without_scratch_bytes"] - 1), 0.05)

    def test_the_program_simulates_them(self):
        program = pathlib.Path(os.environ["STOWPLAN_BUILD"]) / "cli" / "stowplan"
        for path in GRAPHS:
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "outcome.json")
                told = subprocess.run([program, "simulate", "--graph", path, "--cluster", "h100(gpus=1)", "--placement", "single_gpu", "--memory",
                                       "gpu=900GiB", "--json", out], capture_output=True, text=True, check=False)
                self.assertEqual(told.returncode, 0, told.stderr)
                with open(out, encoding="utf-8") as file:
                    self.assertGreater(json.load(file)["runtime_us"], 0)


if __name__ == "__main__":
    unittest.main()
