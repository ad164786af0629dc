"""The package `stowplan`: graphs, problems, what is simulated, evaluated, searched and bounded, and what is refused.

Run by run.py.
"""

import copy
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

import stowplan

STOWPLAN = pathlib.Path(os.environ["STOWPLAN_BUILD"]) / "cli" / "stowplan"
PAIR = {"name": "pair", "devices": [{"name": "a", "kind": "k80", "memory": "1GiB"}, {"name": "b", "kind": "k80"}],
        "links": [{"name": "wire", "ends": ["a", "b"], "bandwidth": "1GB/s", "latency": "5us"}],
        "dispatch": {"cost": "0us"}}


def diamond():
    """a -> b, c -> d; 1 MB between them."""
    return stowplan.Graph.from_arrays(cost_us=[10, 20, 30, 40], edges=[[0, 0, 1, 2], [1, 2, 3, 3]], output_bytes=[10**6] * 4,
                                   names=list("abcd"), name="diamond")


def small():
    return stowplan.Problem("random_dag(ops=60)", "k80(gpus=2)", devices="gpu")


def draw(problem, count, seed=1):
    return np.random.default_rng(seed).choice(problem.devices, size=(count, problem.units))


class Graphs(unittest.TestCase):
    def test_a_workload_has_ops_and_edges(self):
        graph = stowplan.Graph.load("chain(ops=5)")
        self.assertEqual(len(graph), 5)
        self.assertEqual(graph.edges.tolist(), [[0, 1, 2, 3], [1, 2, 3, 4]])

    def test_arrays_nodes_and_networkx_make_the_same_graph(self):
        class LikeNetworkx:
            name = "diamond"

            def nodes(self, data):
                return [(label, {"cost_us": cost, "output_bytes": 10**6}) for label, cost in zip("abcd", (10.0, 20.0, 30.0, 40.0))]

            def edges(self, data):
                return [("a", "b", {}), ("a", "c", {}), ("b", "d", {}), ("c", "d", {})]

        nodes = [(label, {"cost_us": cost, "output_bytes": 10**6}) for label, cost in zip("abcd", (10.0, 20.0, 30.0, 40.0))]
        edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
        expected = diamond().to_dict()
        self.assertEqual(stowplan.Graph.from_nodes_and_edges(nodes, edges, "diamond").to_dict(), expected)
        self.assertEqual(stowplan.Graph.from_networkx(LikeNetworkx()).to_dict(), expected)
        self.assertEqual(stowplan.Graph.from_dict(expected).to_dict(), expected)

    def test_collectives_of_a_dict_become_members_as_those_of_a_file_do(self):
        make = [{"name": f"make{rank}", "type": "Make", "cost_us": 1, "outputs": [{"bytes": 8}]} for rank in range(2)]
        graph = {"format": "stowplan.graph", "version": 1, "name": "ring", "ops": [
            *make, {"name": "all", "type": "AllReduce", "inputs": ["make0", "make1"], "outputs": [{"bytes": 8}, {"bytes": 8}]}]}
        made = stowplan.Graph.from_dict(graph).to_dict()
        members = {op["name"]: op["collective"] for op in made["ops"] if op["type"] == "AllReduce"}
        self.assertEqual(members, {"all/rank0": 0, "all/rank1": 0})
        self.assertEqual(stowplan.Graph.from_dict(made).to_dict(), made)

    def test_an_edge_may_carry_bytes_of_its_own_or_only_wait(self):
        graph = stowplan.Graph.from_nodes_and_edges(["a", "b", "c"], [("a", "b", {"bytes": 77}), ("a", "c", {"control": True})])
        a, b, c = graph.to_dict()["ops"]
        self.assertEqual(a["outputs"][1]["bytes"], 77)
        self.assertEqual((b["inputs"], c["control"]), (["a:1"], ["a"]))

    def test_costs_by_kind(self):
        graph = stowplan.Graph.from_arrays(cost_us=[[5, 1], [7, 2]], kinds=["cpu", "gpu"], edges=[])
        problem = stowplan.Problem(graph, "k80(gpus=1)")
        self.assertEqual(problem.unit_cost_us.tolist(), [[5, 1], [7, 2]])

    def test_a_saved_graph_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "g.json.zst")
            diamond().save(path)
            self.assertEqual(stowplan.Graph.load(path).to_dict(), diamond().to_dict())


