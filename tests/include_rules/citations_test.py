#!/usr/bin/env python3
"""Every retired word, a cited page and an anchor that are not there are planted in a small tree and must be found; what is allowed
must not be reported."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import words  # noqa: E402

# In capitals, as they are not written here: this test cites none.
design, papers, peers, protocol, queue = (name.upper() for name in ("design", "papers", "peers", "protocol", "gpu-queue"))

CLEAN = {
    "README.md": "See [the rules](docs/protocol.md#samples), [what is fitted](docs/protocol.md#what-is-fitted) and [the home](https://example.org/x#y).\n",
    "docs/protocol.md": '# Protocol\n\n1. <a id="samples"></a>**Sample**\n\n## What is `fitted`?\n\n## Twice\n\n```sh\n# no heading\n```\n\n## Twice\n',
    "docs/more/page.md": "# [Page](../protocol.md)\n\n[one](../protocol.md#twice-1) [two](#page)\n",
    "agents/agent.h": "// docs/protocol.md#samples, #twice and #what-is-fitted; docs/protocol.md. An entry of the registry.\n",
    "bench/main.cpp": '// Preset `paper` of hierarchical(preset=paper) on k40(gpus=2), rules native. Tries again; try {\n',
    "output/data/vendor/lib.js": f"// {protocol}, parcel and stretch of others\n",
    "scenarios/importers/onnx/newer_sets.cpp": "TextAttribute(node, \"keep_aspect_ratio_policy\", \"stretch\")\n",
    "build/release/x.txt": f"{papers}\n",
}

# (what is planted, path, text, what is said of it)
PLANTED = (
    ("notes outside of the tree", "sim/bad.h", f"// as {design} 4.1 has it\n", f'"{design}": is a note'),
    ("paths of one machine", "results/bad.csv", "chain(table(file=/home/me/testbed.json))\n", "is a path of one machine"),
    ("in results too", "results/bad.md", f"({protocol} 6.2)\n", f'"{protocol}"'),
    ("and in data", "cost_models/bad.yaml", f'source: "{peers} 4.3"\n', f'"{peers}"'),
    ("the queue", "docs/bad.md", f"({queue} 1)\n", f'"{queue}"'),
    ("machines are not borrowed", "docs/bad.md", "the second loan\n", '"loan"'),
    ("nor rented", "bench/bad.cpp", "// a lease's time\n", '"lease"'),
    ("rules, not presets", "bench/bad.cpp", 'cluster.rules = sim::Preset::kNative;\n', "rules: native or published"),
    ("in files", "tests/bad.yaml", "preset: native\n", "rules: native or published"),
    ("in JSON", "tests/bad.json", '{"preset": "placeto"}\n', "rules: native or published"),
    ("on the command line", "docs/bad.md", "stowplan speed --preset published\n", "rules: native or published"),
    ("clusters have the machine's name", "docs/bad.md", "--cluster 'placeto(gpus=2)'\n", "k40 and k80"),
    ("with whatever parameter", "docs/bad.md", "`hierarchical(host=process)`\n", "k40 and k80"),
    ("in scenarios", "tests/bad.yaml", "cluster: placeto\n", "k40 and k80"),
    ("fused, not lean", "docs/bad.md", "granularity=lean\n", "fused and unfused"),
    ("unfused, not raw", "scenarios/bad.cpp", "// of raw graphs\n", "fused and unfused"),
    ("baselines", "docs/bad.md", "the floors of every table\n", "baseline"),
    ("transfers", "sim/bad.h", "struct FirstParcel;\n", "transfer"),
    ("segments", "sim/bad.h", "// one stretch of the timeline\n", "segment"),
    ("an allowed line is allowed at its place alone", "sim/bad.cpp", "// by how much sharing can stretch an op\n", "segment"),
    ("trials", "sim/bad.h", "// what a try changes\n", "trial"),
    ("several of them", "results/bad.md", "in half of the tries\n", "trial"),
    ("their method", "bench/bad.cpp", "incremental->Try(moves);\n", "trial"),
    ("verdicts", "bench/bad.cpp", "ClaimReading Level();\n", "verdict"),
    ("discussions", "results/bad.md", "# A\n\n## Reading\n", "discussion"),
    ("in pages", "results/bad.html", "<h2>Reading</h2>\n", "discussion"),
    ("interpretations", "docs/bad.md", "by this reading it is 12\n", "interpretation"),
    ("cited pages are there", "sim/bad.h", "// docs/gone.md\n", "docs/gone.md is not there"),
    ("and their anchors", "sim/bad.h", "// docs/protocol.md#gone\n", "docs/protocol.md has no anchor #gone"),
    ("the second one too", "sim/bad.h", "// docs/protocol.md#samples, #gone\n", "docs/protocol.md has no anchor #gone"),
    ("what is fenced is no heading", "sim/bad.h", "// docs/protocol.md#no-heading\n", "has no anchor #no-heading"),
    ("links lead somewhere", "docs/bad.md", "[x](gone.md)\n", "docs/gone.md is not there"),
    ("from where they stand", "results/bad.md", "[x](docs/protocol.md)\n", "results/docs/protocol.md is not there"),
    ("to an anchor", "docs/bad.md", "[x](protocol.md#gone)\n", "docs/protocol.md has no anchor #gone"),
    ("of their own page", "docs/bad.md", "# A\n\n[x](#b)\n", "docs/bad.md has no anchor #b"),
)


class Words(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self._write(CLEAN)

    def _write(self, files):
        for path, text in files.items():
            full = os.path.join(self._folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)

    def test_what_is_allowed_is_not_reported(self):
        self.assertEqual(words.faults(self._folder.name), [])

    def test_every_planted_violation_is_found(self):
        for rule, path, text, message in PLANTED:
            with self.subTest(rule=rule, path=path, text=text):
                self._write({path: text})
                found = words.faults(self._folder.name)
                self.assertTrue(found and all(line.startswith(path + ":") and message in line for line in found), found)
                os.unlink(os.path.join(self._folder.name, path))

    def test_every_allowance_is_used(self):
        """In the tree itself: what nobody writes any more is not allowed any more."""
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        for path, what in words.ALLOWED:
            with self.subTest(path=path), open(os.path.join(root, path), encoding="utf-8") as file:
                self.assertIn(what, file.read())


if __name__ == "__main__":
    unittest.main()
