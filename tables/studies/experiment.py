"""What the experiments have in common whose page is made from a plan: `SCRIPT PLAN OUT [--stowplan PATH]`."""

import argparse
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STOWPLAN = os.path.join(ROOT, "build", "release", "cli", "stowplan")


class Experiment:
    """The call of a script: its plan, the program, where its page goes."""

    def __init__(self, script, doc):
        self.script = os.path.basename(script)
        parser = argparse.ArgumentParser(description=doc.split("\n")[0])
        parser.add_argument("plan")
        parser.add_argument("out")
        parser.add_argument("--stowplan", default=STOWPLAN)
        options = parser.parse_args()
        self.plan_path, self.out_path, self.program = (os.path.abspath(path) for path in (options.plan, options.out, options.stowplan))
        try:
            with open(self.plan_path, encoding="utf-8") as file:
                self.plan = json.load(file)
        except (OSError, ValueError) as problem:
            parser.error(f"{options.plan}: {problem}; wanted a plan, a JSON object as in tables/studies/*.json")
        self.made = set()

    def stowplan(self, *options):
        """Runs the program in the root of the project; ends the script where it fails."""
        call = [self.program, *options]
        done = subprocess.run(call, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.script}: {shlex.join(call)}: status {done.returncode}\n{done.stderr.strip()[-500:]}")

    def count_in(self, run):
        """A run.json whose revision and machine the page names."""
        self.made.add(f"revision {run['revision']}{' (with changes)' if run['dirty'] else ''}, {run['machine']}, {run['date'][:10]}")

    def write(self, title, text, lines):
        """`text` begins behind revision and machine; `lines` are the rows of a table, the first its header."""
        root = os.path.abspath(ROOT)
        paths = " ".join(os.path.relpath(path, root) for path in (self.plan_path, self.out_path))
        header, *rows = lines
        with open(self.out_path, "w", encoding="utf-8") as out:
            out.write(f"# {title}\n\n    tables/studies/{self.script} {paths}\n\n{'; '.join(sorted(self.made))}{text}\n\n")
            out.writelines("| " + " | ".join(line) + " |\n" for line in (header, ["---"] * len(header), *rows))
