"""stowplan.capture: graphs of PyTorch models. Run by run.py; needs torch, which nothing installs (`build/python-environment/bin/pip install torch`)."""

import collections
import contextlib
import importlib.util
import inspect
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import stowplan

ROOT = pathlib.Path(__file__).resolve().parents[2]
if importlib.util.find_spec("torch"):
    import torch
    from torch import nn
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.checkpoint import checkpoint
    from torch.utils.flop_counter import FlopCounterMode

    from stowplan import _values, capture

    class Block(nn.Module):
        def __init__(self, again=False):
            super().__init__()
            self.norm, self.up, self.down, self.again = nn.LayerNorm(16), nn.Linear(16, 64), nn.Linear(64, 16), again

        def inner(self, x):
            return x + self.down(nn.functional.gelu(self.up(self.norm(x))))

        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=False) if self.again else self.inner(x)

    class Model(nn.Module):
        def __init__(self, again=False):
            super().__init__()
            self.embed = nn.Embedding(100, 16)
            self.blocks = nn.ModuleList([Block(again), Block(again)])
            self.head = nn.Linear(16, 100, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    TOKENS = torch.zeros(2, 8, dtype=torch.int64)

    class Dispatched(TorchDispatchMode):
        """What PyTorch dispatches in a run with data: ops and types of what they give."""

        def __init__(self):
            super().__init__()
            self.ops = collections.Counter()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            given = func(*args, **(kwargs or {}))
            self.ops[func._schema.name.replace("::", "."), tuple(str(one.dtype) for one in _values.tensors_of(given))] += 1
            return given

    class Layers(nn.Module):
        """`run(self, x)` of layers whose ops autocast treats alike on a CPU and on a GPU, and a loss."""

        def __init__(self, run, device):
            super().__init__()
            self.run, self.device = run, device
            self.up, self.norm, self.down, self.conv = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 8), nn.Conv2d(1, 4, 3)

        def cast(self, dtype=torch.bfloat16, **named):
            return torch.autocast(self.device, dtype, **named)

        def forward(self, x):
            return self.run(self, x).float().sum()

    @torch.library.custom_op("stowplan_test::count", mutates_args={"seen"})
    def count(seen: torch.Tensor, x: torch.Tensor) -> None:
        seen += x


def by_name(graph):
    return {op["name"]: op for op in graph.to_dict()["ops"]}


def flops(graph):
    return sum(op.get("flops", 0) for op in graph.to_dict()["ops"])


