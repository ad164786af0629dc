#!/usr/bin/env python3
"""A violation of every rule is planted in a small tree and must be found; what is allowed must not be reported."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import include_rules  # noqa: E402
from tree import TreeTest  # noqa: E402

# A tree that breaks nothing, with everything that is allowed and close to what is not.
CLEAN = {
    "sim/op_graph.h": "#include <vector>\n",
    "sim/base/parallel.cpp": '#include <oneapi/tbb/parallel_for.h>\n#include "sim/base/error.h"\n',
    "sim/formats/formats.h": '#include "sim/op_graph.h"\n',
    "sim/formats/json.h": "#include <nlohmann/json.hpp>\n",
    "sim/formats/json.cpp": '#include "sim/formats/json.h"\n#include <fcntl.h>\n',
    "profiler/record.h": '#include "sim/formats/formats.h"\n',
    "profiler/cuda/cupti_activity.cpp": "#include <cupti.h>\n#include <cuda_runtime.h>\n",
    "profiler/cuda/kernels.cu": '#include <cuda_fp16.h>\n#include "profiler/record.h"\n',
    "profiler/main/main.cpp": '#include <CLI/CLI.hpp>\n#include "stowplan_revision.h"\n',
    "tests/profiler/cuda/cupti_activity_test.cpp": "#include <cupti.h>\n",
    "cost_models/models/table.cpp": '#include "profiler/record.h"\n#include <fmt/format.h>\n',
    "scenarios/chain.cpp": '#include "sim/formats/formats.h"\n',
    "agents/agent.h": '#include "sim/op_graph.h"\n',
    "agents/evaluator.cpp": "auto simulator = sim::MakeSimulator(problem);\n",
    "bench/simulate.cpp": "auto simulator = sim::MakeSimulator(problem);\n",
    "agents/classical/scotch.cpp": '#include <cstdio>\nextern "C" {\n  # include <scotch.h>\n}\n',
    "agents/rl/network.h": '#include <torch/torch.h>\n#include "agents/agent.h"\n',
    "agents/rl/network.cpp": '#include "agents/rl/network.h"\n#include <ATen/ATen.h>\n',
    "cli/place.cpp": '#include "agents/agent.h"\n#include "cost_models/cost_models.h"\n',
    "problem/provenance.cpp": '#include "stowplan_revision.h"\n',
    "agents/registry.cpp": '#include "agents/classical/rules.h"\n',
    "agents/classical/rules.h": '#include "agents/agent.h"\n#include "sim/base/error.h"\n',
    "sim/base/error.h": "#include <string>\n",
    "cost_models/cost_models.h": "#include <memory>\n",
    "profiler/cuda/kernels.h": "#include <cstddef>\n",
    "tests/helper.h": "#include <string>\n",
    "tests/agents/agent_test.cpp": '#include "agents/agent.h"\n#include "sim/formats/formats.h"\n'
                                   '#include "tests/helper.h"\n#include <gtest/gtest.h>\n',
    "tests/agents/rl/network_test.cpp": '#include "agents/rl/network.h"\n',
}

# (the rule, file, its text, words of the message)
PLANTED = (
    ("sim knows nobody", "sim/bad.cpp", '#include "cost_models/cost_models.h"\n', "sim/ may not include"),
    ("not even its formats", "sim/bad.cpp", '#include "sim/formats/formats.h"\n', "sim/ may not include"),
    ("sim stands on the standard library", "sim/bad.cpp", "#include <fmt/format.h>\n", "may be included only in"),
    ("oneTBB has one place", "sim/bad.cpp", "#include <oneapi/tbb/task_arena.h>\n", "only in sim/base/parallel.cpp"),
    ("formats know sim alone", "sim/formats/bad.cpp", '#include "agents/agent.h"\n', "sim/formats/ may not include"),
    ("agents, scenarios and cost models do not meet", "agents/bad.cpp", '#include "cost_models/cost_models.h"\n',
     "agents/ may not include"),
    ("in any direction", "scenarios/bad.cpp", '#include "agents/agent.h"\n', "scenarios/ may not include"),
    ("in any direction", "cost_models/bad.cpp", '#include "agents/agent.h"\n', "cost_models/ may not include"),
    ("agents read no files", "agents/bad.cpp", '#include "sim/formats/formats.h"\n', "agents/ may not include"),
    ("the profiler knows no cost model", "profiler/bad.h", '#include "cost_models/cost_models.h"\n',
     "profiler/ may not include"),
    ("learners are behind a door", "agents/bad.cpp", '#include "agents/rl/network.h"\n', "agents/ may not include"),
    ("nobody includes the program", "agents/rl/bad.cpp", '#include "cli/place.cpp"\n', "agents/rl/ may not include"),
    ("not even what it prints", "tables/bad.cpp", '#include "cli/place.cpp"\n', "tables/ may not include"),
    ("Python needs no program", "python/bad.cpp", '#include "cli/place.cpp"\n', "python/ may not include"),
    ("torch stays in agents/rl", "agents/bad.cpp", "#include <torch/torch.h>\n", "only in agents/rl"),
    ("its other names too", "bench/bad.cpp", "#include <c10/core/Device.h>\n", "only in agents/rl"),
    ("CUDA stays in the plug-in", "cost_models/bad.cpp", "#include <cuda_runtime.h>\n", "only in profiler/cuda"),
    ("so that the profiler builds without it", "profiler/bad.cpp", "#include <cuda_runtime.h>\n", "only in profiler/cuda"),
    ("one class touches CUPTI", "profiler/cuda/bad.cpp", "#include <cupti.h>\n", "only in profiler/cuda/cupti_"),
    ("the plug-in is opened, not included", "profiler/bad.cpp", '#include "profiler/cuda/kernels.h"\n',
     "profiler/ may not include"),
    ("no heavy header through a shared one", "scenarios/bad.cpp", '#include "sim/formats/json.h"\n',
     "gets <nlohmann/json.hpp> through sim/formats/json.h"),
    ("nor by a detour", "sim/formats/detour.h", '#include "sim/formats/json.h"\n', None),
    ("nor by a detour", "bench/bad.cpp", '#include "sim/formats/detour.h"\n', "(from sim/formats/json.h)"),
    ("paths start at the root", "sim/bad.cpp", '#include "op_graph.h"\n', "no path from the root"),
    ("and lead somewhere", "sim/bad.cpp", '#include "sim/gone.h"\n', "no path from the root"),
    ("generated headers have an owner", "sim/bad.cpp", '#include "stowplan_revision.h"\n', "for problem and profiler/main alone"),
    ("unknown libraries are named first", "bench/bad.cpp", "#include <boost/graph.hpp>\n", "nor in LIBRARIES"),
    ("<execution> links TBB", "agents/bad.cpp", "#include <execution>\n", "nor in LIBRARIES"),
    ("only tests include tests", "bench/bad.cpp", '#include "tests/helper.h"\n', "only tests include tests"),
    ("tests obey their folder", "tests/agents/bad_test.cpp", '#include "cost_models/cost_models.h"\n',
     "agents/ may not include"),
    ("GoogleTest is for tests", "sim/bad.cpp", "#include <gtest/gtest.h>\n", "only in tests"),
    ("agents do not simulate", "agents/rl/bad.cpp", "sim::MakeSimulator(problem)->Run(placement);\n",
     "through the evaluator alone"),
    ("one place starts programs", "problem/bad.cpp", "std::FILE* pipe = popen(command, \"r\");\n", "only in sim/base/process.cpp"),
    ("libraries are opened in few places", "tables/bad.cpp", "void* library = dlopen(path, RTLD_NOW);\n", "SECURITY.md lists"),
    ("terminals are given text", "cli/bad.cpp", "fmt::print(\"{}\", name);\n", "output::Print() shows"),
    ("tests of formats obey theirs", "tests/formats/bad_test.cpp", '#include "cli/place.cpp"\n', "sim/formats/ may not include"),
    ("no circles", "sim/circle.h", '#include "sim/circle.h"\n', "includes itself"),
    ("every folder is in the picture", "tools/bad.cpp", '#include "sim/op_graph.h"\n', "FOLDERS does not list"),
)


class IncludeRules(TreeTest):
    def test_what_is_allowed_is_not_reported(self):
        self._write(CLEAN)
        self.assertEqual(include_rules.broken_rules(self._folder.name), [])

    def test_every_planted_violation_is_found(self):
        self._write(CLEAN)
        for rule, path, text, message in PLANTED:
            with self.subTest(rule=rule, path=path, text=text):
                self._write({path: text})
                broken = include_rules.broken_rules(self._folder.name)
                if message is None:  # a step of the next one
                    self.assertEqual(broken, [])
                    continue
                self.assertTrue(any(line.startswith(path + ":") and message in line for line in broken), broken)
                os.unlink(os.path.join(self._folder.name, path))

    def test_circles_are_found_from_each_of_their_units(self):
        """A source counts with the header of its name."""
        self._write({"sim/a.h": "\n", "sim/a.cpp": '#include "sim/a.h"\n#include "sim/b.h"\n', "sim/b.h": '#include "sim/c.h"\n',
                     "sim/c.h": '#include "sim/a.h"\n', "sim/d.h": '#include "sim/a.h"\n'})
        broken = include_rules.broken_rules(self._folder.name)
        self.assertEqual(broken[0], "sim/a: includes itself through sim/b and sim/c")
        self.assertEqual([line.split(":")[0] for line in broken], ["sim/a", "sim/b", "sim/c"])

    def test_circles_of_folders(self):
        self._write({"sim/a.h": "\n", "sim/b.cpp": '#include "sim/native/c.h"\n', "sim/native/c.h": '#include "sim/a.h"\n'})
        self.assertEqual(include_rules.broken_rules(self._folder.name),
                         ["sim: includes itself through sim/native", "sim/native: includes itself through sim"])

    def test_a_registry_is_above_its_instances(self):
        self._write({"sim/a.h": "\n", "sim/registry.cpp": '#include "sim/native/c.h"\n', "sim/native/c.h": '#include "sim/a.h"\n'})
        self.assertEqual(include_rules.broken_rules(self._folder.name), [])

    def test_rooms_that_are_crowded(self):
        self._write({f"sim/unit_{i}.h": "\n" for i in range(26)})
        self.assertEqual(include_rules.broken_rules(self._folder.name),
                         ["sim/: has 26 files outside of its folders, of at most 25; find folders for them"])

    def test_rooms_that_are_half_the_house(self):
        self._write({"sim/a.h": "\n" * 450, **{f"{room}/a.h": "\n" * 400 for room in ("agents", "cli", "tables", "output")}})
        self.assertEqual(include_rules.broken_rules(self._folder.name), ["sim/: has 22% of all lines, of at most 20%"])

    def test_build_folders_are_not_read(self):
        self._write({"build/release/x.cpp": '#include "gone.h"\n'})
        self.assertEqual(include_rules.broken_rules(self._folder.name), [])


if __name__ == "__main__":
    unittest.main()
