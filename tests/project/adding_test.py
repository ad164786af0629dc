#!/usr/bin/env python3
"""Follows docs/adding.md to the letter: its commands and code go into a copy of the sources, what they touch is compiled, the program is linked
anew with it, and the page's calls of stowplan are made.

    adding_test.py ROOT BUILD PROGRAM

A line that ends in "`FILE`, new:" or "`FILE`, before `TEXT`:" says where the next block of C++ or YAML goes. Blocks of sh are run: those that call stowplan when all is
built, the others at once. What stands in archives of BUILD and was touched is replaced by linking the touched objects before the archives, which takes
seconds where building the copy would take minutes.
"""

import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD, BUILD_PROGRAM = map(pathlib.Path, sys.argv[1:4])
SECTIONS = ("An agent", "A grouper", "A workload", "A cluster", "A cost model", "An interconnect", "A table of results")


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def sections():
    page = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
    return {part.partition("\n")[0]: part for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]}


class Walk:
    """The copy of the sources that the page's steps are done in."""

    def __init__(self, folder):
        self.folder = folder
        self.calls = []
        for top in ("sim", "agents", "scenarios", "cost_models", "profiler"):
            shutil.copytree(ROOT / top, folder / top, ignore=shutil.ignore_patterns("*.zst", "__pycache__"))
        self.before = self.sources()

    def sources(self):
        return {path.relative_to(self.folder): path.read_bytes() for path in self.folder.rglob("*") if path.suffix in (".cpp", ".h")}

    def touched(self):
        return [path for path, content in self.sources().items() if self.before.get(path) != content]

    def follow(self, section):
        where = None
        for line, place, language, block in re.findall(
                r"(^[^\n]*?`([^`\n]+)`, (?:new|before `[^\n]+`):$)|^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            if line:
                where = (place, line)
            elif where and language in ("cpp", "yaml"):
                self.write(*where, block)
                where = None
            elif block.startswith("stowplan "):
                self.calls += block.replace("\\\n", " ").splitlines()
            else:
                run(["bash", "-e", "-c", block], cwd=self.folder)

    def write(self, name, line, block):
        path = self.folder / name
        if line.endswith(", new:"):
            assert not path.exists(), f"{name} is there already"
            path.write_text(block)
            return
        anchor = re.search(r"before `(.+)`:$", line).group(1)
        text = path.read_text()
        at = re.search(r"^[ \t]*" + re.escape(anchor), text, re.MULTILINE)
        assert at, f"{name} has no line that starts with {anchor}"
        path.write_text(text[: at.start()] + block + text[at.start() :])

    def compile(self, text, like):
        """As the build compiles `like`, with what the copy of the tree has in its place; `text` includes it."""
        words = shlex.split(like["command"])
        source = self.folder / f"compiled_{abs(hash(text))}.cc"
        source.write_text(text)
        out = source.with_suffix(".o")
        words[words.index("-o") + 1] = str(out)
        words[words.index(like["file"])] = str(source)
        # What is included is the copy's; the build's folder has what is generated.
        words = [word.replace(f"-I{ROOT}", f"-I{self.folder}") if word == f"-I{ROOT}" else word for word in words]
        run(words, cwd=like["directory"])
        return out

    def build(self):
        # What is compiled together is compiled together here, since the objects take the places of those in the libraries.
        together = {}  # a source: the command that compiles it, and all sources that it compiles
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            file = pathlib.Path(entry["file"])
            names = [str(file)] if "Unity" not in file.parts else re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE)
            names = [os.path.relpath(name, ROOT) for name in names]
            together.update({name: (entry, names) for name in names})
        jobs = {}
        for source in [str(path) for path in self.touched() if path.suffix == ".cpp"]:
            entry, names = together.get(source) or next(
                (entry, [source]) for known, (entry, _) in together.items() if os.path.dirname(known) == os.path.dirname(source))
            here = [self.folder / name if (self.folder / name).exists() else ROOT / name for name in names]  # else generated
            jobs["".join(f'#include "{path}"\n' for path in here)] = entry
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda job: self.compile(*job), jobs.items()))
        out = os.path.relpath(BUILD_PROGRAM, BUILD)
        compiler, libraries = run(["ninja", "-C", BUILD, "-t", "commands", "-s", out]).split(f" -o {out} ")
        self.program = self.folder / "stowplan"
        run(["bash", "-c", f"{compiler} -o {self.program} {' '.join(map(str, objects))} {libraries}"], cwd=BUILD)


class Adding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory(prefix="stowplan_adding_")
        cls.walk = Walk(pathlib.Path(cls.temp.name).resolve())
        page = sections()
        for name in SECTIONS:
            cls.walk.follow(page[name])
        cls.walk.build()

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def test_each_thing_costs_one_new_file_and_touches_no_more_than_a_header_and_the_registry(self):
        new = [str(path) for path in self.walk.touched() if path not in self.walk.before]
        self.assertEqual(len(new), len(SECTIONS) - 2)  # an interconnect is a row, a table a file of its own
        old = {str(path) for path in self.walk.touched()} - set(new)
        self.assertLessEqual({os.path.basename(path) for path in old if path.endswith(".cpp")}, {"registry.cpp"})

    def test_the_build_finds_the_new_files_by_itself(self):
        patterns = re.findall(r"\S+/\*\.cpp", (ROOT / "CMakeLists.txt").read_text())
        for path in self.walk.touched():
            if path not in self.walk.before:
                self.assertTrue(any(fnmatch.fnmatch(path, pattern) and path.parent == pathlib.Path(pattern).parent
                                    for pattern in patterns), path)

    def test_every_call_of_the_page_works(self):
        self.assertEqual(len(self.walk.calls), len(SECTIONS))
        for call in self.walk.calls:
            with self.subTest(call):
                run([self.walk.program, *shlex.split(call)[1:]], cwd=self.walk.folder)

    def test_what_was_added_is_listed(self):
        for kind, name in (("agents", "last_first"), ("groupers", "part"), ("workloads", "rope"), ("clusters", "desk"),
                           ("cost-models", "flat"), ("interconnects", "free")):
            self.assertRegex(run([self.walk.program, "list", kind], cwd=self.walk.folder), rf"(?m)^\W*{name}\b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
