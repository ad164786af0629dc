#!/usr/bin/env python3
"""Runs the commands that a page shows, in their order, and compares what it prints of their output.

    commands_test.py PAGE BUILD_DIR

 - a block marked ```console holds `$ command` lines, each followed by its output: compared. A line of dots (`…`) stands
   for any lines, dots inside a line for any text; blanks at the ends of lines do not count.
 - a block marked ```sh holds commands alone, run as one script: they must succeed.
 - a comment <!-- not run: reason --> before a block leaves it out; the reason is printed. Files of the repository that it
   calls must be executable.
 - a comment <!-- given: FILE as NAME --> brings a file of the repository that a reader would have of his own.

A page's commands run in one empty folder, with `stowplan` and `stowplan-profile` on the path; 77 = the build lacks something.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DOTS = "…"
LIMIT_S = 240


class Block:
    def __init__(self, kind, line, lines, skipped):
        self.kind, self.line, self.lines, self.skipped = kind, line, lines, skipped


def blocks_of(text):
    """The console and sh blocks of a page, and the files it is given."""
    blocks, given, skipped = [], [], None
    fence, start, lines = None, 0, []
    for number, line in enumerate(text.split("\n"), 1):
        if fence is not None:
            if line.strip() == "```":
                if fence in ("console", "sh"):
                    blocks.append(Block(fence, start, lines, skipped))
                fence, skipped = None, None
            else:
                lines.append(line)
            continue
        opening = re.match(r"\s*```(\w*)", line)
        if opening:
            fence, start, lines = opening.group(1), number, []
            continue
        comment = re.match(r"\s*<!-- (not run|given): (.*) -->", line)
        if comment and comment.group(1) == "not run":
            skipped = comment.group(2)
        elif comment:
            given.append(comment.group(2).split(" as "))
        elif line.strip():
            skipped = None
    return blocks, given


def commands_of(block):
    """[(command, expected lines)] of a console block; a command may go on behind a backslash."""
    found = []
    goes_on = False
    for line in block.lines:
        if goes_on:
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif not found:
            raise ValueError(f"line {block.line}: a console block begins with '$ command'")
        else:
            found[-1][1].append(line)
        goes_on = line.endswith("\\") and (goes_on or line.startswith("$ "))
    return found


def matches(expected, printed):
    """Whether the printed lines are the expected ones, dots standing for anything."""
    pattern = ""
    for line in expected:
        if line.strip() == DOTS:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split(DOTS)) + r"[ \t]*\n"
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed)) is not None


def not_executable(block):
    """What the block calls by its path in the repository, but nobody can."""
    called = [line.split()[0] for line in block.lines if line.strip()]
    return [path for path in called if os.path.isfile(os.path.join(ROOT, path)) and not os.access(os.path.join(ROOT, path), os.X_OK)]


def run(command, folder, environment):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout, done.stderr


def check_page(page, build):
    """The failures of a page, as sentences."""
    with open(page, encoding="utf-8") as file:
        blocks, given = blocks_of(file.read())
    failures, ran = [], 0
    path = os.pathsep.join([os.path.join(build, "cli"), os.path.join(build, "profiler", "main"), os.environ["PATH"]])
    environment = dict(os.environ, PATH=path, COLUMNS="80", CLICOLOR="0")
    with tempfile.TemporaryDirectory() as folder:
        for source, name in given:
            shutil.copy(os.path.join(ROOT, source), os.path.join(folder, name))
        for block in blocks:
            where = f"{os.path.relpath(page, ROOT)}, line {block.line}"
            if block.skipped:
                print(f"{where}: not run: {block.skipped}")
                failures += [f"{where}: {path} is no executable file" for path in not_executable(block)]
                continue
            calls = commands_of(block) if block.kind == "console" else [["\n".join(block.lines), None]]
            for command, expected in calls:
                status, out, err = run(command, folder, environment)
                ran += 1
                if status != 0:
                    failures.append(f"{where}: status {status} of: {command}\n{err.strip()[-800:]}")
                elif expected is not None and not matches(expected, out.splitlines()):
                    failures.append(f"{where}: {command}\nprints\n{out}where the page says\n" + "\n".join(expected))
    print(f"{os.path.relpath(page, ROOT)}: {ran} commands")
    return failures


def main():
    page, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    failures = check_page(page, build)
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
