#!/usr/bin/env python3
"""stowplan under mpirun: several ranks find what one finds, only the first speaks, and a rank that dies ends the run.

    mpi_test.py PROGRAM       exit status 77 where there is no mpirun or the build lacks what is tested
"""

import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
INTERRUPTED = 130
SCENARIO = ["--graph", "random_dag(ops=40)", "--cluster", "k80(gpus=2)", "--devices", "gpu"]
# Root is what containers run tests as; the ranks of a test need no core of their own.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                   # Open MPI keeps what it allocates to the end; leaks of ours show in every other test.
                   ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")


def stowplan(ranks, *arguments):
    command = [PROGRAM, *arguments]
    if ranks > 0:
        command = ["mpirun", "-n", str(ranks), *command]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=240, check=False)


def place(ranks, agent, *more):
    result = stowplan(ranks, "place", "--agent", agent, *SCENARIO, "--json", "-", *more)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def has_learners():
    result = stowplan(0, "place", "--agent", "placeto", *SCENARIO, "--samples", "1", "--json", "-")
    return result.returncode == 0


class Mpi(unittest.TestCase):
    def test_ranks_find_what_one_process_finds(self):
        agents = [("genetic", 200)] + ([("placeto", 200)] if has_learners() else [])
        for agent, samples in agents:
            alone = place(0, agent, "--samples", str(samples))
            for ranks in (1, 2, 3):
                shared = place(ranks, agent, "--samples", str(samples))
                self.assertEqual(shared["ranks"], ranks)
                for key in ("best_runtime_us", "samples", "samples_to_best", "distinct", "proposals"):
                    self.assertEqual(shared[key], alone[key], (agent, ranks, key))

    def test_ranks_share_the_cells_of_a_table(self):
        def rows(ranks, folder):
            result = stowplan(ranks, "table", "run", "hierarchical", "--cells", "inception_v3/*_gpu,inception_v3/random_block",
                           "--samples", "100", "--seeds", "3", "--threads", "1", "--out", folder, "--store",
                           os.path.join(folder, "cells.db"))
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(os.path.join(folder, "rows.csv"), encoding="utf-8", newline="") as file:
                return [{key: value for key, value in row.items() if key not in ("date", "wall_seconds",
                         "simulator_seconds", "curve_agent_seconds")} for row in csv.DictReader(file)]
        with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as shared:
            self.assertEqual(rows(2, shared), rows(0, alone))

    def test_other_verbs_run_once(self):
        result = stowplan(2, "simulate", "--graph", "chain", "--cluster", "k80(gpus=2)", "--placement", "single_gpu",
                       "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["format"], "stowplan.outcome")

    def test_bad_input_gets_one_sentence(self):
        result = stowplan(2, "place", "--agent", "psychic", *SCENARIO)
        self.assertEqual(result.stderr.count("agent 'psychic' is not known"), 1, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertNotEqual(result.returncode, 0)

    def test_a_dead_rank_ends_the_run_and_the_checkpoint_serves(self):
        if not has_learners():
            self.skipTest("the learning agents are not built")
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "run")
            arguments = ["place", "--agent", "placeto", *SCENARIO, "--out", out, "--samples"]
            # A first part that ends in order, so that there is a checkpoint; how soon there is a sample is the machine's affair.
            for seconds in (3, 12, 48):
                first = subprocess.Popen(["mpirun", "-n", "2", PROGRAM, *arguments, "100000", "--force"], env=ENVIRONMENT,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.wait_for(lambda first=first: self.ranks_of(first.pid) == 2, first)
                time.sleep(seconds)
                for pid in self.pids_of(first.pid):
                    os.kill(pid, signal.SIGINT)
                self.assertEqual(first.wait(timeout=120), INTERRUPTED)
                if os.path.exists(os.path.join(out, "run.json")) and self.samples_of(out) > 0:
                    break
            else:
                self.fail("no sample after 48 s")
            self.assertTrue(os.path.exists(os.path.join(out, "checkpoint")))
            second = subprocess.Popen(["mpirun", "-n", "2", PROGRAM, *arguments, "100000", "--resume"], env=ENVIRONMENT,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.wait_for(lambda: self.ranks_of(second.pid) == 2, second)
            time.sleep(1)
            os.kill(self.pids_of(second.pid)[1], signal.SIGKILL)
            _, said = second.communicate(timeout=120)
            self.assertNotEqual(second.returncode, 0)
            self.assertIn("rank", said)
            # One process goes on where the ranks were.
            spent = self.samples_of(out)
            third = subprocess.Popen([PROGRAM, *arguments, "100000", "--resume"], env=ENVIRONMENT,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(5)
            third.send_signal(signal.SIGINT)
            self.assertEqual(third.wait(timeout=120), INTERRUPTED)
            self.assertGreaterEqual(self.samples_of(out), spent)
            self.assertGreater(spent, 0)

    def test_a_dead_rank_of_a_table_loses_no_cell(self):
        def cells(folder):
            try:
                with sqlite3.connect(f"file:{folder}/cells.db?mode=ro", uri=True) as database:
                    return database.execute("SELECT count(*) FROM cells").fetchone()[0]
            except sqlite3.OperationalError:  # before there is a store
                return 0

        def rows(folder):
            with open(os.path.join(folder, "rows.csv"), encoding="utf-8", newline="") as file:
                return [{key: value for key, value in row.items() if key not in ("date", "wall_seconds", "simulator_seconds",
                         "curve_agent_seconds", "command")} for row in csv.DictReader(file)]

        def call(folder, samples):
            return ["table", "run", "hierarchical", "--cells", "inception_v3/*_gpu,inception_v3/random_block,inception_v3/local_search",
                    "--samples", samples, "--seeds", "4", "--threads", "1", "--out", folder, "--store", os.path.join(folder, "cells.db"), "--resume"]
        with tempfile.TemporaryDirectory() as short, tempfile.TemporaryDirectory() as long, tempfile.TemporaryDirectory() as killed:
            # Long enough that a rank dies before the end: five times as many where the build is a fast one.
            for samples, whole in (("300", short), ("1500", long)):
                started = time.monotonic()
                result = stowplan(0, *call(whole, samples))
                self.assertEqual(result.returncode, 0, result.stderr)
                if time.monotonic() - started > 5:
                    break
            running = subprocess.Popen(["mpirun", "-n", "2", PROGRAM, *call(killed, samples)], env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            self.wait_for(lambda: self.ranks_of(running.pid) == 2 and cells(killed) >= 2, running)
            kept = cells(killed)
            os.kill(self.pids_of(running.pid)[1], signal.SIGKILL)
            _, said = running.communicate(timeout=120)
            self.assertNotEqual(running.returncode, 0)
            self.assertIn("rank", said)
            self.assertGreaterEqual(cells(killed), kept)
            self.assertLess(cells(killed), len(rows(whole)), "it was done before a rank died")
            result = stowplan(0, *call(killed, samples))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(rows(killed), rows(whole))

    # Its program thinks for longer than mpirun gives a rank to end.
    def test_ctrl_c_is_heard_while_an_agent_from_outside_thinks(self):
        with tempfile.TemporaryDirectory() as folder:
            out, thinking = os.path.join(folder, "run"), os.path.join(folder, "thinking")
            command = f"external(command=\"read hello; echo $$ > {thinking}; exec sleep 1000\")"
            arguments = ["place", "--agent", command, *SCENARIO, "--out", out]
            running = subprocess.Popen(["mpirun", "-n", "2", PROGRAM, *arguments], env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.wait_for(lambda: os.path.exists(thinking) and self.ranks_of(running.pid) == 2, running)
            for pid in self.pids_of(running.pid):
                os.kill(pid, signal.SIGINT)
            self.assertEqual(running.wait(timeout=30), INTERRUPTED)
            with open(thinking, encoding="utf-8") as file:
                pid = file.read().strip()
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def samples_of(self, out):
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            return json.load(file)["samples"]

    def pids_of(self, mpirun):
        found = subprocess.run(["pgrep", "-P", str(mpirun), "-f", os.path.basename(PROGRAM)], capture_output=True,
                               text=True, check=False).stdout.split()
        return [int(pid) for pid in found]

    def ranks_of(self, mpirun):
        return len(self.pids_of(mpirun))

    def wait_for(self, condition, process):
        for _ in range(600):
            if condition():
                return
            self.assertIsNone(process.poll(), "mpirun ended early")
            time.sleep(0.1)
        self.fail("the ranks did not start in a minute")


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("there is no mpirun here")
        sys.exit(77)
    trial = stowplan(2, "place", "--agent", "random", *SCENARIO, "--samples", "4", "--json", "-")
    if "this build lacks MPI" in trial.stderr:
        print(trial.stderr)
        sys.exit(77)
    unittest.main()
