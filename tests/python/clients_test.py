"""The programs that `stowplan export` writes for load what it wrote, on the CPU: accelerate, torch.distributed.pipelining, ONNX Runtime, networkx and
Graphviz. Run by run.py; what is not installed is skipped with a sentence (docs/exporting.md#checked-against names the versions)."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

STOWPLAN = pathlib.Path(os.environ["STOWPLAN_BUILD"]) / "cli" / "stowplan"
CLUSTER = "a100(gpus=2)"


def needs(*modules):
    """Of a test: skipped where one of them is missing."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return unittest.skipIf(missing, f"no {' and no '.join(missing)} in this Python; pip install brings it")


class Clients(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def stowplan(self, *arguments):
        told = subprocess.run([STOWPLAN, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual(told.returncode, 0, told.stderr)
        return told.stdout

    def graph(self, training=False):
        """A graph of Net below, with the names of its modules."""
        tensor = {"outputs": [{"bytes": 4096, "dtype": "f32", "shape": [32, 32]}]}
        ops = [{"name": "x", "type": "Placeholder", **tensor}]

        def linear(module, source):
            weight = {"name": f"{module}.weight", "type": "Variable", "persistent_bytes": 4096, **tensor, "phase": "forward"}
            matmul = {"name": f"{module}/matmul", "type": "MatMul", "inputs": [source, weight["name"]], "flops": 65536, **tensor, "phase": "forward"}
            ops.extend([weight, matmul])
            return matmul["name"]

        source = "x"
        for layer in range(4):
            first = linear(f"layers.{layer}.up", source)
            second = linear(f"layers.{layer}.down", first)
            ops.append({"name": f"layers.{layer}/add", "type": "Add", "inputs": [second, source], **tensor, "phase": "forward"})
            source = ops[-1]["name"]
        linear("head", source)
        path = self.folder / "net.json"
        path.write_text(json.dumps({"format": "stowplan.graph", "version": 1, "name": "net", "ops": ops}))
        return path

    def halves(self, graph):
        """A placement of it: two layers and two layers with the head."""
        devices = {}
        for op in json.loads(graph.read_text())["ops"]:
            late = op["name"].startswith(("layers.2", "layers.3", "head"))
            devices[op["name"]] = "gpu1" if late else "gpu0"
        path = self.folder / "placement.json"
        path.write_text(json.dumps({"format": "stowplan.placement", "version": 1, "graph": "net", "placement": devices}))
        return path

    def exported(self, to):
        graph = self.graph()
        return self.stowplan("export", self.halves(graph), "--graph", graph, "--cluster", CLUSTER, "--to", to)

    def net(self):
        import torch

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.up = torch.nn.Linear(32, 32, bias=False)
                self.down = torch.nn.Linear(32, 32, bias=False)

            def forward(self, x):
                return self.down(self.up(x)) + x

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.ModuleList(Layer() for _ in range(4))
                self.head = torch.nn.Linear(32, 32, bias=False)

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return self.head(x)

        torch.manual_seed(1)
        return Net()

    @needs("torch", "accelerate")
    def test_accelerate_takes_the_device_map(self):
        import torch
        from accelerate import dispatch_model
        from accelerate.utils import check_device_map

        device_map = json.loads(self.exported("device-map"))
        self.assertEqual(device_map, {"layers.0": 0, "layers.1": 0, "layers.2": 1, "layers.3": 1, "head": 1})
        net = self.net()
        check_device_map(net, device_map)  # it covers every weight
        del device_map["head"]
        with self.assertRaises(ValueError):
            check_device_map(net, device_map)
        # No GPU is needed to run by it: both halves on the CPU, with the hooks that move tensors.
        x = torch.ones(3, 32)
        expected = net(x)
        on_cpu = {module: "cpu" for module in [*device_map, "head"]}
        dispatched = dispatch_model(net, on_cpu, force_hooks=True)
        torch.testing.assert_close(dispatched(x), expected)

    @needs("torch")
    def test_pytorch_splits_the_pipeline_there(self):
        import torch
        from torch.distributed.pipelining import SplitPoint, pipeline

        told = json.loads(self.exported("pipeline"))
        self.assertEqual(told["split_spec"], {"layers.2": "beginning"})
        net, x = self.net().eval(), torch.ones(3, 32)
        stages = pipeline(net, mb_args=(x,), split_spec={name: SplitPoint.BEGINNING for name in told["split_spec"]})
        self.assertEqual(stages.num_stages, len(told["stages"]))
        first, second = (stages.get_stage_module(stage) for stage in range(2))
        self.assertEqual(sorted(name for name, _ in second.named_parameters()),
                         ["head.weight", "layers.2.down.weight", "layers.2.up.weight", "layers.3.down.weight", "layers.3.up.weight"])
        torch.testing.assert_close(second(first(x)), net(x))

    @needs("torch")
    def test_pytorch_splits_where_a_search_for_it_does(self):
        import torch
        from torch.distributed.pipelining import SplitPoint, pipeline

        self.stowplan("place", self.graph(), "--cluster", "a100(gpus=3)", "--for", "pipeline", "--out", "run")
        told = json.loads((self.folder / "run" / "pipeline.json").read_text())
        net, x = self.net().eval(), torch.ones(3, 32)
        stages = pipeline(net, mb_args=(x,), split_spec={name: SplitPoint.BEGINNING for name in told["split_spec"]})
        self.assertGreaterEqual(stages.num_stages, 2)
        self.assertEqual(stages.num_stages, len(told["stages"]))
        values = (x,)
        for stage in range(stages.num_stages):
            values = self.tuple(stages.get_stage_module(stage)(*values))
        torch.testing.assert_close(values[0], net(x))

    @staticmethod
    def tuple(values):
        return values if isinstance(values, tuple) else (values,)

    @needs("onnx", "onnxruntime")
    def test_onnx_runtime_loads_the_annotated_model(self):
        import numpy
        import onnx
        import onnxruntime
        from onnx import TensorProto, helper

        weights = [onnx.numpy_helper.from_array(numpy.ones((4, 4), numpy.float32), f"block.{i}.weight") for i in range(2)]
        nodes = [helper.make_node("MatMul", ["x", "block.0.weight"], ["a"], name="/block.0/MatMul"),
                 helper.make_node("Relu", ["a"], ["b"], name="/act/Relu"),
                 helper.make_node("MatMul", ["b", "block.1.weight"], ["y"], name="/block.1/MatMul")]
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy"]
        graph = helper.make_graph(nodes, "net", tensors[:1], tensors[1:], weights)
        # Another annotation that was there gives way, other metadata stays.
        # The exporter's word for the module renames the op, not the node.
        scopes = "['', 'block', 'block.1', 'matmul']"
        for node, key, value in ((0, "layer_ann", "old"), (0, "namespace", "kept"), (2, "pkg.torch.onnx.name_scopes", scopes)):
            entry = graph.node[node].metadata_props.add()
            entry.key, entry.value = key, value
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, self.folder / "net.onnx")
        place = ("export", "cpu_only", "--graph", "net.onnx", "--cluster", CLUSTER, "--to")
        self.stowplan(*place, "onnxruntime-model", "--out", "annotated.onnx")
        told = json.loads(self.stowplan(*place, "onnxruntime"))
        self.assertEqual(told["layer_ann"], {node.name: "cpu0" for node in nodes})

        annotated = onnx.load(self.folder / "annotated.onnx")
        onnx.checker.check_model(annotated)
        found = [{entry.key: entry.value for entry in node.metadata_props} for node in annotated.graph.node]
        self.assertEqual(found, [{"namespace": "kept", "layer_ann": "cpu0"}, {"layer_ann": "cpu0"},
                                 {"pkg.torch.onnx.name_scopes": scopes, "layer_ann": "cpu0"}])
        for node in annotated.graph.node:
            node.ClearField("metadata_props")
        for node in model.graph.node:
            node.ClearField("metadata_props")
        self.assertEqual(annotated, model)  # nothing else has changed

        def run(file, settings):
            options = onnxruntime.SessionOptions()
            for key, value in settings.items():
                options.add_session_config_entry(key, value)
            session = onnxruntime.InferenceSession(self.folder / file, options, providers=[name for name, _ in told["providers"]])
            return session.run(None, {"x": numpy.ones((2, 4), numpy.float32)})[0]

        numpy.testing.assert_array_equal(run("annotated.onnx", told["session_options"]), run("net.onnx", {}))
        if tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 25):
            # The option is read: one that says nothing it can read is refused.
            with self.assertRaises(Exception):
                run("annotated.onnx", {"session.layer_assignment_settings": "cpu"})

    @needs("onnx", "onnxruntime")
    def test_onnx_runtime_names_nodes_as_the_memory_file_does(self):
        import numpy
        import onnx
        import onnxruntime
        from onnx import TensorProto, helper

        long = "a tensor whose name is longer than one block of the hash"
        nodes = [helper.make_node("MatMul", ["x", "weight"], [long], name="first"), helper.make_node("Relu", [long], ["y"])]
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy"]
        weight = onnx.numpy_helper.from_array(numpy.ones((4, 4), numpy.float32), "weight")
        model = helper.make_model(helper.make_graph(nodes, "net", tensors[:1], tensors[1:], [weight]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, self.folder / "net.onnx")
        told = self.stowplan("export", "cpu_only", "--graph", "net.onnx", "--cluster", CLUSTER, "--to", "onnxruntime-memory").splitlines()
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_mem_pattern = False
        options.add_session_config_entry("session.collect_node_memory_stats_to_file", "stats.csv")
        onnxruntime.InferenceSession(self.folder / "net.onnx", options, providers=["CPUExecutionProvider"]).run(None, {"x": numpy.ones((2, 4), numpy.float32)})
        collected = (self.folder / "stats.csv").read_text().splitlines()
        self.assertEqual(told[0], collected[0])
        self.assertEqual({line.partition(",")[0] for line in told}, {line.partition(",")[0] for line in collected})
        self.assertEqual([line.partition(",")[2] for line in told[1:]], ["32,64,32,0", "0,0,0,0"], "the ReLU works in place")

    @needs("onnx", "onnxruntime")
    def test_what_onnx_runtime_measured_of_memory_is_read(self):
        import numpy
        import onnx
        import onnxruntime
        from onnx import TensorProto, helper

        def weight(name, *shape):
            return onnx.numpy_helper.from_array(numpy.ones(shape, numpy.float32), name)

        # A convolution that needs workspace, outputs of several kinds, nodes that are no op, a size that depends on data.
        nodes = [helper.make_node("Conv", ["x", "filter", "bias"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"], name="relu"),
                 helper.make_node("Split", ["r"], ["p", "q"], name="split", axis=1), helper.make_node("Mul", ["p", "q"], ["m"], name="mul"),
                 helper.make_node("Flatten", ["m"], ["f"], name="flat"), helper.make_node("Gemm", ["f", "matrix", "offset"], ["g"], name="fc"),
                 helper.make_node("Shape", ["g"], ["s"], name="shape"), helper.make_node("Reshape", ["g", "s"], ["z"], name="reshape"),
                 helper.make_node("NonZero", ["z"], ["places"], name="nonzero"), helper.make_node("Softmax", ["z"], ["y"])]
        tensors = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (
            ("x", TensorProto.FLOAT, ["n", 8, 16, 16]), ("y", TensorProto.FLOAT, ["n", 10]), ("places", TensorProto.INT64, [2, "found"]))]
        weights = [weight("filter", 8, 8, 3, 3), weight("bias", 8), weight("matrix", 1024, 10), weight("offset", 10)]
        model = helper.make_model(helper.make_graph(nodes, "net", tensors[:1], tensors[1:], weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, self.folder / "net.onnx")

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.collect_node_memory_stats_to_file", "stats.csv")
        session = onnxruntime.InferenceSession(self.folder / "net.onnx", options, providers=["CPUExecutionProvider"])
        x = numpy.zeros((4, 8, 16, 16), numpy.float32)
        for _ in range(2):  # the second runs by the pattern that the first has left
            session.run(None, {"x": x})
        del session
        lines = {line.split(",")[0].rpartition("_")[0]: [int(number) for number in line.split(",")[1:]]
                 for line in (self.folder / "stats.csv").read_text().splitlines()[1:]}
        self.assertEqual(set(lines), {node.name or "Softmax" for node in nodes})

        def imported(*more):
            dims = ("--dim", "n=4", "--dim", "places:1=40")
            told = self.stowplan("graph", "import", "net.onnx", *dims, *more, "--out", "out.json")
            return told, {op["name"]: op for op in json.loads((self.folder / "out.json").read_text())["ops"]}

        _, worked_out = imported()
        told, measured = imported("--memory-stats", "stats.csv")
        self.assertIn("memory of 9 of 9 ops is as measured", told)
        self.assertIn("1 of 10 lines of stats.csv left out", told)
        self.assertGreater(lines["conv"][3], 0)
        for name, op in measured.items():
            line = lines.get(name if name != "y" else "Softmax")
            self.assertEqual(op.get("workspace_bytes", 0), line[3] if line else 0, name)
            if name != "nonzero":
                self.assertEqual(op.get("outputs"), worked_out[name].get("outputs"), "shapes say what was allocated")

        run = subprocess.run([STOWPLAN, "graph", "import", "net.onnx", "--dim", "n=8", "--dim", "places:1=40", "--memory-stats", "stats.csv", "--out", "-"],
                             capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr, r"stats\.csv:\d+: node \"conv_\d+\" read \d+ bytes, but its inputs and weights are at least 65536; give the --dim")

    @needs("onnx", "onnxruntime")
    def test_what_a_folded_node_read_first_is_read(self):
        import numpy
        import onnx
        import onnxruntime
        from onnx import TensorProto, helper

        # The mask counts at its Shape, which is no op here; or at its Cast.
        nodes = {"shape": helper.make_node("Shape", ["mask"], ["s"], name="shape"), "fill": helper.make_node("ConstantOfShape", ["s"], ["k"], name="fill"),
                 "cast": helper.make_node("Cast", ["mask"], ["m"], name="cast", to=TensorProto.FLOAT)}
        mask, out = (helper.make_tensor_value_info(name, kind, [2, 4]) for name, kind in (("mask", TensorProto.INT64), ("z", TensorProto.FLOAT)))
        read = set()
        for added, order in ((["k", "m"], ("shape", "fill", "cast")), (["m", "k"], ("cast", "shape", "fill"))):
            graph = helper.make_graph([*(nodes[name] for name in order), helper.make_node("Add", added, ["z"], name="add")], "net", [mask], [out])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.folder / "mask.onnx")
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.add_session_config_entry("session.collect_node_memory_stats_to_file", "stats.csv")
            session = onnxruntime.InferenceSession(self.folder / "mask.onnx", options, providers=["CPUExecutionProvider"])
            session.run(None, {"mask": numpy.ones((2, 4), numpy.int64)})
            del session
            read.update(line.partition("_")[0] for line in (self.folder / "stats.csv").read_text().splitlines() if ",64,0," in line)
            told = self.stowplan("graph", "import", "mask.onnx", "--memory-stats", "stats.csv", "--out", "out.json")
            self.assertIn("memory of 2 of 2 ops is as measured", told)
        self.assertEqual(read, {"shape", "cast"}, "it counts at one in one order, at the other in the other")

    @needs("networkx")
    def test_networkx_reads_the_graphml(self):
        import networkx

        (self.folder / "net.graphml").write_text(self.exported("graphml"))
        graph = networkx.read_graphml(self.folder / "net.graphml")
        ops = json.loads((self.folder / "net.json").read_text())["ops"]
        self.assertEqual(set(graph.nodes), {op["name"] for op in ops})
        self.assertEqual(graph.number_of_edges(), sum(len(op.get("inputs", [])) for op in ops))
        node = graph.nodes["layers.2.up/matmul"]
        self.assertEqual((node["device"], node["module"], node["type"]), ("gpu1", "layers.2.up", "MatMul"))
        self.assertEqual(graph.edges["layers.1/add", "layers.2.up/matmul"]["bytes"], 4096)

    @unittest.skipUnless(shutil.which("dot"), "no Graphviz; apt-get install graphviz brings it")
    def test_graphviz_draws_the_dot(self):
        drawn = subprocess.run(["dot", "-Tsvg"], input=self.exported("dot"), capture_output=True, text=True, check=True)
        self.assertIn("layers.2.up/matmul", drawn.stdout)


if __name__ == "__main__":
    unittest.main()
