"""The stubs say what the module has, and the package holds to its types. Run by run.py."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy; python/environment makes an environment that has it")
class Types(unittest.TestCase):
    def check(self, *command):
        told = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT,
                              env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]})
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_the_stubs_are_those_of_the_module(self):
        # What pybind11 gives every class.
        with tempfile.NamedTemporaryFile("w") as allowed:
            allowed.write("".join(f"stowplan._core.{name}\n" for name in ("Graph", "Problem", "Episodes", "Graph.__init__", "Estimate", "Estimate.__init__")))
            allowed.flush()
            self.check("mypy.stubtest", "stowplan._core", "--ignore-disjoint-bases", "--allowlist", allowed.name)

    def test_the_package_holds_to_its_types(self):
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as settings:
            settings.write("[mypy]\nstrict = True\n[mypy-jinja2.*,yaml.*,markupsafe.*]\nignore_missing_imports = True\n")
            settings.flush()
            self.check("mypy", "--cache-dir", os.path.join(os.environ["STOWPLAN_BUILD"], "mypy"), "--config-file", settings.name, "-p", "stowplan")


if __name__ == "__main__":
    unittest.main()