@unittest.skipUnless(importlib.util.find_spec("torch"), "no torch; build/python-environment/bin/pip install torch")
class Capture(unittest.TestCase):
    def test_names_weights_and_views_are_those_of_the_model(self):
        graph = capture.graph(Model(), (TOKENS,))
        ops = by_name(graph)
        weights = {name: op for name, op in ops.items() if op["type"] == "Variable"}
        model = Model()
        tied = {"head.weight"}
        self.assertEqual(set(weights), set(model.state_dict()) - tied)
        for name, op in weights.items():
            tensor = model.state_dict()[name]
            self.assertEqual((op["outputs"][0]["shape"], op["persistent_bytes"]), (list(tensor.shape), tensor.nbytes))
        self.assertEqual(graph.to_dict()["attributes"]["parameters"], sum(p.numel() for p in model.parameters()))
        product = ops["blocks.1.up/addmm"]
        self.assertEqual((product["type"], product["outputs"][0]["shape"]), ("MatMul", [16, 64]))
        self.assertEqual(product["flops"], 2 * 16 * 16 * 64)
        self.assertEqual(product["inputs"][-1], "blocks.1.up.bias:0", "the bias stands last")
        self.assertEqual((product["attributes"]["module"], product["group"]), ("blocks.1.up", "blocks.1"))
        turned = ops["blocks.1.up/t"]
        self.assertEqual((turned["type"], turned["outputs"][0]["alias"]), ("Reshape", "blocks.1.up.weight:0"))
        self.assertEqual(ops["tokens"]["type"], "Placeholder")
        self.assertNotIn("unknown_ops", graph.to_dict()["attributes"])

    def test_a_training_step_has_the_flops_that_pytorch_counts_and_an_update_for_each_weight(self):
        counter = FlopCounterMode(display=False)
        with counter:
            nn.functional.cross_entropy(Model()(TOKENS).flatten(0, 1), torch.zeros(16, dtype=torch.int64)).backward()
        graph = capture.graph(Model(), (TOKENS,), train=True, optimizer="adam")
        self.assertEqual(flops(graph), counter.get_total_flops())
        ops = by_name(graph)
        weights = {name for name, op in ops.items() if op["type"] == "Variable"}
        self.assertEqual({name for name in ops if name.startswith("updates/")}, {"updates/" + name for name in weights})
        for name in weights:
            self.assertEqual(ops[name]["persistent_bytes"], 3 * ops[name]["outputs"][0]["bytes"])
            self.assertEqual(ops["updates/" + name]["colocate"], name.rpartition(".")[0])
        backward = [op for op in ops.values() if op["phase"] == "backward" and "/blocks.1.up/" in op["name"]]
        self.assertEqual({op["attributes"]["module"] for op in backward}, {"blocks.1.up"})
        self.assertEqual(sum(op.get("flops", 0) for op in backward), 2 * ops["blocks.1.up/addmm"]["flops"])
        self.assertEqual([op["name"] for op in ops.values() if op["phase"] == "backward" and not op["attributes"]["module"]
                          and op["type"] == "MatMul"], [])

    def test_adam_holds_roots_of_all_weights_or_two_tensors_of_one_or_nothing(self):
        one = 4 * 256 * 256
        model = nn.Sequential(*[nn.Linear(256, 256, bias=False) for _ in range(3)])
        device = {"name": "one", "interconnect": "fair", "devices": [{"name": "gpu0", "kind": "a100", "memory": "1GiB"}], "links": []}
        extra = {}
        for optimizer in ("adam", "adam-single", "adam-fused"):
            graph = capture.graph(model, (torch.zeros(1, 256),), train=True, optimizer=optimizer)
            step = stowplan.Problem(graph, device, reserve="0").simulate("single_gpu")
            extra[optimizer] = round((int(step.device_peak_bytes[0]) - 4 * 3 * one) / one)  # beside weights, gradients, two moments
        self.assertEqual(extra, {"adam": 3, "adam-single": 2, "adam-fused": 0})

    def test_what_is_worked_out_again_belongs_to_its_module(self):
        once, again = (capture.graph(Model(again), (TOKENS,), train=True) for again in (False, True))
        products = 2 * (2 * 16 * 16 * 64 * 2)  # of two blocks, forwards; the last product of each is not wanted again
        self.assertGreater(flops(again), flops(once))
        self.assertLessEqual(flops(again) - flops(once), products)
        twice = [op for op in by_name(again).values() if op["phase"] == "backward" and op["name"].startswith("blocks.0.up/")]
        self.assertTrue(twice)

    def test_attention_that_is_worked_out_again_is_what_it_was(self):
        class Attend(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(16, 48)

            def heads(self, x):
                q, k, v = (one.unflatten(-1, (2, 8)).transpose(1, 2) for one in self.inner(x).chunk(3, -1))
                return nn.functional.scaled_dot_product_attention(q, k, v, torch.tensor([[True, False], [True, True]])).transpose(1, 2).flatten(2)

            def forward(self, x):
                return checkpoint(self.heads, checkpoint(self.heads, x, use_reentrant=False), use_reentrant=False)

        for autocast in ("", "bf16"):
            types = capture.graph(Attend(), (torch.zeros(3, 2, 16),), train=True, autocast=autocast).types
            self.assertEqual((types.count("Attention"), types.count("AttentionGrad"), types.count("Softmax")), (4, 2, 0))

    def test_ops_in_place_wait_for_those_that_still_read(self):
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(4))

            def forward(self, x):
                before = self.seen * x
                self.seen.add_(1)
                return before + self.seen

        ops = by_name(capture.graph(Counting(), (torch.zeros(4),)))
        self.assertEqual(ops["add_"]["control"], ["mul"])
        self.assertEqual(ops["add_"]["outputs"][0]["alias"], "seen:0")
        self.assertEqual((ops["add_"]["colocate"], ops["add"]["inputs"]), ("seen", ["mul:0", "add_:0"]))

    def test_ops_that_write_and_return_nothing_are_ops_that_readers_wait_for(self):
        class Counting(nn.Module):
            def __init__(self, write):
                super().__init__()
                self.register_buffer("seen", torch.zeros(4))
                self.write = write

            def forward(self, x):
                before = self.seen * x
                self.write(self.seen, x)
                return before + self.seen

        for name, write in (("count", lambda seen, x: count(seen, x)), ("_foreach_add_", lambda seen, x: torch._foreach_add_([seen], [x]))):
            with self.subTest(name):
                ops = by_name(capture.graph(Counting(write), (torch.zeros(4),)))
                self.assertEqual((ops[name]["inputs"], ops[name].get("outputs", [])), (["seen:0", "x:0"], []))
                self.assertEqual((ops[name]["control"], ops[name]["colocate"]), (["mul"], "seen"))
                self.assertEqual((ops["add"]["inputs"], ops["add"]["control"]), (["mul:0", "seen:0"], [name]))

    def test_what_a_function_gives_is_a_model_its_arguments_and_a_mapping(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gives.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import torch\nx = torch.zeros(2)\n"
                           "def three(): return torch.nn.ReLU(), x, x\n"
                           "def named(): return torch.nn.ReLU(), x, {'y': x}\n"
                           "def alone(): return torch.nn.ReLU(), {'input': x}\n"
                           "def fails(): raise RuntimeError('no driver\\nand more')\n"
                           "def mapping(): return torch.nn.ReLU(), {'input': x}, {'y': x}\n")
            with self.assertRaisesRegex(stowplan.InputError, r"three: .* a Tensor, wanted \(model, args\) or \(model, args, kwargs\)"):
                capture.load(path + ":three")
            with self.assertRaisesRegex(stowplan.RunError, r"fails: .*gives\.py:6: no driver$"):
                capture.load(path + ":fails")
            given = {name: capture.load(f"{path}:{name}")[1:] for name in ("named", "alone", "mapping")}
        self.assertEqual({name: (len(args), list(kwargs)) for name, (args, kwargs) in given.items()},
                         {"named": (1, ["y"]), "alone": (0, ["input"]), "mapping": (1, ["y"])})

    def test_the_loss_is_that_of_the_logits_of_a_mapping(self):
        class Tells(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

            def forward(self, x):
                hidden = self.first(x)
                return {"hidden": hidden, "logits": self.second(hidden)}

        graph = capture.graph(Tells(), (torch.zeros(2, 4),), train=True)
        self.assertIn("updates/second.weight", by_name(graph))
        self.assertNotIn("no_gradient", graph.to_dict()["attributes"])

    def test_weights_that_get_no_gradient_are_named(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            path = os.path.join(folder, "idle.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import torch\nfrom torch import nn\n"
                           "class Model(nn.Module):\n"
                           "    def __init__(self):\n"
                           "        super().__init__()\n"
                           "        self.used, self.idle = nn.Linear(4, 3), nn.Linear(4, 3)\n"
                           "    def forward(self, x): return self.used(x)\n"
                           "def fn(): return Model(), torch.zeros(2, 4)\n")
            out = os.path.join(folder, "graph.json")
            self.assertEqual(capture.main([path + ":fn", "--out", out]), 0)
            self.assertEqual(said.getvalue(), "")
            self.assertEqual(capture.main([path + ":fn", "--train", "--out", out]), 0)
            ops = by_name(stowplan.Graph.load(out))
        self.assertEqual((ops["used.weight"]["persistent_bytes"], ops["idle.weight"]["persistent_bytes"]), (3 * 48, 48), "no slots of adam")
        self.assertEqual(said.getvalue(), "warning: no gradient reaches these weights, which are not updated: idle.weight, idle.bias\n")

    def test_tensors_of_the_cpu_become_shapes_wherever_they_stand(self):
        class Scales(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.scale, self.more = nn.Linear(4, 3), torch.ones(3), [torch.ones(3) * torch.ones(3, requires_grad=True)]

            def forward(self, x):
                return self.linear(x) * self.scale * self.more[0]

        model = Scales()
        ops = by_name(capture.graph(model, (torch.zeros(2, 4, requires_grad=True) * 2,), train=True))
        self.assertEqual(ops["mul"]["inputs"], ["linear/addmm:0", "constant:0"])
        self.assertIn("updates/linear.weight", ops)
        self.assertEqual([tensor.device.type for tensor in (model.scale, model.more[0], model.linear.weight)], ["cpu"] * 3)

    def test_what_pytorch_refuses_is_one_sentence_with_its_module(self):
        class Calls(nn.Module):
            def __init__(self, call):
                super().__init__()
                self.call = call

            def forward(self, x):
                return self.call(x)

        class Outer(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)

        for sentence, inner in (
            (r"aten\.addmm\.default: .*\[2, 4\] X \[5, 3\]\.", nn.Linear(5, 3)),
            (r"aten\.addmm\.default: .*torch.bfloat16 and torch.float32", Calls(lambda x: nn.Linear(4, 4)(x.bfloat16()))),
            (r"[^\n]*conv2d[^\n]*", nn.Conv2d(3, 8, 3)),
            (r"[^\n]*shape '\[7\]' is invalid[^\n]*", Calls(lambda x: x.reshape(7))),
            (r"no such thing", Calls(lambda x: (_ for _ in ()).throw(RuntimeError("no such thing\nand more")))),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(stowplan.RunError, r"^inner: .*capture_test\.py:\d+: " + sentence + "$"):
                capture.graph(Outer(inner), (torch.zeros(2, 4),))
        with self.assertRaisesRegex(stowplan.RunError, r"^the model: aten\.addmm"):  # nothing of it is the user's
            capture.graph(nn.Linear(5, 3), (torch.zeros(2, 4),))

    def test_devices_are_passed_over(self):
        class Moves(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 4, device="cuda")
                self.register_buffer("scale", torch.tensor([1, 2, 3, 4]).cuda())

            def forward(self, x):
                where = torch.device("cuda", 1)
                self.linear.to(where)
                x = self.linear(x.cuda().to(0)) * self.scale.to("cuda", torch.float32) + torch.zeros(4, device=where)
                with torch.device("cuda"):
                    x = x + torch.ones(4)
                return x.to(device="cuda") if torch.arange(3, device="cuda:0").sum() == 3 and self.scale.cpu().max() == 4 else x * x * x

        class Stays(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 4)
                self.register_buffer("scale", torch.tensor([1, 2, 3, 4]))

            def forward(self, x):
                x = self.linear(x) * self.scale.to(torch.float32) + torch.zeros(4) + torch.ones(4)
                return x if torch.arange(3).sum() == 3 and self.scale.cpu().max() == 4 else x * x * x

        moved, stayed = (capture.graph(*capture.given_by(given, "fn")) for given in (
            lambda: (Moves().cuda(), torch.zeros(2, 4, device="cuda")), lambda: (Stays(), torch.zeros(2, 4))))
        self.assertEqual(moved.to_dict()["ops"], stayed.to_dict()["ops"])
        if not torch.cuda.is_available():
            with self.assertRaisesRegex(stowplan.RunError, r"^fn: .*capture_test\.py:\d+: [^\n]+$"):
                capture.given_by(lambda: torch.cuda.current_device(), "fn")

    def test_convolutions_say_their_window(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                              nn.Flatten(), nn.Linear(8, 5))
        graph = capture.graph(model, (torch.zeros(2, 3, 32, 32),), train=True, optimizer="momentum")
        ops = by_name(graph)
        self.assertEqual(ops["0/convolution"]["flops"], 2 * 2 * 8 * 16 * 16 * 3 * 9)
        self.assertEqual({key: ops["0/convolution"]["attributes"][key] for key in ("kernel", "strides", "padding", "data_format")},
                         {"kernel": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1], "data_format": "NCHW"})
        self.assertEqual(ops["0.weight"]["persistent_bytes"], 2 * 4 * 8 * 3 * 9)
        self.assertEqual(ops["1.running_mean"]["persistent_bytes"], 4 * 8, "a buffer has no slots")
        self.assertIn("FusedBatchNormGrad", graph.types)

    def test_a_convolutions_backward_is_one_op_with_the_gradients_that_are_asked_for(self):
        for make, size in ((lambda **of: nn.Conv1d(4, 6, 3, **of), (8,)), (lambda **of: nn.Conv2d(4, 6, 3, **of), (8, 8)),
                           (lambda **of: nn.Conv3d(4, 6, 3, **of), (4, 4, 4)), (lambda **of: nn.Conv2d(4, 4, 3, groups=4, **of), (8, 8)),
                           (lambda **of: nn.Conv2d(4, 8, 3, groups=2, stride=2, dilation=2, **of), (9, 9)),
                           (lambda **of: nn.ConvTranspose2d(4, 6, 3, groups=2, stride=2, **of), (5, 5))):
            for image_too in (False, True):
                for bias in (False, True):
                    module, image = make(bias=bias), torch.zeros(2, 4, *size, requires_grad=image_too)
                    with self.subTest(module=module, image_too=image_too):
                        ops = by_name(capture.graph(module, (image,), train=True))
                        forward = next(op for op in ops.values() if op["attributes"].get("torch_op") == "aten.convolution")
                        backward = next(op for op in ops.values() if op["attributes"].get("torch_op") == "aten.convolution_backward")
                        self.assertEqual(backward["type"], "ConvBackward")
                        attributes = backward["attributes"]
                        self.assertEqual(attributes["output_mask"], [image_too, True, bias])
                        self.assertEqual(attributes.get("transposed", False), isinstance(module, nn.ConvTranspose2d))
                        self.assertEqual({key: attributes.get(key) for key in ("kernel", "strides", "padding", "groups", "dilations")},
                                         {key: forward["attributes"].get(key) for key in ("kernel", "strides", "padding", "groups", "dilations")})
                        given = [image.shape] * image_too + [module.weight.shape] + [torch.Size([module.out_channels])] * bias
                        self.assertEqual([output["shape"] for output in backward["outputs"]], [list(shape) for shape in given])
                        self.assertEqual(len(backward["inputs"]), 3)
                        self.assertEqual(backward["flops"], (1 + image_too) * forward["flops"])

    def test_backward_is_as_many_products_as_there_are_gradients(self):
        class Calls(nn.Module):
            def __init__(self, call):
                super().__init__()
                self.call, self.factor = call, nn.Parameter(torch.ones(()))

            def forward(self, *given):
                return self.call(*[one * self.factor for one in given])

        heads = [torch.zeros(2, 4, 6, 8), torch.zeros(2, 4, 7, 8), torch.zeros(2, 4, 7, 8)]
        for name, call, given, times in (
            ("matmul", torch.matmul, [torch.zeros(3, 4, 5), torch.zeros(3, 5, 6)], 2),
            ("einsum", lambda x, y: torch.einsum("bik,bkj->bij", x, y), [torch.zeros(3, 4, 5), torch.zeros(3, 5, 6)], 2),
            ("matrix and vector", torch.mv, [torch.zeros(4, 5), torch.zeros(5)], 0),  # of a vector: a product by elements
            ("nothing in it", torch.matmul, [torch.zeros(0, 5), torch.zeros(5, 6)], 0),
            ("groups", lambda x, y: nn.functional.conv2d(x, y, groups=3), [torch.zeros(2, 6, 8, 8), torch.zeros(9, 2, 3, 3)], 2),
            ("attention", nn.functional.scaled_dot_product_attention, heads, 2.5),
            ("narrow values", nn.functional.scaled_dot_product_attention, [*heads[:2], torch.zeros(2, 4, 7, 4)], (3 * 8 + 2 * 4) / (8 + 4)),
        ):
            with self.subTest(name):
                ops = capture.graph(Calls(call), given, train=True).to_dict()["ops"]
                forward, backward = (sum(op.get("flops", 0) for op in ops if op["phase"] == phase) for phase in ("forward", "backward"))
                self.assertEqual(backward, times * forward if times else backward)
                self.assertEqual(forward > 0, name != "nothing in it")

    def test_experts_have_the_flops_of_their_rows(self):
        class Experts(nn.Module):
            def __init__(self, dtype):
                super().__init__()
                self.up = nn.Parameter(torch.zeros(8, 256, 512, dtype=dtype))

            def forward(self, rows, ends):
                return torch._grouped_mm(rows, self.up, offs=ends)

        if not hasattr(torch, "_grouped_mm"):
            self.skipTest("torch without _grouped_mm")
        for dtype in (torch.float32, torch.bfloat16):
            rows = torch.zeros(1024, 256, dtype=dtype, requires_grad=True)
            ops = capture.graph(Experts(dtype), (rows, torch.zeros(8, dtype=torch.int32)), train=True).to_dict()["ops"]
            products = [op for op in ops if op["type"] == "GroupedMatMul"]
            self.assertEqual([op["flops"] for op in products], [2 * 1024 * 256 * 512] * 3)
            self.assertEqual(sorted(op["outputs"][0]["shape"] for op in products), [[8, 256, 512], [1024, 256], [1024, 512]])

    def test_bags_read_their_indices_second(self):
        ops = by_name(capture.graph(nn.EmbeddingBag(1000, 16, mode="sum"), (torch.zeros(12, dtype=torch.int64), torch.tensor([0, 3, 6, 9]))))
        bag = next(op for op in ops.values() if op["type"] == "EmbeddingBag")
        indices = ops[bag["inputs"][1].rpartition(":")[0] or bag["inputs"][1]]
        self.assertEqual((indices["outputs"][0]["shape"], bag["outputs"][0]["shape"]), ([12], [4, 16]))

    def test_values_that_go_by_constants_buffers_and_whole_numbers_are_known(self):
        class Calls(nn.Module):
            def __init__(self, call):
                super().__init__()
                self.call, self.linear = call, nn.Linear(4, 4)
                self.register_buffer("steps", torch.tensor(3))
                self.scale = torch.linspace(0, 1, 3)

            def forward(self, x, mask=None):
                return self.linear(x) if self.call(self, x, mask) else x

        def fill_first(held):
            held[:, 0].fill_(7)
            return held

        mask, x = torch.ones(2, 3, dtype=torch.int64), torch.zeros(2, 4)
        mask[1, 2] = 0
        for name, decides, call in (
            ("a constant", [], lambda *_: torch.ones(3).sum().item() == 3),
            ("a buffer", [], lambda self, *_: self.steps.add_(1) == 4),
            ("an attribute", [], lambda self, *_: self.scale.tolist() == [0, 0.5, 1]),
            ("python's numbers", [], lambda _, x, __: x.new_tensor([[1, 2], [3, 4]]).sum() == 10 and torch.tensor([5, 6]).max() == 6),
            ("a mask", ["mask"], lambda _, __, mask: not mask.all() and mask.sum(1).tolist() == [3, 2]),
            ("a shape", ["mask"], lambda _, __, mask: mask.nonzero().shape == (5, 2) and torch.zeros(2, 3, 4)[mask.bool()].shape == (5, 4)),
            ("a shape of what is not known", ["mask"], lambda _, x, mask: torch.masked_select(x[:, :3], mask.bool()).shape == (5,)),
            ("written in part", ["mask"], lambda _, __, mask: fill_first(mask.clone()).tolist() == [[7, 1, 1], [7, 1, 0]]),
            ("a copy on the host", ["mask"], lambda _, __, mask: mask.cpu().numpy().tolist() == [[1, 1, 1], [1, 1, 0]]),
            ("as text", [], lambda self, *_: f"{self.steps}" == "3"),
            ("a draw below one half", [], lambda *_: not torch.rand([]) < 0.1),
            ("an order drawn at random", [], lambda *_: torch.randperm(4).tolist() == [0, 1, 2, 3] and torch.multinomial(torch.rand(5), 3).max() == 2),
            ("finite activations", [], lambda self, x, _: torch.isfinite(self.linear(x)).all() and not torch.isnan(x).any()),
        ):
            with self.subTest(name):
                graph = capture.graph(Calls(call), (x, mask))
                self.assertIn("MatMul", graph.types)
                self.assertEqual(list(graph.to_dict()["attributes"].get("decided_by", {})), decides)

    def test_a_mask_without_values_hides_nothing_and_is_named(self):
        class Masked(nn.Module):
            def forward(self, x, mask):
                return x if mask.all() else x + x

        graph = capture.graph(Masked(), (torch.zeros(2), torch.ones(2, dtype=torch.bool, device="meta")))
        self.assertNotIn("Add", graph.types)
        self.assertRegex(graph.to_dict()["attributes"]["decided_by"]["mask"], r"^taken as ones, .*capture_test\.py:[0-9]+$")

    def test_what_is_known_is_kept_within_a_bound(self):
        class Many(nn.Module):
            def __init__(self, late):
                super().__init__()
                self.late = late

            def forward(self, x, mask):
                first = torch.arange(1000)
                for _ in range(40):
                    last = torch.arange(1000)
                    if not mask.all():  # what is read stays
                        return x + x
                return x if (first if self.late else last).sum() == 499500 else x + x

        given = torch.zeros(2), torch.ones(4, dtype=torch.bool)
        with unittest.mock.patch.object(_values, "MOST_TOGETHER", 100_000):
            self.assertNotIn("Add", capture.graph(Many(False), given).types)
            with self.assertRaisesRegex(stowplan.InputError, "reads the value"):
                capture.graph(Many(True), given)
        self.assertNotIn("Add", capture.graph(Many(True), given).types)

    def test_a_mask_that_repeats_a_row_is_known(self):
        class Masked(nn.Module):
            def forward(self, x, mask):
                return x if mask.tolist() == [[True, False]] * 3 else x + x

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import torch\ndef fn(): return torch.nn.ReLU(), torch.tensor([True, False]).expand(3, 2)\n")
            under_meta = capture.load(path + ":fn")[1][0]
        for mask in (torch.tensor([True, False]).expand(3, 2), under_meta):
            self.assertNotIn("Add", capture.graph(Masked(), (torch.zeros(2), mask)).types)

    def test_experts_that_are_looped_over_are_chosen_evenly_and_that_is_named(self):
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate, self.experts = nn.Linear(16, 4), nn.ModuleList(nn.Linear(16, 16) for _ in range(4))

            def forward(self, x):
                weights, chosen = torch.topk(self.gate(x).softmax(-1), 2, dim=-1)
                result = torch.zeros_like(x)
                for expert in nn.functional.one_hot(chosen, 4).sum((0, 1)).nonzero()[:, 0]:
                    row, place = torch.where(chosen == expert)
                    result.index_add_(0, row, self.experts[expert](x[row]) * weights[row, place, None])
                return result

        graph = capture.graph(Experts(), (torch.zeros(32, 16),), train=True)
        self.assertEqual([op["outputs"][0]["shape"] for name, op in by_name(graph).items() if name.startswith("experts") and op["type"] == "MatMul"],
                         [[16, 16]] * 4)
        self.assertIn("choices among scores", graph.to_dict()["attributes"]["decided_by"])

    def test_autocast_casts_as_pytorch_does_and_keeps_weights_wide(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.norm, self.linear = nn.Conv2d(3, 4, 3), nn.LayerNorm(6), nn.Linear(6, 5)

            def forward(self, x):
                x = self.norm(self.conv(x).relu())
                return self.linear(x) @ self.linear(x + x.mean()).mT

        class Same(nn.Module):  # ops that autocast of a CPU treats as that of a GPU does
            def __init__(self):
                super().__init__()
                self.conv, self.linear = nn.Conv2d(3, 4, 3), nn.Linear(6, 5)

            def forward(self, x):
                x = self.conv(x)
                seen = [x, x.relu(), self.linear(x), self.linear(x.float()) + 1.0, torch.cat([x, x.float()]), nn.functional.mse_loss(x, x), x.float() @ x.mT]
                return tuple(seen)

        for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
            ops = by_name(capture.graph(Net(), (torch.zeros(2, 3, 8, 8),), train=True, autocast=name))
            self.assertEqual({op["persistent_bytes"] / op["outputs"][0]["bytes"] for op in ops.values() if op["type"] == "Variable"}, {3})
            self.assertEqual({op["outputs"][0]["dtype"] for op in ops.values() if op["type"] == "Variable"}, {"f32"})
            products = {"MatMul", "BatchMatMul", "Conv2D", "ConvBackward"}
            self.assertEqual({op["outputs"][0]["dtype"] for op in ops.values() if op["type"] in products}, {name})
            self.assertEqual({op["outputs"][0]["dtype"] for op in ops.values() if op["type"] in ("LayerNorm", "LayerNormGrad")}, {"f32"})
            casts = [op for op in ops.values() if op["attributes"].get("torch_op") == "aten._to_copy" and op["inputs"] == ["linear.weight:0"]]
            self.assertEqual(len(casts), 1, "a weight is cast once a step")
            updates = [op for op in ops.values() if op["type"] == "ApplyAdam"]
            self.assertEqual({ops[op["inputs"][1].rpartition(":")[0]]["outputs"][0]["dtype"] for op in updates}, {"f32"})
            model, x = Same(), torch.zeros(2, 3, 8, 8)
            with torch.autocast("cpu", dtype):
                wanted = [str(one.dtype) for one in model(x)]
            types = []

            class Told(nn.Module):
                def __init__(self, inner):
                    super().__init__()
                    self.inner = inner

                def forward(self, x):
                    types.extend(str(one.dtype) for one in self.inner(x))
                    return x

            said = capture.graph(Told(model), (x,), autocast=name)
            with torch.autocast("cpu", dtype):
                around = capture.graph(Told(model), (x,))
            self.assertEqual(types, wanted * 2)
            self.assertEqual(said.to_dict()["ops"], around.to_dict()["ops"])

    def test_autocast_within_a_model_is_pytorchs(self):
        def hidden(self, x):
            return self.down(nn.functional.gelu(self.norm(self.up(x).float())))

        def twice(self, x):  # weights are cast once a context
            with self.cast():
                x = hidden(self, hidden(self, x))
            with self.cast():
                x = hidden(self, x)
            return hidden(self, x.float())

        def nested(self, x):
            with self.cast():
                y = self.up(x)
                with torch.autocast(x.device.type, enabled=False):
                    wide = self.norm(y.float()) @ self.up.weight
                    with torch.autocast(x.device.type):
                        narrow = self.up(wide)
                return self.down(y) + wide + self.down(narrow)

        def again(reentrant):
            def part(self, x):
                with torch.autocast(x.device.type, enabled=False):
                    wide = hidden(self, x.float())
                return self.down(self.up(wide)) + x

            def run(self, x):
                x = x @ self.down(self.up(x)).mT @ x
                with self.cast():
                    for _ in range(2):
                        x = checkpoint(part, self, x, use_reentrant=reentrant)
                return self.up(x.float())

            return run

        def image(self, x):
            with self.cast():
                return self.up(self.conv(x.unflatten(0, (1, 1, 4))).relu().flatten()[:8])

        def attend(self, x):
            with self.cast():
                q, k, v = self.up(x), self.up(x + 1), self.up(x * 2)
                return self.down((q @ k.mT).float().softmax(-1) @ v)

        def decorated(self, x):
            wide = torch.autocast(self.device, enabled=False)(hidden)
            return self.cast()(lambda x: hidden(self, x) + wide(self, x))(x)

        def without_cache(self, x):
            with self.cast(cache_enabled=False):
                x = hidden(self, hidden(self, x))
            with self.cast(torch.float16), torch.no_grad():
                kept = hidden(self, x)
            return kept + x

        def product(device, cast_inputs):
            class Product(torch.autograd.Function):
                @staticmethod
                @torch.amp.custom_fwd(device_type=device, cast_inputs=cast_inputs)
                def forward(context, x, y):
                    context.save_for_backward(x, y)
                    return x @ y

                @staticmethod
                @torch.amp.custom_bwd(device_type=device)
                def backward(context, given):
                    x, y = context.saved_tensors
                    return given @ y.mT, x.mT @ given

            return Product.apply

        def custom(self, x):
            wide, as_it_is = product(self.device, torch.float32), product(self.device, None)
            with self.cast():
                return wide(as_it_is(self.up(x), self.up.weight), self.down.weight)

        compared = {"aten." + name for name in (
            "mm addmm bmm convolution convolution_backward native_layer_norm native_layer_norm_backward gelu gelu_backward _softmax _to_copy add add_ mul "
            "sum _softmax_backward_data").split()}
        types = {"f32": "torch.float32", "bf16": "torch.bfloat16", "f16": "torch.float16"}
        for run in (twice, nested, again(False), again(True), image, attend, decorated, without_cache, custom):
            for outer, around in (("", contextlib.nullcontext), ("bf16", lambda: torch.autocast("cpu", torch.bfloat16))):
                with Dispatched() as wanted:
                    with around():
                        loss = Layers(run, "cpu")(torch.zeros(4, 8, requires_grad=True))
                    loss.backward()
                for device in ("cpu", "cuda"):
                    with self.subTest(run=run, outer=outer, device=device), around() if device == "cpu" else contextlib.nullcontext():
                        graph = capture.graph(Layers(run, device), (torch.zeros(4, 8, requires_grad=True),), train=True,
                                              autocast=outer if device == "cuda" else "")
                        found = collections.Counter((op["attributes"].get("torch_op"), tuple(types.get(one.get("dtype")) for one in op.get("outputs", [])))
                                                    for op in graph.to_dict()["ops"])
                        self.assertEqual(*({key: count for key, count in ops.items() if key[0] in compared} for ops in (found, wanted.ops)))
        self.assertEqual((torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cuda")),
                         (False, False, torch.float16), "left as it was")

    def test_autocast_of_an_exported_program_and_of_a_decorator_made_without_a_gpu(self):
        text = ("import torch\nfrom torch import nn\n"
                "class Model(nn.Module):\n"
                "    def __init__(self):\n"
                "        super().__init__()\n"
                "        self.linear = nn.Linear(8, 8)\n"
                "    @torch.autocast('cuda', torch.bfloat16)\n"
                "    def forward(self, x): return self.linear(self.linear(x).float())\n"
                "def plain(): return Model(), torch.zeros(4, 8)\n"
                "def exported(): return torch.export.export(Model(), (torch.zeros(4, 8),))\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            for name in ("plain", "exported"):
                ops = capture.graph(*capture.load(f"{path}:{name}")).to_dict()["ops"]
                self.assertEqual([op["outputs"][0]["dtype"] for op in ops if op["type"] == "MatMul"], ["bf16"] * 2)

    def test_attention_is_one_op_or_its_parts(self):
        class Attend(nn.Module):
            def forward(self, q, k):
                return nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True)

        q, k = torch.zeros(2, 8, 32, 16), torch.zeros(2, 4, 32, 16)
        fused, parts = (capture.graph(Attend(), (q, k), attention=attention) for attention in ("fused", "math"))
        self.assertEqual(fused.types.count("Attention"), 1)
        self.assertTrue(next(op for op in fused.to_dict()["ops"] if op["type"] == "Attention")["attributes"]["causal"])
        self.assertEqual((parts.types.count("BatchMatMul"), parts.types.count("Softmax")), (2, 1))
        self.assertEqual(flops(fused), flops(parts))
        self.assertEqual(max(output["bytes"] for op in parts.to_dict()["ops"] for output in op["outputs"]), 4 * 2 * 8 * 32 * 32, "scores")

    def test_heads_that_queries_share_get_gradients_of_their_own_size(self):
        class Attend(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.kv = nn.Linear(16, 64), nn.Linear(16, 32)

            def forward(self, x):
                q, kv = (made.unflatten(-1, (-1, 8)).transpose(1, 2) for made in (self.q(x), self.kv(x)))
                k, v = kv.chunk(2, 1)
                return nn.functional.scaled_dot_product_attention(q, k, v, torch.ones(6, 6, dtype=torch.bool).tril(), enable_gqa=True)

        ops = capture.graph(Attend(), (torch.zeros(2, 6, 16),), train=True).to_dict()["ops"]
        backward = next(op for op in ops if op["type"] == "AttentionGrad")
        self.assertEqual([output["shape"] for output in backward["outputs"]], [[2, 8, 6, 8], [2, 2, 6, 8], [2, 2, 6, 8]])

    def test_an_exported_program_is_the_same(self):
        direct = capture.graph(Model(), (TOKENS,))
        program = torch.export.export(Model(), (TOKENS,))
        exported = capture.graph(program)
        self.assertEqual(flops(exported), flops(direct))
        modules = {op["attributes"]["module"] for op in exported.to_dict()["ops"] if op["type"] == "MatMul"}
        self.assertEqual(modules, {"blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down", "head"})

    @unittest.skipUnless(importlib.util.find_spec("torch") and torch.distributed.is_available(), "torch without torch.distributed")
    def test_collectives_of_one_rank_join_the_graphs_of_all(self):
        from torch.distributed import _functional_collectives as collectives
        from torch.testing._internal.distributed.fake_pg import FakeStore

        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.Linear(32, 16, bias=False)

            def forward(self, x):
                whole = collectives.all_reduce(self.down(x), "sum", torch.distributed.group.WORLD)
                rows = collectives.all_gather_tensor(whole, 0, torch.distributed.group.WORLD)
                turned = collectives.all_to_all_single(rows + 1, None, None, torch.distributed.group.WORLD)
                given = collectives.broadcast(turned, 2, torch.distributed.group.WORLD)
                return collectives.reduce_scatter_tensor(given + 1, "sum", 0, torch.distributed.group.WORLD)

        torch.distributed.init_process_group("fake", rank=0, world_size=3, store=FakeStore())
        self.addCleanup(torch.distributed.destroy_process_group)
        x = torch.zeros(6, 32)
        for model in (Part(), torch.export.export(Part(), (x,))):
            graph = capture.graph(model, (x,))
            ops = by_name(graph)
            self.assertEqual(flops(graph), 3 * 2 * 6 * 32 * 16)
            self.assertEqual([ops[f"rank{rank}/down.weight"]["persistent_bytes"] for rank in range(3)], [32 * 16 * 4] * 3)
            members = [op for op in ops.values() if "collective" in op]
            self.assertEqual(len(members), 5 * 3)
            self.assertEqual(len({op["collective"] for op in members}), 5)
            self.assertEqual([ops[f"rank{rank}/broadcast"]["attributes"]["root"] for rank in range(3)], [2] * 3)
            self.assertEqual({op["colocate"] for op in ops.values()}, {"rank0", "rank1", "rank2"})
            self.assertNotIn("unknown_ops", graph.to_dict()["attributes"])

    @unittest.skipUnless(importlib.util.find_spec("torch") and torch.distributed.is_available(), "torch without torch.distributed")
    def test_unequal_parts_of_one_rank_tell_nothing_of_the_others(self):
        from torch.distributed import _functional_collectives as collectives
        from torch.testing._internal.distributed.fake_pg import FakeStore

        class Part(nn.Module):
            def forward(self, x):
                return collectives.all_to_all_single(x, [1, 5], [4, 2], torch.distributed.group.WORLD)

        torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
        self.addCleanup(torch.distributed.destroy_process_group)
        self.assertIn("all_to_all_single", str(capture.graph(Part(), (torch.zeros(6, 32),)).to_dict()["attributes"]["unknown_ops"]))

    def test_the_graph_is_placed_and_simulated(self):
        graph = capture.graph(Model(), (TOKENS,), train=True)
        problem = stowplan.Problem(graph, "k80(gpus=2)", devices="gpu")
        self.assertGreater(problem.simulate(problem.placement("single_gpu")).runtime_us, 0)

    def test_what_cannot_be_captured_is_one_sentence(self):
        class Asks(nn.Module):
            def forward(self, x):
                return x if x.sum().item() > 0 else -x

        line = inspect.getsourcelines(Asks.forward)[1] + 1
        for sentence, call in (
            (r"^the model: .*capture_test\.py:%d reads the value of a tensor" % line, lambda: capture.graph(Asks(), (torch.zeros(3),))),
            ("autocast: 'f8', wanted one of bf16, f16", lambda: capture.graph(nn.ReLU(), autocast="f8")),
            ("no output of the model is of floating numbers", lambda: capture.graph(nn.ReLU(), (torch.zeros(3),), train=True)),
            ("wanted a torch.nn.Module", lambda: capture.graph("resnet")),
            ("optimizer: 'lion', wanted one of sgd, momentum, adam, adam-fused, adam-single", lambda: capture.graph(nn.ReLU(), optimizer="lion")),
            ("wanted FILE.py:FUNCTION", lambda: capture.load("model.py")),
            ("there is no such file", lambda: capture.load("/nowhere/model.py:fn")),
            ("has no function absent; it has .*seven, small", lambda: capture.load(f"{ROOT}/python/examples/transformer.py:absent")),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(stowplan.InputError, sentence):
                call()

    def test_the_command_writes_a_file_or_says_why_not(self):
        model = f"{ROOT}/python/examples/transformer.py:small"
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            path = os.path.join(folder, "graph.json")
            self.assertEqual(capture.main([model, "--train", "--dtype", "bf16", "--out", path]), 0)
            with open(path, encoding="utf-8") as file:
                graph = json.load(file)
        self.assertEqual((graph["name"], graph["attributes"]["parameters"]), ("small", 44_569_088))
        self.assertIn("44,569,088 weights", said.getvalue())
        self.assertEqual({op["outputs"][0]["dtype"] for op in graph["ops"] if op["name"].endswith("weight") and op["type"] == "Variable"}, {"bf16"})
        told = subprocess.run([sys.executable, "-m", "stowplan.capture", "/nowhere/model.py:fn"], capture_output=True, text=True, check=False)
        self.assertEqual((told.returncode, told.stderr), (2, "stowplan.capture: /nowhere/model.py: there is no such file.\n"))


if __name__ == "__main__":
    unittest.main()
