"""A file of ONNX operator set 20, without its weights: read, told what it is, and placed.

    python onnx20.py [model.onnx]          makes a small one where none is given
"""

import sys
import tempfile
from pathlib import Path

import stowplan


def make(path):
    """Normalised groups, GELU and a reduction whose axes are an input: none of it could be said before set 18."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    def weight(name, *shape):  # kept elsewhere: the file holds its shape alone
        tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights.bin")
        return tensor

    nodes = [helper.make_node("Conv", ["images", "w0"], ["conv"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("GroupNormalization", ["conv", "scale", "shift"], ["norm"], "norm", num_groups=8),
             helper.make_node("Gelu", ["norm"], ["gelu"], "gelu", approximate="tanh"),
             helper.make_node("ReduceMean", ["gelu", "axes"], ["pooled"], "pool", keepdims=0),
             helper.make_node("MatMul", ["pooled", "w1"], ["scores"], "head")]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("images", TensorProto.FLOAT, [32, 3, 64, 64])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [32, 1000])],
                              # before set 21 a scale for each group, not for each channel
                              [weight("w0", 64, 3, 3, 3), weight("scale", 8), weight("shift", 8), weight("w1", 64, 1000),
                               numpy_helper.from_array(np.array([2, 3], np.int64), "axes")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


with tempfile.TemporaryDirectory() as folder:
    path = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "small.onnx")
    if len(sys.argv) == 1:
        make(path)
    graph = stowplan.Graph.load(path)
for op in graph.to_dict()["ops"]:
    if op["type"] not in ("Variable", "Placeholder"):
        print(f"{op['type']:20} {op['outputs'][0]['shape']}  {op.get('flops', 0) / 1e6:.0f} MFLOP")
problem = stowplan.Problem(graph, "p100(gpus=2)", devices="gpu")
print(f"one GPU {problem.simulate('single_gpu').runtime_us / 1e3:.3f} ms, at least {problem.bounds().runtime_us / 1e3:.3f} ms")
