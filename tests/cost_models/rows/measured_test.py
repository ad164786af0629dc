#!/usr/bin/env python3
"""What the table of measured rows computes, on made-up rows and through the program.

    measured_test.py SOURCE_FOLDER STOWPLAN
"""
import csv
import gzip
import json
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, STOWPLAN = Path(sys.argv[1]), sys.argv[2]
del sys.argv[1:3]
sys.path.insert(0, str(SOURCE))
from cost_models.rows.measured import layouts, llama_cpp, llm_foundry, report, scores, tensorflow_2017, timm_models, traced  # noqa: E402
from cost_models.rows.measured.__main__ import taught  # noqa: E402
from cost_models.rows.measured.captures import Captures  # noqa: E402
from cost_models.rows.measured.case import Case, Prediction  # noqa: E402
from cost_models.rows.measured.decoder import Sizes, forward_flops, weights  # noqa: E402
from cost_models.rows.measured.simulation import Simulator  # noqa: E402


def prediction(source, gpu, name, us, ratio, **others):
    return Prediction(Case(source, gpu, "f16", "family", name, us, **others), ratio, 2 * ratio, 1)


class Scores(unittest.TestCase):
    def test_errors_have_no_sign_and_the_bias_has(self):
        median, high, bias = scores.errors([0.8, 0.9, 1.3])
        self.assertAlmostEqual(median, 0.2)
        self.assertAlmostEqual(high, 0.28)
        self.assertAlmostEqual(bias, -0.1)

    def test_tau_counts_pairs_in_order_less_pairs_out_of_it(self):
        self.assertEqual(scores.tau([1, 2, 3], [10, 20, 30]), 1)
        self.assertEqual(scores.tau([1, 2, 3], [30, 20, 10]), -1)
        self.assertAlmostEqual(scores.tau([1, 2, 3], [10, 30, 20]), 1 / 3)
        self.assertEqual(scores.tau([1, 2], [5, 5]), 0)  # no order is told
        self.assertIsNone(scores.tau([1, 1], [5, 6]))  # and none was measured

    def test_tau_of_close_pairs_leaves_out_those_apart(self):
        measured, predicted = [1, 1.5, 9], [2, 1, 9]
        self.assertAlmostEqual(scores.tau(measured, predicted), 1 / 3)
        self.assertEqual(scores.tau(measured, predicted, 2), -1)

    def test_speeds_are_compared_for_one_work_on_two_gpus(self):
        rows = [prediction("s", "b", "net", 1, 0.5), prediction("s", "a", "net", 1, 1.0), prediction("s", "b", "other", 1, 1), prediction("t", "a", "net", 1, 1)]
        self.assertEqual(scores.speed_ratios(rows), {("s", "a", "b"): [2.0]})


