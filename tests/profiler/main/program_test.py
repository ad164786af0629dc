#!/usr/bin/env python3
"""stowplan-profile as people call it, on a machine that need not have a GPU.

    program_test.py PROGRAM
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"CUDA_VISIBLE_DEVICES": ""} | environment)


class Program(unittest.TestCase):
    def test_needs_the_standard_library_and_zlib_alone(self):
        dynamic = subprocess.run(["readelf", "-d", PROGRAM], capture_output=True, text=True, check=True).stdout
        needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}
        allowed = r"libstdc\+\+|libgcc_s|libc|libm|libdl|libpthread|libz|ld-linux.*"
        if any(re.match(r"lib[at]san\.so", name) for name in needed):  # a build for tests, which no node gets
            allowed += "|libasan|libubsan|libtsan|libyaml-cpp"
        for name in needed:
            self.assertRegex(name, rf"^({allowed})\.so")

    def test_lists_probes_without_a_device(self):
        listed = run("list")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        self.assertIn("gemm", names)
        self.assertIn("kernel_gap", names)
        self.assertIn("host clock", run("list", "--meaning").stdout)

    def test_wrong_calls_have_status_2(self):
        for call in ((), ("run", "--out", "x"), ("run", "nothing", "--out", "x"), ("fly",), ("record", "--", "true")):
            done = run(*call)
            self.assertEqual(done.returncode, 2, (call, done.stderr))
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn('no probe "nothing"; `stowplan-profile list`', run("run", "nothing", "--out", "x").stderr)


if __name__ == "__main__":
    unittest.main()
