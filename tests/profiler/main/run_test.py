#!/usr/bin/env python3
"""stowplan-profile run: what it keeps, where it stops, where it goes on; on a made-up GPU and on a CPU.

    run_test.py PROGRAM FOLDER
"""

import json
import os
import signal
import subprocess
import time
import unittest

from calls import GRAPH, PROGRAM, Folder, run, with_gpu

ENDLESS = "1000000"  # rows


class Run(Folder):
    def setUp(self):
        super().setUp()
        self.out = self.path("new", "folder", "probes.json")

    def call(self, *arguments, **environment):
        return run("run", *arguments, "--out", self.out, environment=with_gpu(**{"MADE_UP_ROWS": "3"} | environment))

    def part(self, name="launch"):
        return self.read(self.out)["parts"][name]

    def rows(self, name="launch"):
        return self.part(name)["result"]["rows"]

    def written(self):
        return os.stat(self.out).st_mtime_ns if os.path.exists(self.out) else None

    def stopped(self, number):
        before = self.written()
        with subprocess.Popen([PROGRAM, "run", "launch", "streams", "--out", self.out], stderr=subprocess.PIPE, text=True,
                              env=with_gpu(MADE_UP_ROWS=ENDLESS)) as child:
            end = time.monotonic() + 60
            while self.written() == before and time.monotonic() < end:
                time.sleep(0.01)
            child.send_signal(number)
            said = child.communicate(timeout=60)[1]
        return child.returncode, said

    def test_stops_within_a_probe_and_goes_on_behind_the_last_row(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            status, said = self.stopped(number)
            self.assertEqual(status, 1, said)
            self.assertRegex(said, r"launch +[0-9.]+ s  incomplete: stopped behind [0-9]+ rows; the same command")
            before = self.rows()
            self.assertGreater(len(before), 0)
            self.assertIn("stopped", self.part()["incomplete"])
            self.assertNotIn("streams", self.read(self.out)["parts"])
        done = self.call("launch", MADE_UP_ROWS=str(len(before) + 2))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rows(), [{"row": row} for row in range(len(before) + 2)])
        self.assertNotIn("incomplete", self.part())

    def test_a_kill_loses_no_more_than_a_second(self):
        self.stopped(signal.SIGKILL)
        before = self.rows()
        self.assertGreater(len(before), 0)
        self.assertEqual(self.call("launch", MADE_UP_ROWS=str(len(before))).returncode, 0)
        self.assertEqual(self.rows(), before)

    def test_a_spent_budget_ends_a_probe(self):
        done = self.call("launch", "streams", "--budget", "0.2", MADE_UP_ROWS=ENDLESS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stopped behind", done.stderr)
        self.assertEqual(self.rows(), [{"row": row} for row in range(len(self.rows()))])

    def test_a_row_that_fails_leaves_those_before_it(self):
        done = self.call("launch", "streams", MADE_UP_FAILURE="2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("row 3 failed: the GPU fell off the bus", self.part()["incomplete"])
        self.assertEqual(len(self.rows()), 2)
        self.assertIn("streams", self.read(self.out)["parts"])
        self.assertEqual(self.call("launch", "streams").returncode, 0)
        self.assertEqual(len(self.rows()), 3)

    def test_the_first_row_that_fails_fails_the_part(self):
        self.assertEqual(self.call("launch", MADE_UP_FAILURE="0").returncode, 1)
        self.assertEqual((self.part()["outcome"], self.part()["reason"]), ("failed", "the GPU fell off the bus"))

    def test_the_first_rows_of_a_probe_of_ops_and_later_the_rest(self):
        first = self.call("softmax", "launch", "--rows", "5", MADE_UP_ROWS="")
        self.assertEqual(first.returncode, 0, first.stderr)
        before = self.rows("softmax")
        self.assertEqual(len(before), 5)
        self.assertEqual({(row["phase"], row["format"]) for row in before},
                         {("forward", "f32"), ("forward", "bf16"), ("backward", "f32"), ("backward", "bf16")})
        self.assertIn("call", self.part("launch")["result"])
        self.assertEqual(self.call("softmax", "launch", MADE_UP_ROWS="").returncode, 0)
        self.assertEqual(self.rows("softmax")[:5], before)
        self.assertEqual(len(self.rows("softmax")), 24)
        self.assertNotIn("incomplete", self.part("softmax"))

    def test_ops_of_a_graph_each_alone(self):
        done = self.call("--graph", self.graph)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.rows("ops of products")
        self.assertEqual([(row["op"], row["count"], row["workload"]) for row in rows],
                         [("MatMul", 1, "products"), ("Whatever", 1, "products"), ("Relu", 1, "products")])
        self.assertEqual(rows[1]["unavailable"], "nobody knows it")
        self.assertEqual((rows[0]["hot"]["median_us"], rows[0]["cold"]["median_us"]), (11, 21))
        lone = rows[0]["graph"]["ops"]
        self.assertEqual([op["type"] for op in lone], ["Placeholder", "Variable", "MatMul"])
        self.assertEqual((lone[1]["persistent_bytes"], lone[2]["flops"]), (4096, 65536))
        self.assertEqual(self.call("--graph", self.graph).stderr, "")

    def test_a_graph_of_the_same_name_is_not_taken_for_the_other(self):
        self.assertEqual(self.call("--graph", self.graph).returncode, 0)
        other = dict(GRAPH, ops=GRAPH["ops"][:3])
        done = self.call("--graph", self.write("other.json", json.dumps(other)))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("another graph of that name", done.stderr)
        done = self.call("--graph", self.graph, "--graph", self.graph)
        self.assertIn("the second graph that is called", done.stderr)
        self.assertEqual(run("run", "--out", self.out).returncode, 2)

    def test_a_cpu_runs_them_as_its_executor_does(self):
        done = run("run", "--graph", self.graph, "--device", "cpu", "--cores", "1", "--quick", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.rows("ops of products")
        self.assertEqual([row.get("stand_in", False) for row in rows], [False, True, False])
        self.assertTrue(all(row["hot"]["median_us"] > 0 and row["cold"]["median_us"] > 0 for row in rows))


if __name__ == "__main__":
    unittest.main()