class Rows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = Path(folder.name)
        (self.data / "measured").mkdir()

    def write(self, name, text):
        (self.data / "measured" / name).write_text(text)

    def test_weights_are_those_that_are_published(self):
        self.assertEqual(weights(llama_cpp.MODELS["8B"]), 8_030_261_248)
        self.assertEqual(weights(llama_cpp.MODELS["70B"]), 70_553_706_496)
        self.assertEqual(weights(traced.QWEN_3_8B), 8_190_735_360)
        self.assertEqual(weights(Sizes(12, 768, 12, 50257, gated=False, positions=1024, tied=True)), 124_439_808)  # GPT-2
        for model, billions in {"125m": 0.125, "1b": 1.3, "7b": 6.7, "13b": 13, "30b": 30, "70b": 64}.items():
            self.assertAlmostEqual(weights(llm_foundry.sizes(model, 2048)) / 1e9 / billions, 1, delta=0.05, msg=model)

    def test_flops_are_twice_the_weights_and_what_attention_adds(self):
        sizes = Sizes(2, 8, 2, 100, feed_forward=16, kv_heads=1)
        layer = 8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 16
        self.assertEqual(forward_flops(sizes, 3, 5), 2 * 3 * (2 * layer + 8 * 100) + 2 * 3 * 2 * 2 * 5 * 8)

    def test_rows_of_llm_foundry_are_those_with_the_fewest_gpus_of_one_host(self):
        self.write("llm_foundry.csv", "gpu,model,seq,gpus,micro,checkpointing,measured_tok_s_gpu\n"
                   "h100_80gb,7b,2048,512,6,0,9670\nh100_80gb,7b,2048,8,6,0,12288\nh100_80gb,70b,2048,512,8,1,1007\na100_80gb,7b,2048,8,6,1,4096\n")
        cases = list(llm_foundry.cases(self.data))
        self.assertEqual([case.left_out for case in cases], ["a row with fewer GPUs is there", "", "sends between hosts", ""])
        self.assertEqual([case.gpu for case in cases], ["h100", "h100", "h100", "a100"])
        self.assertAlmostEqual(cases[1].measured_us, 1e6)
        self.assertTrue(all(case.note == "without communication" for case in cases))

    def test_a_step_of_llama_cpp_is_a_prompt_or_a_token(self):
        self.write("llama_cpp.csv", "gpu,count,model,what,measured_tok_s\nrtx3090,1,8B,tg,50\nrtx3090,1,8B,pp,4096\nrtx3090,1,70B,tg,\na100,1,8B,pp,600\n")
        token, prompt, suspect = llama_cpp.cases(self.data)
        self.assertAlmostEqual(token.measured_us, 20e3)
        self.assertAlmostEqual(prompt.measured_us, 250e3)
        self.assertEqual((token.left_out, prompt.left_out, suspect.left_out), ("", "", llama_cpp.SUSPECT))

    def test_steps_of_several_gpus_that_talk_are_in_no_error(self):
        self.write("tensorflow_2017.csv", "machine,model,gpus,published_img_s\nK80,vgg16,1,32\nK80,vgg16,2,64\n")
        one, two = tensorflow_2017.cases(self.data)
        self.assertEqual((one.left_out, two.left_out), ("", "needs communication"))
        self.assertAlmostEqual(one.measured_us, two.measured_us)

    def test_rows_of_many_gpus_say_their_layout(self):
        self.write("simumax_b200.csv", "case,real_ms,real_alloc_gib\nllama3_70b_l12_tp4_pp1_dp2_mbc4_cef,409.8,39.07\n"
                   "deepseekv2_tp1_ep8_pp1_dp8_l4_mbc4_cef,366.6,45.63\nllama3_70b_l12_tp2_cp4_pp1_dp1_seq131072_mbc4_cef,11315.7,112.67\n")
        self.write("torchtitan_h100.csv", "model,gpus,fsdp,tp,pp,cp,schedule,local_batch,global_batch,seq,checkpointing,techniques,measured_tok_s_gpu,peak_gib\n"
                   "llama3.1-8b,8,8,1,1,1,,2,16,8192,selective,eager bf16,5762,82.4\n")
        self.write("megatron_a100_2021.csv", "model,heads,hidden,layers,tp,pp,gpus,global_batch,measured_tflops_gpu\n7.5B,32,4096,36,4,1,128,512,142\n"
                   "145.6B,96,12288,80,8,8,1536,2304,148\n")
        self.write("llm_foundry.csv", "gpu,model,seq,gpus,micro,checkpointing,measured_tok_s_gpu\nh100_80gb,7b,2048,512,6,0,9670.0\n")
        self.write("sailor.csv", "file,gpus,pp,dp,tp,mbs,gbs,real_s,max_mem\nm/N2.json,RTX-3090:2;Titan-RTX:2,2,1,[2],2,256,119.8,4130340864\n")
        dense, experts, context, titan, megatron, virtual, foundry, mixed = layouts.cases(self.data)
        self.assertEqual(dense.layout, "tensor=4,pipeline=1,data=2,micro_batches=4,zero=1,sequence=yes,batch=each")
        self.assertEqual((dense.hosts, dense.measured_us, dense.units, dense.measured_gib), ((8, 8), 409.8e3, 4096 * 8, 39.07))
        self.assertEqual([case.left_out for case in (experts, context, virtual, mixed)], ["experts", "context parallel", "interleaved stages", "mixed GPUs"])
        self.assertAlmostEqual(titan.measured_us, 2 * 8192 / 5762 * 1e6)
        self.assertEqual(megatron.layout, "tensor=4,pipeline=1,data=32,micro_batches=1,recompute=full,batch=each")
        # 7.5 x 10^9 weights, each in 8 FLOP a token: with the paper's formula a step of 512 x 2048 tokens takes 3.6 s.
        self.assertAlmostEqual(megatron.measured_us / 1e6, 8 * 7.5e9 * 512 * 2048 / 128 / 142e12, delta=0.3)
        self.assertEqual((foundry.layout, foundry.hosts), ("data=512,zero=3,recompute=none,batch=each", (512, 8)))

    def test_a_sample_has_every_family_and_is_the_same_again(self):
        rows = [{"model": f"{family}{i}"} for family, count in (("a", 60), ("b", 39), ("c", 1)) for i in range(count)]
        chosen = timm_models.sample(rows, lambda model: model[0], 10)
        self.assertEqual([row["model"][0] for row in chosen], ["a"] * 6 + ["b"] * 4 + ["c"])
        self.assertEqual(chosen, timm_models.sample(rows[::-1], lambda model: model[0], 10))

    def test_kernels_of_a_trace_are_added_up_without_copies_and_collectives(self):
        path = self.data / "trace.json.gz"
        events = [{"cat": cat, "name": name, "dur": us} for cat, name, us in (
            ("kernel", "gemm", 5), ("kernel", "relu", 7), ("kernel", "ncclKernel_AllReduce", 90), ("gpu_memset", "Memset", 1),
            ("gpu_memcpy", "Memcpy HtoD", 100), ("cpu_op", "aten::mm", 50))]
        with gzip.open(path, "wt") as file:
            json.dump({"traceEvents": events}, file)
        self.assertEqual(traced.kernel_us(path), 13)


