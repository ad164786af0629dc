#!/usr/bin/env python3
"""What belongs to a project and no compiler sees: licences, notices, citation, changes, the container.

    project_test.py ROOT
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
# https://www.apache.org/licenses/LICENSE-2.0.txt
APACHE = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def version():
    return re.search(r"^project\(stowplan VERSION (\S+)", text("CMakeLists.txt"), re.MULTILINE).group(1)


def tracked():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True)
    if listed.returncode != 0:  # an archive without history
        return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file() and "build" not in path.parts]
    return listed.stdout.splitlines()


class Licences(unittest.TestCase):
    def test_the_licence_is_apache_2_to_the_letter(self):
        self.assertEqual(hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest(), APACHE)

    def test_each_vendored_file_has_a_notice(self):
        rows = re.findall(r"^\| `([^`]+)` \|[^|]*\|[^|]*\]\(([^)]+)\) \|[^|]+\|$", text("THIRD_PARTY_NOTICES.md"), re.MULTILINE)
        noticed = {file for file, _ in rows}
        # What is ours in such a folder: how its files were made, and the licences themselves.
        ours = re.compile(r"(^|/)(README\.md|make|[^/]*\.?LICENSE)$")
        vendored = {path for path in tracked() if "vendor" in pathlib.Path(path).parts[:-1] and not ours.search(path)}
        self.assertTrue(vendored)
        self.assertEqual(vendored, noticed)
        for file, licence in rows:
            self.assertEqual(pathlib.Path(file).parent, pathlib.Path(licence).parent)
            self.assertRegex(text(licence), "(?i)copyright")


class Citation(unittest.TestCase):
    def setUp(self):
        try:
            import yaml
        except ImportError as error:
            self.skipTest(f"{error}; install python3-yaml")
        self.cff = yaml.safe_load(text("CITATION.cff"))

    def test_it_has_the_required_keys(self):
        self.assertLessEqual({"cff-version", "message", "title", "authors"}, set(self.cff))
        self.assertEqual(self.cff["cff-version"], "1.2.0")
        for author in self.cff["authors"]:
            self.assertTrue("name" in author or "family-names" in author)

    def test_it_knows_no_other_keys_than_the_format(self):
        allowed = {"abstract", "authors", "cff-version", "date-released", "keywords", "license", "message", "title", "type",
                   "version", "url", "repository-code", "references", "preferred-citation"}
        self.assertLessEqual(set(self.cff), allowed)

    def test_version_and_date_are_those_of_the_newest_change(self):
        self.assertEqual(self.cff["version"], version())
        newest = re.search(r"^## (\S+) - (\S+)$", text("CHANGELOG.md"), re.MULTILINE)
        self.assertEqual((newest.group(1), newest.group(2)), (version(), str(self.cff["date-released"])))


class Container(unittest.TestCase):
    """Its packages are nobody's list: .ci/install says what the build needs, the .deb's Depends what running needs."""

    def test_packages_come_from_the_installer_and_the_deb(self):
        stages = re.split(r"^FROM ", text("Dockerfile"), flags=re.MULTILINE)[1:]
        self.assertEqual([stage.split()[0] for stage in stages], ["debian:12", "debian:12-slim"])
        build, runtime = stages
        self.assertIn("RUN .ci/install", build)
        self.assertNotIn("apt-get install", build)
        installed = re.search(r"apt-get install -y --no-install-recommends (.*?) &&", runtime.replace("\\\n", " ")).group(1).split()
        self.assertEqual(installed, ["/tmp/*.deb"])

    def test_it_names_no_host(self):
        self.assertNotRegex(re.sub(r"(?m)^#.*", "", text("Dockerfile")), r"https?://|--build-arg|ARG .*proxy")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
