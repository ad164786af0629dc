#!/usr/bin/env python3
"""Makes the Debian packages and looks into them; installs nothing.

    package_test.py BUILD        status 77: one of Debian's tools is missing
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1])
for tool in ("cpack", "dpkg-deb", "dpkg-query", "dpkg-shlibdeps", "file", "readelf"):
    if shutil.which(tool) is None:
        print(f"skipped: {tool} is missing (.ci/install --with-checks)")
        sys.exit(77)


def output(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def names(field):
    return {re.split(r"[ (:]", entry.strip())[0] for entry in re.split(r"[,|]", field) if entry.strip()}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory(prefix="stowplan_package_")
        cls.folder = pathlib.Path(cls.temp.name)
        output("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder, cwd=cls.folder)
        cls.files = {re.match("[a-z-]+", path.name).group(): path for path in cls.folder.glob("*.deb")}
        cls.roots = {}
        for name, path in cls.files.items():
            cls.roots[name] = cls.folder / "unpacked" / name
            cls.roots[name].mkdir(parents=True)
            output("dpkg-deb", "-x", path, cls.roots[name])

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def field(self, package, name):
        return output("dpkg-deb", "-f", self.files[package], name).strip()

    def test_there_are_two(self):
        self.assertEqual(set(self.files), {"stowplan", "stowplan-dev"})
        self.assertIn("stowplan", names(self.field("stowplan-dev", "Depends")))

    def test_programs_depend_on_the_packages_of_the_libraries_that_they_load(self):
        needed = set()
        root = self.roots["stowplan"]
        binaries = [*(root / "usr/bin").iterdir(), *(root / "usr/lib/stowplan").iterdir()]
        self.assertGreaterEqual({path.name for path in binaries}, {"stowplan", "stowplan-profile", "libstowplan_cpu.so"})
        for binary in binaries:
            wanted = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", binary))
            loaded = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", binary), re.MULTILINE))
            for library in wanted:
                if library not in loaded:
                    continue  # the loader itself
                # As dpkg knows it: /lib is /usr/lib.
                path = pathlib.Path(loaded[library])
                for known in (path, path.resolve(), pathlib.Path(str(path.resolve()).removeprefix("/usr"))):
                    owner = subprocess.run(["dpkg-query", "-S", str(known)], capture_output=True, text=True)
                    if owner.returncode == 0:
                        needed |= {owner.stdout.split(":")[0]}
                        break
                else:
                    self.assertIn(binary.name, ("libstowplan_cuda.so", "libstowplan_injection.so"), f"nobody's package has {library}")
        depends = names(self.field("stowplan", "Depends"))
        self.assertIn("libc6", needed)
        self.assertLessEqual(needed, depends)
        # dpkg-shlibdeps finds the first, nobody's tool the others.
        self.assertLessEqual(depends - needed, {"coinor-libclp1", "libopenblas0-openmp"})

    def test_development_depends_on_packages_that_are_there(self):
        for package in names(self.field("stowplan-dev", "Depends")) - {"stowplan"}:
            output("dpkg-query", "-W", package)

    def test_files_are_where_debian_wants_them(self):
        for root in self.roots.values():
            self.assertEqual([path.name for path in root.iterdir()], ["usr"])
        self.assertTrue((self.roots["stowplan"] / "usr/share/doc/stowplan/LICENSE").exists())
        self.assertTrue(list(self.roots["stowplan-dev"].glob("usr/lib/**/libstowplan_sim.a")))

    def test_the_program_runs_from_where_it_was_unpacked(self):
        self.assertIn("random", output(self.roots["stowplan"] / "usr/bin/stowplan", "list", "agents", cwd=self.folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
