#!/usr/bin/python3
"""Progress as a terminal sees it: one line that fits the width, after a resize too; and as a pipe sees it.

    terminal_test.py PROGRAM

No wall-clock assertion: a run is watched until it has drawn often enough, then stopped.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios

PROGRAM = sys.argv[1]
PROBLEM = ["--graph", "random_dag(ops=300)", "--cluster", "k80(gpus=2)", "--samples", "1000000000"]
PLACE = ["place", "--agent", "local_search(patience=600)"] + PROBLEM
COMPARE = ["compare", "--agents", "heft", "m_etf", "round_robin", "annealing", "--seeds", "2", "--threads", "1"] + PROBLEM
ENOUGH = 4  # lines drawn at each width
PATIENCE = 120  # seconds until a test that sees nothing gives up

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def drawn(text):
    """What was drawn, one entry each time the cursor went back to the first column."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    return [line for line in re.split(r"[\r\n]+", plain) if line]


def read_until(terminal, wanted):
    """The lines until there are `wanted` whole ones."""
    text = ""
    while len(drawn(text)) <= wanted:
        ready, _, _ = select.select([terminal], [], [], PATIENCE)
        if not ready:
            raise SystemExit(f"nothing is drawn: {text!r}")
        text += os.read(terminal, 65536).decode()
    return text


def watch(arguments):
    terminal, inner = pty.openpty()
    resize(terminal, 80)
    child = subprocess.Popen([PROGRAM] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=inner)
    os.close(inner)
    for columns in (80, 40, 120, 20):
        resize(terminal, columns)
        read_until(terminal, 2)  # one may have been on its way
        text = read_until(terminal, ENOUGH)
        for line in drawn(text):
            check(len(line) < columns, f"{columns} columns: {len(line)} in {line!r}")
        check("\n" not in text, f"{columns} columns: more than one line in {text!r}")
        if columns >= 80:
            check("█" in text or "░" in text, f"{columns} columns: no bar in {text!r}")
    child.send_signal(signal.SIGINT)
    rest = ""
    while True:
        try:
            got = os.read(terminal, 65536)
        except OSError:  # how a terminal says that nobody writes to it any more
            break
        if not got:
            break
        rest += got.decode()
    check(child.wait() == 130, f"status {child.returncode} after Ctrl-C")
    check(any(line.startswith("stowplan: stopped after ") for line in drawn(rest)), f"nothing of the stop in {rest!r}")
    os.close(terminal)


def pipe():
    """Off a terminal a run of less than ten seconds draws no line but its last one."""
    with tempfile.TemporaryDirectory() as folder:
        call = [PROGRAM, "place", "--agent", "random"] + PROBLEM[:-1] + ["200", "--out", folder + "/run"]
        run = subprocess.run(call, capture_output=True, text=True, check=True)
    lines = run.stderr.splitlines()
    took = re.search(r"took ([0-9.]+) (ms|us|s)$", lines[-1])
    check(took is not None, f"no summary in {lines}")
    check(took.group(2) == "s" or len(lines) == 1, f"more than a summary: {lines}")
    check("\x1b" not in run.stderr and "\r" not in run.stderr, f"signs of a terminal in {run.stderr!r}")


for arguments in (PLACE, COMPARE):
    watch(arguments)
pipe()
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
