"""Operator sets 18 to 23 of ONNX: shapes and types beside those that onnx's own inference gives. Run by run.py."""

import importlib.util
import os
import random
import tempfile
import unittest
import warnings

import numpy as np

import stowplan

if importlib.util.find_spec("onnx"):
    import onnx
    from onnx import TensorProto, helper

    DTYPES = {TensorProto.FLOAT: "f32", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16", TensorProto.INT64: "i64",
              TensorProto.INT8: "i8", TensorProto.UINT8: "u8", TensorProto.BOOL: "bool", TensorProto.INT32: "i32",
              TensorProto.FLOAT8E4M3FN: "f8", TensorProto.FLOAT8E5M2: "f8", TensorProto.INT4: "i4", TensorProto.UINT4: "u4"}


def ints(*numbers):
    return np.array(numbers, np.int64)


def floats(*numbers):
    return np.array(numbers, np.float32)


def draw_cases(random):
    """(op type, operator set, inputs: shape, (shape, type), array or None, number of outputs, attributes)"""
    def opset(since=18):
        return random.randint(since, 23)

    def size(most=9):
        return random.randint(1, most)

    shape = [size() for _ in range(random.randint(2, 4))]
    axes = sorted(random.sample(range(len(shape)), random.randint(1, len(shape))))
    turned = [axis - len(shape) if random.random() < 0.5 else axis for axis in axes]
    for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
        given = random.choice(([ints(*turned)], [], [ints()]))
        yield "Reduce" + kind, opset(), [shape, *given], 1, {"keepdims": random.randint(0, 1), "noop_with_empty_axes": random.randint(0, 1)}
    axis = random.randrange(len(shape))
    long = [*shape]
    long[axis] = random.randint(5, 30)
    parts = random.randint(1, 5)
    if -(-long[axis] // parts) * (parts - 1) <= long[axis]:
        yield "Split", opset(), [long], parts, {"axis": axis, "num_outputs": parts}
    pads = [random.randint(0, 3) for _ in range(2 * len(axes))]
    yield "Pad", opset(), [shape, ints(*pads), None, ints(*turned)], 1, {"mode": "constant"}
    yield "Pad", opset(19), [shape, ints(*[0, 1] * len(shape))], 1, {"mode": "wrap"}
    image = [2, 3, random.randint(4, 20), random.randint(4, 20)]
    yield "Resize", opset(), [image, None, floats(*[random.choice((0.5, 1.5, 2, 3)) for _ in range(2)])], 1, {"axes": [2, 3], "antialias": 1}
    for policy in ("stretch", "not_larger", "not_smaller"):
        yield ("Resize", opset(), [image, None, None, ints(random.randint(2, 40), random.randint(2, 40))], 1,
               {"axes": [-2, -1], "keep_aspect_ratio_policy": policy})
    window = {"kernel_shape": [random.randint(1, 3), random.randint(1, 3)], "strides": [random.randint(1, 2)] * 2}
    yield "AveragePool", opset(19), [image], 1, {**window, "dilations": [1, random.randint(1, 2)] if image[3] > 5 else [1, 1], "ceil_mode": 0}
    yield "LpPool", opset(), [image], 1, {**window, "p": 2}
    yield "MaxPool", opset(), [image], 1, window
    yield "Conv", opset(), [image, [4, 3, 3, 3]], 1, {"pads": [1, 1, 1, 1]}
    yield "DeformConv", opset(19), [image, [4, 3, 3, 3], [2, 18, *image[2:]]], 1, {"pads": [1, 1, 1, 1], "offset_group": 1}
    for to in (TensorProto.FLOAT8E4M3FN, TensorProto.BFLOAT16, TensorProto.FLOAT16, TensorProto.INT8):
        yield "Cast", opset(19), [shape], 1, {"to": to, "saturate": 1} if to == TensorProto.FLOAT8E4M3FN else {"to": to}
    yield "QuantizeLinear", opset(19), [shape, []], 1, {}
    yield "QuantizeLinear", opset(21), [[6, 8], [6, 2]], 1, {"axis": 1, "block_size": 4, "output_dtype": TensorProto.INT4}
    yield "DequantizeLinear", opset(19), [([4, 6], TensorProto.FLOAT8E5M2), [6]], 1, {"axis": 1}
    yield "DequantizeLinear", opset(21), [([6, 7], TensorProto.UINT4), [6, 2]], 1, {"axis": 1, "block_size": 4}
    yield "GroupNormalization", random.randint(18, 20), [[2, 6, 4], [3], [3]], 1, {"num_groups": 3}
    yield "GroupNormalization", opset(21), [[2, 6, 4], [6], [6]], 1, {"num_groups": 3}
    yield "LayerNormalization", opset(), [shape, [shape[-1]]], 3, {}
    yield "RMSNormalization", 23, [shape, [shape[-1]]], 1, {"axis": -1}
    yield "Gelu", opset(20), [shape], 1, {"approximate": "tanh"}
    yield "Mish", opset(), [shape], 1, {}
    yield "BitwiseAnd", opset(), [(shape, TensorProto.INT32), ([shape[-1]], TensorProto.INT32)], 1, {}
    yield "BitwiseNot", opset(), [(shape, TensorProto.INT32)], 1, {}
    yield "CenterCropPad", opset(), [shape, ints(*[size() for _ in axes])], 1, {"axes": turned}
    yield "Col2Im", opset(), [[1, 5 * 4, 4], ints(4, 4), ints(2, 2)], 1, {"strides": [2, 2]}
    yield "GridSample", opset(20), [[2, 3, 4, 5, 6], [2, 7, 8, 9, 3]], 1, {"mode": "linear"}
    yield "AffineGrid", opset(20), [[2, 2, 3], ints(2, 3, size(), size())], 1, {}
    yield "DFT", opset(20), [[2, 9, 4, 1], None, np.array(-2, np.int64)], 1, {}
    heads, keys = random.choice(((4, 4), (4, 2), (6, 1)))
    long, short, past = size(), size(), size()
    yield "Attention", 23, [[2, heads, long, 8], [2, keys, short, 8], [2, keys, short, 5]], 1, {}
    yield ("Attention", 23, [[2, heads, long, 8], [2, keys, short, 8], [2, keys, short, 5], None, [2, keys, past, 8], [2, keys, past, 5]], 3, {})
    yield ("Attention", 23, [[2, long, heads * 8], [2, short, keys * 8], [2, short, keys * 5]], 1,
           {"q_num_heads": heads, "kv_num_heads": keys, "is_causal": 1})
    yield "RotaryEmbedding", 23, [[2, 4, 5, 8], [2, 5, 4], [2, 5, 4]], 1, {}
    yield "ScatterElements", opset(), [[3, 4], ([2, 4], TensorProto.INT64), [2, 4]], 1, {"reduction": "max"}
    yield "IsInf", opset(20), [(shape, TensorProto.FLOAT16)], 1, {}
    yield "Relu", opset(), [(shape, TensorProto.BFLOAT16)], 1, {}
    yield "HardSwish", opset(22), [(shape, TensorProto.BFLOAT16)], 1, {}


def model_of(kind, opset, inputs, outputs, attributes):
    given, known, names = [], [], []
    for i, one in enumerate(inputs):
        names.append("" if one is None else f"x{i}")
        if isinstance(one, np.ndarray):
            known.append(onnx.numpy_helper.from_array(one, names[-1]))
        elif one is not None:
            shape, dtype = one if isinstance(one, tuple) else (one, TensorProto.FLOAT)
            given.append(helper.make_tensor_value_info(names[-1], dtype, shape))
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(kind, names, results, "node", **attributes)
    graph = helper.make_graph([node], "one", given, [onnx.ValueInfoProto(name=name) for name in results], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


@unittest.skipUnless(importlib.util.find_spec("onnx"), "no onnx; python/environment makes an environment that has it")
class NewerSets(unittest.TestCase):
    def imported(self, model):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            path = os.path.join(folder, "one.onnx")
            onnx.save(model, path)
            warnings.simplefilter("ignore")  # ops that are priced by their bytes
            return stowplan.Graph.load(path).to_dict()

    def test_shapes_and_types_are_those_of_onnx(self):
        draw = random.Random(20261123)
        compared = set()
        for _ in range(12):
            for kind, opset, inputs, outputs, attributes in draw_cases(draw):
                with self.subTest(kind=kind, opset=opset, inputs=inputs, attributes=attributes):
                    model = model_of(kind, opset, inputs, outputs, attributes)
                    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
                    expected = []
                    for output in inferred.graph.output:
                        tensor = output.type.tensor_type
                        # onnx gives GroupNormalization none; it keeps that of its input
                        shape = [dim.dim_value for dim in tensor.shape.dim] if tensor.HasField("shape") else inputs[0]
                        expected.append((DTYPES[tensor.elem_type], shape))
                    op = self.imported(model)["ops"][-1]
                    ours = [(output["dtype"], output["shape"]) for output in op["outputs"]]
                    self.assertEqual(ours[:len(expected)], expected)
                    compared.add(kind)
        self.assertGreater(len(compared), 35)

    def test_every_op_of_every_set_is_read_or_refused_with_a_sentence(self):
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain or schema.since_version < 18 or schema.since_version > 23:
                continue
            for rank in (0, 1, 3, 4):
                inputs = [[2] * rank for _ in range(min(schema.max_input, 6))]
                attributes = {name: 1 for name, one in schema.attributes.items() if one.type == onnx.defs.OpSchema.AttrType.INT}
                for given in ({}, attributes):
                    with self.subTest(op=schema.name, rank=rank):
                        try:
                            self.imported(model_of(schema.name, schema.since_version, inputs, max(1, min(schema.max_output, 3)), given))
                        except stowplan.InputError as error:
                            self.assertIn("one.onnx", str(error))


if __name__ == "__main__":
    unittest.main()