class Problems(unittest.TestCase):
    def test_a_run_worked_out_by_hand(self):
        problem = stowplan.Problem(diamond(), PAIR)
        alone = problem.simulate([0, 0, 0, 0])
        self.assertEqual(alone.runtime_us, 100)
        self.assertTrue(alone.fits)
        split = problem.simulate({"a": "a", "b": "a", "c": "b", "d": "a"})
        # c waits 5 + 1000 us for a's megabyte, runs 30, and sends its own back.
        self.assertEqual(split.runtime_us, 10 + 1005 + 30 + 1005 + 40)
        self.assertEqual(split.op_start_us.tolist(), [0, 10, 1015, 2050])
        self.assertEqual(split.op_end_us.tolist(), [10, 30, 1045, 2090])
        self.assertEqual(split.device_busy_us.tolist(), [70, 30])
        self.assertEqual(split.op_device.tolist(), [0, 0, 1, 0])
        self.assertEqual(split.transfers[["op", "from", "to", "bytes"]].tolist(), [(0, 0, 1, 10**6), (2, 1, 0, 10**6)])

    def test_out_of_memory_is_a_result(self):
        graph = stowplan.Graph.from_arrays(cost_us=[1], edges=[], persistent_bytes=[2 << 30])
        run = stowplan.Problem(graph, PAIR).simulate([0])
        self.assertFalse(run.fits)
        self.assertEqual((run.out_of_memory["device"], run.out_of_memory["what"]), ("a", "persistent"))

    def test_a_batch_is_the_same_for_any_number_of_threads_and_as_one_by_one(self):
        problem = small()
        placements = draw(problem, 300)
        batch = problem.evaluate(placements)
        one = problem.evaluate(placements, threads=1)
        for field in ("runtime_us", "fits", "peak_bytes", "reward"):
            np.testing.assert_array_equal(getattr(batch, field), getattr(one, field))
        for row in (0, 123, 299):
            run = problem.simulate(placements[row])
            self.assertEqual(run.runtime_us, batch.runtime_us[row])
            np.testing.assert_array_equal(run.device_peak_bytes, batch.peak_bytes[row])
        np.testing.assert_allclose(batch.reward[batch.fits], -np.sqrt(batch.runtime_us[batch.fits] / problem.reference_runtime_us))
        self.assertEqual(len(problem.evaluate(placements[:0]).runtime_us), 0)

    def test_the_programs_search_finds_the_same(self):
        told = subprocess.run([STOWPLAN, "place", "--agent", "local_search", "--graph", "random_dag(ops=60)", "--cluster", "k80(gpus=2)",
                               "--devices", "gpu", "--samples", "200", "--seed", "3", "--json", "-"], capture_output=True, text=True, check=True)
        program = json.loads(told.stdout)
        problem = small()
        found = problem.search("local_search", samples=200, seed=3)
        self.assertEqual(found.runtime_us, program["runtime_us"])
        self.assertEqual((found.agent, found.samples), (program["agent"], program["samples"]))
        self.assertEqual(problem.evaluate([found.placement]).runtime_us[0], found.runtime_us)
        self.assertEqual(found.curve["runtime_us"][-1], found.best_runtime_us)
        self.assertEqual([rival.name for rival in found.rivals], [rival["name"] for rival in program["rivals"]])
        self.assertAlmostEqual(problem.bounds().runtime_us, program["lower_bound_us"])
        self.assertLessEqual(problem.bounds().runtime_us, found.runtime_us)

    def test_near_the_fastest_the_plainest_is_given(self):
        problem = small()
        for within in (0, 1, 30):
            found = problem.search("local_search", samples=200, seed=3, within=within)
            self.assertLessEqual(found.runtime_us, (1 + within / 100) * found.best_runtime_us)
            self.assertEqual(problem.evaluate([found.placement]).runtime_us[0], found.runtime_us)
            for rival in found.rivals:
                alone = problem.evaluate([rival.placement])
                self.assertEqual((rival.runtime_us, rival.fits, rival.peak_bytes.tolist()),
                                 (alone.runtime_us[0], alone.fits[0], alone.peak_bytes[0].tolist()))
        with self.assertRaisesRegex(stowplan.InputError, "within: -1"):
            problem.search("local_search", samples=2, within=-1)

    def test_a_placement_of_an_agent_is_saved_and_run_by_the_program(self):
        problem = small()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.json")
            problem.save_placement(path, problem.placement("heft"))
            told = subprocess.run([STOWPLAN, "simulate", "--graph", "random_dag(ops=60)", "--cluster", "k80(gpus=2)", "--placement", path,
                                   "--json", "-"], capture_output=True, text=True, check=True)
            self.assertEqual(problem.simulate(path).runtime_us, json.loads(told.stdout)["unlimited_runtime_us"])

    def test_an_explanation_is_that_of_the_program(self):
        told = subprocess.run([STOWPLAN, "explain", "--graph", "random_dag(ops=60)", "--cluster", "k80(gpus=2)", "--placement", "expert", "--faster",
                               "4"], capture_output=True, text=True, check=True)
        problem = small()
        explained = problem.explain("expert", faster=4)
        self.assertEqual(str(explained), told.stdout)
        self.assertEqual(explained.facts["runtime_us"], problem.simulate("expert").runtime_us)
        by_op = dict(zip(problem.graph.names, (problem.device_names[device] for device in problem.simulate("expert").op_device)))
        for same in (problem.placement("expert"), by_op):
            self.assertEqual(problem.explain(same, faster=4), explained)

    def test_a_page_is_rendered(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            small().render(path, "expert")
            with open(path, encoding="utf-8") as file:
                page = file.read()
        self.assertTrue(page.startswith("<!DOCTYPE html>"), page[:40])
        self.assertIn("random_dag", page)

    def test_a_policy_is_trained_on_several_problems_and_applied(self):
        problems = [small(), stowplan.Problem("random_dag(ops=40)", "k80(gpus=2)", devices="gpu")]
        agent = "placeto(preset=walk)"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "policy")
            try:
                trained = stowplan.train(agent, problems, 31, path)
            except stowplan.RunError as error:
                self.skipTest(str(error))
            self.assertEqual((trained.samples, trained.problem_samples.tolist()), (31, [16, 15]))
            for problem, best in zip(problems, trained.best_runtime_us):
                self.assertLessEqual(problem.bounds().runtime_us, best)
            self.assertEqual(problems[1].search(agent, samples=5, init=path, learn=False).samples, 5)
            for sentence, call in (("learns nothing", lambda: stowplan.train("local_search", problems, 10, path)),
                                   ("at least one for each of the 2 problems", lambda: stowplan.train(agent, problems, 1, path)),
                                   ("there is none", lambda: stowplan.train(agent, [], 10, path)),
                                   ("seed: -1", lambda: stowplan.train(agent, problems, 10, path, seed=-1)),
                                   ("faster: 1.0, wanted above 1|faster: 1, wanted above 1", lambda: problems[0].explain("expert", faster=1))):
                with self.subTest(sentence), self.assertRaisesRegex(stowplan.InputError, sentence):
                    call()

    def test_learners_learn(self):
        problem = small()
        try:
            found = problem.search("factored", samples=30)
        except stowplan.RunError as error:
            self.skipTest(str(error))
        self.assertEqual(found.samples, 30)


