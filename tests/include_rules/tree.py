"""A tree of files for tests of what may stand in one."""

import os
import tempfile
import unittest


class TreeTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def _write(self, files):
        for path, text in files.items():
            full = os.path.join(self._folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
