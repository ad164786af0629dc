#!/usr/bin/env python3
"""Installs stowplan, moves the installed tree, and uses it there: its programs, their plug-ins, and the example that finds it by
find_package(stowplan).

    install_test.py ROOT BUILD COMPILER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD, COMPILER = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("STOWPLAN_")}


def run(*command, folder):
    done = subprocess.run([str(word) for word in command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory(prefix="stowplan_install_")
        cls.folder = pathlib.Path(cls.temp.name)
        cls.first, cls.tree = cls.folder / "first", cls.folder / "moved" / "stowplan"
        run("cmake", "--install", BUILD, "--prefix", cls.first, folder=cls.folder)
        cls.tree.parent.mkdir()
        shutil.move(cls.first, cls.tree)
        # Plug-ins that nobody may open: a program must not look where it happens to be called.
        cls.elsewhere = cls.folder / "elsewhere"
        for folder in ("", "lib", "lib/stowplan"):
            (cls.elsewhere / folder).mkdir(exist_ok=True)
            for plugin in cls.plugins():
                (cls.elsewhere / folder / plugin).write_text("no plug-in")

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    @classmethod
    def plugins(cls):
        return sorted(path.name for path in (cls.tree / "lib/stowplan").glob("*.so"))

    def stowplan(self, *words):
        return run(self.tree / "bin/stowplan", *words, folder=self.elsewhere)

    def test_the_program_says_its_version(self):
        version = re.search(r"^project\(stowplan VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
        self.assertRegex(self.stowplan("--version"), rf"^stowplan {re.escape(version)} ")

    def test_it_finds_its_learners(self):
        if "libstowplan_rl.so" not in self.plugins():
            self.skipTest("built without the learning agents")
        self.stowplan("place", "--agent", "rnn", "--graph", "chain(ops=4)", "--cluster", "k80(gpus=2)", "--samples", "2")

    def test_stowplan_profile_finds_its_cpu_plugin(self):
        run(self.tree / "bin/stowplan-profile", "run", "softmax", "--device", "cpu", "--cores", "1", "--quick", "--out", "cpu.json",
            folder=self.elsewhere)
        self.assertIn('"hot"', (self.elsewhere / "cpu.json").read_text())

    def test_nothing_names_where_it_was_built_or_first_installed(self):
        for path in self.tree.rglob("*.cmake"):
            for place in (ROOT, self.first):
                self.assertNotIn(str(place), path.read_text(), path.name)

    def test_licences_come_along(self):
        documents = {path.name for path in (self.tree / "share/doc/stowplan").rglob("*")}
        vendored = {path.name for path in ROOT.glob("*/*/vendor/*.LICENSE")}
        self.assertTrue(vendored)
        self.assertLessEqual({"LICENSE", "NOTICE", "THIRD_PARTY_NOTICES.md"} | vendored, documents)

    def test_the_headers_include_no_other_than_those_installed(self):
        include = self.tree / "include/stowplan"
        headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
        self.assertIn("sim/simulator.h", headers)
        (self.folder / "headers.cpp").write_text("".join(f'#include "{header}"\n' for header in headers))
        run(COMPILER, "-std=c++20", "-fsyntax-only", "-I", include, "headers.cpp", folder=self.folder)

    def test_the_example_builds_and_runs(self):
        example, build = ROOT / "examples/cpp", self.folder / "example"
        run("cmake", "-S", example, "-B", build, f"-DCMAKE_PREFIX_PATH={self.tree}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
            folder=self.folder)
        run("cmake", "--build", build, folder=self.folder)
        self.assertEqual(run(build / "towers", folder=self.elsewhere), (example / "expected.txt").read_text())
        if "libstowplan_rl.so" in self.plugins():
            self.assertIn("after 200 samples", run(build / "towers", "placeto", folder=self.elsewhere))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