class Readme(unittest.TestCase):
    def test_what_it_shows_runs(self):
        readme = pathlib.Path(__file__).resolve().parents[2] / "python" / "README.md"
        shown = re.search(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL).group(1)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-c", shown], cwd=folder, capture_output=True, check=True)
            self.assertTrue(os.path.exists(os.path.join(folder, "placement.json")))


class Refused(unittest.TestCase):
    def refused(self, sentence, call):
        with self.assertRaises(stowplan.InputError) as raised:
            call()
        self.assertIsInstance(raised.exception, ValueError)
        self.assertRegex(str(raised.exception), sentence)

    def test_what_is_given_wrongly_is_one_sentence(self):
        problem = small()
        cpu = 0  # not among the devices
        for sentence, call in (
            ("did you mean nmt", lambda: stowplan.Graph.load("nmtt")),
            ("did you mean k80", lambda: stowplan.Problem("chain", "k800")),
            ("must be one of", lambda: problem.search("no_agent")),
            ("local_search has no setting 'x'", lambda: problem.search("local_search(x=1)")),
            ("samples: 0, wanted at least 1", lambda: problem.search(samples=0)),
            ("seed: -1, wanted", lambda: problem.search(seed=-1)),
            ("threads: -2, wanted", lambda: problem.evaluate(draw(problem, 2), threads=-2)),
            (r"placement 1, unit 3: 0 is no device that may be used; those are 1 \(gpu0\) and 2 \(gpu1\)",
             lambda: problem.evaluate(np.where(np.arange(2 * problem.units).reshape(2, -1) == problem.units + 3, cpu, 1))),
            ("is no device", lambda: problem.evaluate(draw(problem, 2).astype(np.int64) + 2**40)),
            (r"the shape is \[3\], wanted \[n, units\]", lambda: problem.evaluate([1, 1, 1])),
            ("the entries are float64", lambda: problem.evaluate(draw(problem, 1) + 0.5)),
            ("no_op", lambda: problem.simulate({"no_op": "gpu0"})),
            ("is neither a placement file nor an agent", lambda: problem.simulate("nothing")),
            ("cluster:1", lambda: stowplan.Problem("chain", {"devices": "x"})),
            ("is given twice", lambda: stowplan.Graph.from_nodes_and_edges(["a", "a"], [])),
            ("names 'z', which is no node", lambda: stowplan.Graph.from_nodes_and_edges(["a"], [("a", "z")])),
            ("edges names op 9, wanted 0 to 1", lambda: stowplan.Graph.from_arrays([1, 1], [[0], [9]])),
            ("output_bytes has 1 entries for 2 ops", lambda: stowplan.Graph.from_arrays([1, 1], [], output_bytes=[1])),
            ("cycle", lambda: stowplan.Graph.from_arrays([1, 1], [[0, 1], [1, 0]])),
            ("is no number, text", lambda: stowplan.Graph.from_dict({"ops": [{"name": "a", "type": object()}]})),
        ):
            with self.subTest(sentence):
                self.refused(sentence, call)

    def test_what_cannot_be_done_is_a_run_error(self):
        work = ("import stowplan\n"
                "try:\n"
                "    stowplan.Problem('chain', 'k80(gpus=2)').search('placeto')\n"
                "except stowplan.RunError as error:\n"
                "    print(isinstance(error, RuntimeError), error)\n")
        told = subprocess.run([sys.executable, "-c", work], env={**os.environ, "STOWPLAN_RL_PLUGIN": "/nowhere.so"}, capture_output=True,
                              text=True, check=True)
        self.assertRegex(told.stdout, "True the learning agents cannot be opened: .*/nowhere.so")


