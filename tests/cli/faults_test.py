#!/usr/bin/env python3
"""Days on which something is missing or full: one sentence and a status, nothing half-written, and no result that differs.

    faults_test.py PROGRAM
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
PROBLEM = ["--graph", "chain(ops=3)", "--cluster", "k80(gpus=2)"]
PLACE = ["place", "--agent", "local_search", *PROBLEM, "--samples", "30"]
TABLE = ["table", "run", "hierarchical", "--quick", "--cells", "rnnlm/single_gpu", "--threads", "1"]
NOBODY = 65534


def call(arguments, folder, environment=None, before=None):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, env=environment, preexec_fn=before, capture_output=True, text=True,
                          timeout=240, check=False)


def on_a_full_disk(arguments, folder, kilobytes):
    """With a disk of so many kilobytes at FOLDER/disk, whose files are listed behind the program's standard error."""
    script = f'mount -t tmpfs -o size={kilobytes}k tmpfs disk || exit 77; "$@"; status=$?; find disk -type f; exit $status'
    return subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", PROGRAM, *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=240, check=False)


class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stowplan_faults_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def refused(self, done, sentence):
        self.assertIn(done.returncode, (1, 2), done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("stowplan: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(sentence, lines[0])
        self.assertNotIn("stowplan is wrong", done.stderr)

    def outcome(self, folder):
        return json.loads((self.folder / folder / "outcome.json").read_text())

    def test_a_full_disk_is_said_and_leaves_nothing_half_written(self):
        (self.folder / "disk").mkdir()
        if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "disk"], cwd=self.folder, capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("no disk of its own can be mounted here")
        for arguments in ([*PLACE, "--out", "disk/run"],
                          ["simulate", *PROBLEM, "--placement", "round_robin", "--trace", "disk/trace.json", "--json", "disk/o.json"],
                          [*TABLE, "--out", "disk/out", "--store", "disk/tables.db"]):
            done = on_a_full_disk(arguments, self.folder, 8)
            self.refused(done, "disk/")
            self.assertRegex(done.stderr, "No space left on device|disk is full|disk I/O error")
            left = [name for name in done.stdout.splitlines() if name.startswith("disk/")]
            self.assertFalse([name for name in left if ".tmp" in name or name.endswith(".new")], left)

    def test_a_folder_that_may_not_be_written_is_said_before_the_work(self):
        (self.folder / "mine").mkdir()
        os.chmod(self.folder, 0o755)
        (self.folder / "mine").chmod(0o555)
        before = (lambda: os.setuid(NOBODY)) if os.geteuid() == 0 else None
        for arguments in ([*PLACE[:-1], "1000000", "--out", "mine/run"], [*TABLE, "--out", "mine/out", "--store", "mine/t.db"],
                          ["compare", "--agents", "random", "annealing", *PROBLEM, "--samples", "1000000", "--out", "mine/c"]):
            self.refused(call(arguments, self.folder, before=before), "mine")
        self.assertEqual(list((self.folder / "mine").iterdir()), [])

    def test_few_descriptors_are_enough_or_said(self):
        done = 0
        for most in range(3, 24):
            ended = call([*PLACE, "--out", f"run{most}"], self.folder,
                         before=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            self.assertGreaterEqual(ended.returncode, 0, f"{most}: {ended.stderr}")
            self.assertNotIn("stowplan is wrong", ended.stderr)
            if ended.returncode == 0:
                done += 1
        self.assertGreater(done, 0)

    def test_two_programs_share_a_store(self):
        calls = [subprocess.Popen([PROGRAM, *TABLE, "--out", f"out{i}", "--store", "tables.db"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) for i in range(2)]
        for process in calls:
            _, error = process.communicate(timeout=240)
            self.assertEqual(process.returncode, 0, error)
        first, second = ((self.folder / f"out{i}" / "cells.csv").read_text().splitlines()[0] for i in range(2))
        self.assertEqual(first, second)
        again = call([*TABLE, "--resume", "--out", "out", "--store", "tables.db"], self.folder)
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_two_programs_with_one_out_leave_whole_files(self):
        calls = [subprocess.Popen([PROGRAM, *PLACE, "--force", "--out", "run"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) for _ in range(2)]
        ended = []
        for process in calls:
            _, error = process.communicate(timeout=240)
            self.assertIn(process.returncode, (0, 1, 2), error)
            ended.append(process.returncode)
        self.assertIn(0, ended)
        self.assertEqual(call([*PLACE, "--out", "alone"], self.folder).returncode, 0)
        self.assertEqual(self.outcome("run"), self.outcome("alone"))

    def test_no_home_and_no_environment_change_nothing(self):
        self.assertEqual(call([*PLACE, "--out", "usual"], self.folder).returncode, 0)
        bare = call([*PLACE, "--out", "bare"], self.folder, environment={})
        self.assertEqual(bare.returncode, 0, bare.stderr)
        self.assertEqual(self.outcome("usual"), self.outcome("bare"))

    def test_a_locale_with_a_comma_changes_nothing(self):
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", self.folder / "de_DE.UTF-8"], capture_output=True, check=False)
        environment = {**os.environ, "LC_ALL": "de_DE.UTF-8"}
        if made.returncode == 0:
            environment["LOCPATH"] = str(self.folder)
        arguments = ["simulate", *PROBLEM, "--placement", "round_robin", "--json", "-"]
        self.assertEqual(call(arguments, self.folder, environment).stdout, call(arguments, self.folder).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
