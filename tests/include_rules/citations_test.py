#!/usr/bin/env python3
"""Names of the workplace, cited pages and anchors that are not there are planted in a small tree and must be found; what is
allowed must not be reported."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import citations  # noqa: E402
from tree import TreeTest  # noqa: E402

# In capitals, as they are not written here: this test cites none.
design, papers, peers, protocol, queue = (name.upper() for name in ("design", "papers", "peers", "protocol", "gpu-queue"))

CLEAN = {
    "README.md": "See [the rules](docs/protocol.md#samples), [what is fitted](docs/protocol.md#what-is-fitted) and [the home](https://example.org/x#y).\n",
    "docs/protocol.md": '# Protocol\n\n1. <a id="samples"></a>**Sample**\n\n## What is `fitted`?\n\n## Twice\n\n```sh\n# no heading\n```\n\n## Twice\n',
    "docs/more/page.md": "# [Page](../protocol.md)\n\n[one](../protocol.md#twice-1) [two](#page)\n",
    "agents/agent.h": "// docs/protocol.md#samples, #twice and #what-is-fitted; docs/protocol.md. An entry of the registry.\n",
    "output/data/vendor/lib.js": f"// {protocol}\n",
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
    ("cited pages are there", "sim/bad.h", "// docs/gone.md\n", "docs/gone.md is not there"),
    ("and their anchors", "sim/bad.h", "// docs/protocol.md#gone\n", "docs/protocol.md has no anchor #gone"),
    ("the second one too", "sim/bad.h", "// docs/protocol.md#samples, #gone\n", "docs/protocol.md has no anchor #gone"),
    ("what is fenced is no heading", "sim/bad.h", "// docs/protocol.md#no-heading\n", "has no anchor #no-heading"),
    ("links lead somewhere", "docs/bad.md", "[x](gone.md)\n", "docs/gone.md is not there"),
    ("from where they stand", "results/bad.md", "[x](docs/protocol.md)\n", "results/docs/protocol.md is not there"),
    ("to an anchor", "docs/bad.md", "[x](protocol.md#gone)\n", "docs/protocol.md has no anchor #gone"),
    ("of their own page", "docs/bad.md", "# A\n\n[x](#b)\n", "docs/bad.md has no anchor #b"),
)


class Citations(TreeTest):
    def setUp(self):
        super().setUp()
        self._write(CLEAN)

    def test_what_is_allowed_is_not_reported(self):
        self.assertEqual(citations.faults(self._folder.name), [])

    def test_every_planted_violation_is_found(self):
        for rule, path, text, message in PLANTED:
            with self.subTest(rule=rule, path=path, text=text):
                self._write({path: text})
                found = citations.faults(self._folder.name)
                self.assertTrue(found and all(line.startswith(path + ":") and message in line for line in found), found)
                os.unlink(os.path.join(self._folder.name, path))


if __name__ == "__main__":
    unittest.main()