class Graph:
    """Of a capture."""

    def __init__(self, made):
        made.append(self)

    def save(self, path):
        Path(path).write_text("graph")


class Kept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.captures = Captures(Path(folder.name) / "graphs")
        self.captures._digest = lambda build: self.digest
        self.digest = "one"

    def case(self, build):
        return Case("s", "t4", "f16", "", "net 8", 1, build=build, key="s net/8")

    def test_a_graph_is_captured_once_for_what_it_depends_on(self):
        made = []
        path = self.captures.path(self.case(lambda: Graph(made)))
        self.assertEqual((path.name, path.read_text()), ("s_net_8.one.json.zst", "graph"))
        self.assertEqual(self.captures.path(self.case(lambda: Graph(made))), path)
        self.assertEqual(len(made), 1)
        self.digest = "two"
        self.captures.path(self.case(lambda: Graph(made)))
        self.assertEqual(len(made), 2)

    def test_what_cannot_be_captured_says_why_again_and_what_is_not_installed_is_no_answer(self):
        calls = []

        def broken():
            calls.append(1)
            raise ValueError("reads values\nat length")

        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "^ValueError: reads values$"):
                self.captures.path(self.case(broken))
        self.assertEqual(len(calls), 1)

        def missing():
            raise ImportError("timm")

        self.digest = "two"
        with self.assertRaises(ImportError):
            self.captures.path(self.case(missing))
        self.assertFalse(list(self.captures.folder.glob("*.two*")))


class Table(unittest.TestCase):
    def test_ratios_are_in_the_file_and_errors_in_the_summary(self):
        rows = [prediction("timm training", "rtx3090", "one", 100, 1.1), prediction("timm training", "rtx3090", "two", 300, 1.3, peers={"neusight": 0.9}),
                prediction("timm training", "rtx3090", "three", 900, 7, left_out="broken")]
        failed = [(Case("SimuMax", "b200", "bf16", "llama", "four", 0), "experts")]
        with tempfile.TemporaryDirectory() as folder:
            report.write(Path(folder), rows, failed, lambda case: "no")
            with (Path(folder) / "measured.csv").open(newline="") as file:
                written = list(csv.DictReader(file))
            summary = (Path(folder) / "summary.md").read_text()
        self.assertEqual([row["ratio"] for row in written], ["1.100", "1.300", "7.000", ""])
        self.assertEqual(written[1]["peer_neusight"], "0.900")
        self.assertEqual([row["left_out"] for row in written], ["", "", "broken", "experts"])
        self.assertIn("| timm training | rtx3090 | f16 | 2 | 20.0 % | 28.0 % | +20.0 % | 1.00 | – | 140.0 % | 15 % |", summary)
        self.assertIn("| timm training | broken | 1 |", summary)
        self.assertNotIn("## Speed ratios", summary)  # nothing ran on two GPUs
        self.assertIn("| rtx3090 | 1 | 30.0 % | 10.0 % (1) |", summary)

    def test_what_taught_the_prices_is_told(self):
        told = taught([{"kind": "t4", "format": "f32"}])
        self.assertEqual([told(Case("s", gpu, dtype, "", "", 1)) for gpu, dtype in (("t4", "f32"), ("t4", "f16"), ("p4", "f32"))],
                         ["ops of its GPU", "no", "no"])
        self.assertEqual([told(Case("traces", gpu, "bf16", "", "", 1)) for gpu in ("h100", "mi300x")], ["some of its ops", "no"])

    def test_a_step_is_simulated_and_held_against_what_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            simulator = Simulator(STOWPLAN, None, folder)
            case = Case("s", "k80", "f32", "", "", 1000, workload="resnet_152(batch=1)")
            step, busy = simulator.run(case.workload, "k80")
            found = simulator.predict(case)
            self.assertAlmostEqual(found.ratio, step / 1000)
            self.assertAlmostEqual(found.busy, busy / step)
            case.device_time = True
            self.assertAlmostEqual(simulator.predict(case).ratio, busy / 1000)
            self.assertAlmostEqual(sum(simulator.types(case).values()), 1)
            self.assertGreater(simulator.types(case)["Conv2D"], 0.1)
            with self.assertRaisesRegex(RuntimeError, "no_such"):
                simulator.run("no_such", "k80")


if __name__ == "__main__":
    unittest.main()