class LongCalls(unittest.TestCase):
    def test_other_threads_run_meanwhile(self):
        problem = small()
        counted, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        problem.search("random", samples=20000)
        during = counted[0] - before
        stop.set()
        thread.join()
        self.assertGreater(during, 5)

    def test_two_threads_may_evaluate_one_problem(self):
        problem = small()
        placements = draw(problem, 400)
        expected = problem.evaluate(placements).runtime_us
        results = [None] * 3
        threads = [threading.Thread(target=lambda i=i: results.__setitem__(i, problem.evaluate(placements).runtime_us)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            np.testing.assert_array_equal(result, expected)

    def test_the_default_agent_of_the_program_searches_here(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = small().search("portfolio(plan=500)", samples=60)
        self.assertEqual(found.samples, 60)
        self.assertIsNotNone(found.placement)
        self.assertEqual(len(found.left_out), len(told))
        many = stowplan.Problem("chain(ops=20)", "h100_hosts(hosts=8)")
        self.assertGreater(len(many.devices), 64)
        found = many.search("portfolio(plan=500)", samples=40)
        self.assertEqual(found.samples, 40)
        self.assertEqual([member for member in found.left_out if not member.startswith("m_sct")], [])

    def test_graphs_and_problems_are_pickled_and_copied(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cluster.json")
            pathlib.Path(path).write_text(json.dumps({"format": "stowplan.cluster", "version": 1, **PAIR}))
            problems = [stowplan.Problem("chain(ops=4)", "k80(gpus=2)"), stowplan.Problem(diamond(), PAIR, memory=["b=2GiB"]),
                        stowplan.Problem(diamond(), path, devices="a,b"),
                        stowplan.Problem("nmt(steps=2)", "k40(gpus=2)", grouper="neighbour(groups=8)", interconnect="fifo")]
            pickles = [pickle.dumps(problem) for problem in problems]
        for problem, text in zip(problems, pickles):  # the cluster's file is gone
            for other in (pickle.loads(text), copy.copy(problem), pickle.loads(pickle.dumps(pickle.loads(text)))):
                self.assertEqual(other.graph.to_dict(), problem.graph.to_dict())
                self.assertEqual(other.cluster_text(), problem.cluster_text())
                self.assertEqual((other.grouper, other.cost_model, repr(other)), (problem.grouper, problem.cost_model, repr(problem)))
                placements = draw(problem, 5)
                np.testing.assert_array_equal(other.evaluate(placements).runtime_us, problem.evaluate(placements).runtime_us)
        graph = copy.deepcopy(diamond())
        self.assertEqual(graph.to_dict(), diamond().to_dict())

    def test_ctrl_c_ends_a_search_and_a_batch(self):
        work = ("import stowplan, numpy, sys\n"
                "problem = stowplan.Problem('random_dag(ops=500)', 'k80(gpus=2)', devices='gpu')\n"
                "print('ready', flush=True)\n"
                "try:\n"
                "    {}\n"
                "except KeyboardInterrupt:\n"
                "    print('stopped', problem.evaluate(numpy.full((1, problem.units), 1)).runtime_us[0] > 0)\n")
        # The plan of pilot takes no sample, and a learner's step takes many.
        for call in ("problem.search('random', samples=100_000_000)", "problem.search('pilot(plan=1000000000)')", "problem.evaluate(numpy.full((400_000, problem.units), 1, numpy.int32))"):
            with self.subTest(call):
                process = subprocess.Popen([sys.executable, "-c", work.format(call)], stdout=subprocess.PIPE, text=True)
                self.assertEqual(process.stdout.readline(), "ready\n")
                time.sleep(1.5)
                process.send_signal(signal.SIGINT)
                told, _ = process.communicate(timeout=60)
                self.assertEqual(told, "stopped True\n")


if __name__ == "__main__":
    unittest.main()
