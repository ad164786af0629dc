#!/usr/bin/env python3
"""commands_test.py finds what it is for: planted pages, right and wrong ones."""

import os
import tempfile
import unittest

import commands_test


class Planted(unittest.TestCase):
    def failures(self, page):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
            return commands_test.check_page(path, folder)

    def test_right_output_passes(self):
        self.assertEqual(self.failures("```console\n$ printf 'one\\ntwo\\n'\none\ntwo\n```\n"), [])

    def test_wrong_output_is_found(self):
        self.assertEqual(len(self.failures("```console\n$ echo one\ntwo\n```\n")), 1)
        self.assertEqual(len(self.failures("```console\n$ printf 'one\\ntwo\\n'\none\n```\n")), 1)

    def test_dots_stand_for_text_and_lines(self):
        page = "```console\n$ printf 'took 1.25 s\\na\\nb\\nend\\n'\ntook … s\n…\nend\n```\n"
        self.assertEqual(self.failures(page), [])
        self.assertEqual(len(self.failures(page.replace("end\n```", "fin\n```"))), 1)

    def test_a_failing_command_is_found(self):
        self.assertEqual(len(self.failures("```sh\nfalse\n```\n")), 1)
        self.assertEqual(len(self.failures("```console\n$ false\n```\n")), 1)

    def test_commands_share_a_folder_and_go_on_behind_a_backslash(self):
        self.assertEqual(self.failures("```sh\necho one > a\n```\n```console\n$ cat \\\n    a\none\n```\n"), [])

    def test_what_is_not_run_and_what_is_given(self):
        self.assertEqual(self.failures("<!-- not run: takes hours -->\n```sh\nfalse\n```\n"), [])
        self.assertEqual(len(self.failures("<!-- not run: takes hours -->\ntext\n```sh\nfalse\n```\n")), 1)
        self.assertEqual(self.failures("<!-- given: README.md as mine.md -->\n```sh\ntest -s mine.md\n```\n"), [])

    def test_what_is_not_run_could_be(self):
        page = "<!-- not run: takes hours -->\n```sh\n{} --all\n```\n"
        self.assertEqual(self.failures(page.format("tables/studies/kills.py")), [])
        self.assertEqual(len(self.failures(page.format("tables/studies/growth.json"))), 1)

    def test_other_blocks_are_no_commands(self):
        self.assertEqual(self.failures("```json\nfalse\n```\n```\nfalse\n```\n"), [])


if __name__ == "__main__":
    unittest.main()
