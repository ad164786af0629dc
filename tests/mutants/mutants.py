#!/usr/bin/env python3
"""How many seeded faults of the C++ sources the tests find; not in CI, as each fault costs a build.

    mutants.py BUILD NUMBER SEED [--only GLOB] [--tests REGEX]

Each fault changes one operator, constant or condition of one source outside of comments and texts; SEED chooses which. The programs that test
its folder are built and their ctest entries run until one fails. Results are added to BUILD/mutants.csv: what is there for the same
sources and seed is not run again. The source is written back whatever happens; where the machine stopped in between, by the next call.
To compare two states of the tests, run both with one SEED over the same sources.
"""

import argparse
import csv
import fnmatch
import pathlib
import random
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What tests a folder: targets to build, and which ctest entries; the longest name that fits counts.
TESTED_BY = {
    "sim": ("test_sim test_sim_allocation", "^sim/"),
    "sim/formats": ("test_formats test_sim", "^(formats|sim)/"),
    "cost_models": ("test_cost_models test_cost_models_calibration", "^cost_models/"),
    "scenarios": ("test_scenarios", "^scenarios/[^o]|^scenarios/only"),
    "scenarios/importers/onnx": ("test_scenarios_onnx", "^scenarios/onnx/"),
    "agents": ("test_agents", "^agents/[^ro]"),
    "agents/external": ("test_agents stowplan_program", "^agents/[^r]"),
    "agents/rl": ("test_agents_rl", "^agents/rl$"),
    "problem": ("test_problem stowplan_program", "^problem/[A-Z]"),
    "tables": ("test_tables stowplan_program", "^tables/[A-Z]"),
    "cli": ("test_cli test_cli_validate stowplan_program", "^cli/([A-Z]|validate/|Reduced/)"),
    "output": ("test_output test_tables stowplan_program", "^(output|tables)/[A-Z]"),
    "profiler": ("test_profiler test_profiler_executor test_profiler_cpu stowplan_profile", "^profiler/([A-Z]|executor/|cpu/|main|graph|record$)"),
    "profiler/cuda": ("test_profiler_cuda", "^profiler/cuda/[A-Z]"),
}
# No CUDA source, no table of data, no entry of a program.
LEFT_OUT = re.compile(r"profiler/cuda/(?!cupti|correl)|/data/|main\.cpp$|(^|/)generated/")
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" + ", " - "), (" - ", " + "),
         (" * ", " / "), (" && ", " || "), (" || ", " && "), (" += ", " -= "), ("++", "--"), ("(!", "("), ("std::min", "std::max"),
         ("std::max", "std::min"), ("true", "false"), ("false", "true"), ("continue;", "break;")]
TEXT = re.compile(r'R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")
GUARD = re.compile(r"(?<=\bif )\((?=[^;{}]*\) (?:return|continue|throw|\{))")


def faults(text):
    """(from, to, instead) of every fault that the source may have."""
    code = TEXT.sub(lambda match: "\0" * len(match[0]), text)
    for old, new in SWAPS:
        for match in re.finditer(re.escape(old), code):
            yield match.start(), match.end(), new
    for match in NUMBER.finditer(code):
        yield match.start(), match.end(), str(int(match[0]) + 1)
    for match in GUARD.finditer(code):
        yield match.start(), match.end(), "(false && "


def chosen(number, seed, only):
    places = []
    for folder in ("sim", "cost_models", "scenarios", "agents", "problem", "tables", "cli", "output", "profiler"):
        for path in sorted((ROOT / folder).rglob("*.cpp")):
            name = path.relative_to(ROOT).as_posix()
            if not LEFT_OUT.search(name) and any(fnmatch.fnmatch(name, glob) for glob in only):
                places += [(name, *fault) for fault in faults(path.read_text(encoding="utf-8"))]
    return random.Random(seed).sample(places, min(number, len(places)))


def call(words, seconds):
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds, check=False)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return -1, ""


def outcome(build, name, tests):
    """killed, survived or not built, and the test that found it."""
    targets, regex = TESTED_BY[max((folder for folder in TESTED_BY if name.startswith(folder + "/")), key=len)]
    if call(["nice", "ninja", "-C", build, *targets.split()], 1800)[0]:
        return "not built", ""
    status, said = call(["nice", "ctest", "--test-dir", build, "-R", tests or regex, "--stop-on-failure", "--timeout", "120", "-j", "2", "--no-tests=error"], 3600)
    failed = re.findall(r"^\s*\d+ - (\S+) \((?!Skipped|Not Run|Disabled)", said, re.MULTILINE)
    return ("killed", failed[0] if failed else "no end") if status else ("survived", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("number", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--only", action="append", metavar="GLOB", help="sources to choose among (several may be given)")
    parser.add_argument("--tests", metavar="REGEX", help="ctest entries instead of those of the folder")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))  # a loop that a fault made endless may allocate
    build, table, kept = options.build.resolve(), options.build / "mutants.csv", options.build / "mutant.kept"
    if kept.exists():  # the last call was killed
        name, text = kept.read_text(encoding="utf-8").split("\n", 1)
        (ROOT / name).write_text(text, encoding="utf-8")
        kept.unlink()
    done = {}
    if table.exists():
        with table.open(encoding="utf-8", newline="") as file:
            done = {tuple(row[:4]): row for row in csv.reader(file)}
    counts = {}
    for name, start, end, new in chosen(options.number, options.seed, options.only or ["*"]):
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        line = text.count("\n", 0, start) + 1
        change = f"{text[start:end].strip()} -> {new.strip()}"
        key = (name, str(line), str(start - text.rfind(chr(10), 0, start)), change)
        if key not in done:
            kept.write_text(f"{name}\n{text}", encoding="utf-8")
            began = time.monotonic()
            try:
                path.write_text(text[:start] + new + text[end:], encoding="utf-8")
                result = outcome(str(build), name, options.tests)
            finally:
                path.write_text(text, encoding="utf-8")
                kept.unlink()
            done[key] = [*key, *result, f"{time.monotonic() - began:.0f}"]
            with table.open("a", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(done[key])
        row = done[key]
        counts[row[4]] = counts.get(row[4], 0) + 1
        print(f"{row[4]:9} {row[6]:>4} s  {name}:{line}: {change}  {row[5]}", flush=True)
    print(", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
