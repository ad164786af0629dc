#!/usr/bin/env python3
"""Reads every #include of the tree and says which ones break the picture of who may include whom.

    include_rules.py ROOT      prints one line for each broken rule; exit status 1 if there is one

The rules, all in the tables below:
 1. a quoted include is a path from the root and the file is there (or is one that the build generates);
 2. a folder includes only the folders that FOLDERS allows it; only tests include tests;
 3. a library's headers are included only where LIBRARIES says, and nothing that is not listed there is included at all;
 4. no folder gets a heavy library's headers through the headers of another folder;
 5. what ONE_PLACE names is written only in the files that it lists;
 6. no unit, which is a header and the source of its name, includes itself by a detour;
 7. nor does a folder. A folder's registry.cpp is not counted with it: it lists the instances in the folders within;
 8. a room has at most 25 files outside of its folders, and at most a fifth of all lines.
Tests of a folder stand under the folder's own rules; they may also include the formats, as they read files.
"""

import os
import re
import sys

_SUFFIXES = (".h", ".hpp", ".cuh", ".cpp", ".cc", ".cu")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
_SKIPPED = ("build", "results", ".git", ".cache")

# Who may include whom; every folder may include itself. A file belongs to the longest of these that its path starts with.
FOLDERS = {
    "sim/base": (),
    "sim": (),
    "sim/formats": ("sim",),
    "profiler": ("sim", "sim/formats"),
    "profiler/cpu": ("sim", "sim/formats", "profiler", "profiler/executor"),
    "profiler/cuda": ("sim", "sim/formats", "profiler", "profiler/executor", "profiler/cpu"),
    "profiler/main": ("sim", "sim/formats", "profiler"),
    "profiler/executor": ("sim", "profiler"),
    "cost_models": ("sim", "sim/formats", "profiler"),
    "scenarios": ("sim", "sim/formats", "profiler"),
    "agents": ("sim",),
    "agents/rl": ("sim", "agents"),
    "agents/mpi": ("sim", "agents"),
    "output": ("sim", "sim/formats"),
    "problem": ("sim", "sim/formats", "profiler", "cost_models", "scenarios", "agents", "output"),
    "tables": ("sim", "sim/formats", "cost_models", "scenarios", "agents", "output", "problem"),
    "cli": ("sim", "sim/formats", "profiler", "profiler/executor", "profiler/cpu", "cost_models", "scenarios", "agents", "output",
            "problem", "tables"),
    "bench": ("sim", "sim/formats", "cost_models", "scenarios", "agents", "output", "problem", "tables"),
    "python": ("sim", "sim/formats", "cost_models", "scenarios", "agents", "problem"),
    "examples": ("sim", "sim/formats", "profiler", "cost_models", "scenarios", "agents"),
}
_EVERYBODY = "sim/base"  # what all folders may include

# A room is a folder of the root. Its own files are its contract; instances and parts stand in folders within.
_MOST_FILES = 25
_MOST_SHARE = 0.20  # of all lines of source
_FEW_LINES = 1000  # of which nothing is asked
_REGISTRY = "registry.cpp"  # a folder's list of its instances: above them, where all else of the folder is below

# Headers that the build writes, by the folder whose sources may include them.
GENERATED = {
    "stowplan_revision.h": ("problem", "profiler/main"),
    "stowplan_interface.h": ("agents", "agents/rl", "agents/mpi", "profiler", "profiler/cpu", "profiler/cuda", "profiler/executor"),
    "OutputData.h": ("output",),
    "ExplainData.h": ("problem",),
    "TableData.h": ("tables", "cli"),
}

_TESTS = "tests"

# (what the header's name starts with; the folders or files that may include it, or what the files' paths start with, up to
# an underscore; heavy: kept out of shared headers)
LIBRARIES = (
    (("nlohmann/json_fwd.hpp",), ("cli", "problem"), False),
    (("oneapi/tbb", "tbb/"), ("sim/base/parallel.cpp",), True),
    (("nlohmann/",), ("sim/formats", "cost_models", "scenarios", "agents", "profiler", "output", "problem", "tables", "cli", "bench", _TESTS), True),
    (("yaml-cpp/",), ("sim/formats", _TESTS), True),
    (("fmt/",), ("sim/formats", "cost_models", "scenarios", "agents", "profiler", "output", "problem", "tables", "cli", "bench", "python", _TESTS), True),
    (("zstd",), ("sim/formats",), True),
    (("zlib.h",), ("sim/formats", _TESTS), True),
    (("CLI/",), ("cli", "problem", "bench", "profiler/main"), True),
    (("sqlite3",), ("tables", _TESTS), True),
    (("onnx/", "google/protobuf"), ("scenarios", _TESTS), True),
    (("scotch", "metis", "coin/"), ("agents",), True),
    (("oneapi/dnnl",), ("profiler/cpu",), True),
    (("torch/", "ATen/", "c10/", "caffe2/"), ("agents/rl",), True),
    (("mpi.h",), ("agents/mpi",), True),
    (("cupti", "generated_nvtx_meta.h"), ("profiler/cuda/cupti_",), True),
    (("cxxabi.h",), ("profiler/traces/kernel_names.cpp",), False),
    (("cuda", "cublas", "cudnn", "nvtx", "nvml", "nvrtc"), ("profiler/cuda",), True),
    (("pybind11/",), ("python",), True),
    (("gtest/", "gmock/", "rapidcheck"), (_TESTS,), False),
    (("benchmark/",), ("bench",), False),
    (("simgrid/",), ("bench/simgrid_peer.cpp",), True),
    (("unistd.h", "fcntl.h", "sys/", "dlfcn.h", "sched.h", "pthread.h", "signal.h", "termios.h", "link.h", "malloc.h", "poll.h",
      "spawn.h"),
     ("sim/base/process.cpp", "sim/formats", "agents", "cost_models", "profiler", "output", "problem", "tables", "cli", "bench", _TESTS), False),
)

# (what, the folder that it is kept out of, except for these files, why)
ONE_PLACE = (
    (re.compile(r"\b(MakeSimulator|BatchSimulator)\b"), "agents/", ("agents/evaluator.cpp", "agents/make_task.cpp"),
     "agents simulate through the evaluator alone, which counts"),
    # bench/child_process.cpp runs a function of its own in a child, and no other program.
    (re.compile(r"\b(posix_spawnp?|popen|v?fork|exec[lv][pe]*|system)\("), "", ("sim/base/process.cpp", "bench/child_process.cpp"),
     "other programs are started with limits of time and output"),
    (re.compile(r"\bdlopen\("), "", ("agents/plugin.cpp", "agents/classical/linear_program.cpp", "profiler/backend.cpp",
                                    "profiler/cuda/cupti_activity.cpp", "profiler/cuda/cupti_activity.h"),
     "SECURITY.md lists the libraries that are opened"),
    # Help, manual and completion print what is ours.
    (re.compile(r"\bfmt::print\("), "cli/", ("cli/commands/completion.cpp", "cli/commands/help.cpp", "cli/commands/man.cpp"),
     "output::Print() shows a terminal text alone"),
)

# The standard's headers have neither a slash nor a dot in their names. <execution> would ask every user to link TBB.
_FORBIDDEN_STANDARD = ("execution",)


def folder_of(path):
    """The row of FOLDERS that a file stands under: for tests/<folder>/… that of <folder>. None for other tests."""
    inner = path[len("tests/"):] if path.startswith("tests/") else path
    if path.startswith("tests/formats/"):
        inner = "sim/" + inner
    matches = [folder for folder in FOLDERS if inner.startswith(folder + "/")]
    return max(matches, key=len, default=None)


def sources(root):
    found = []
    for folder, subfolders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        if relative == ".":
            subfolders[:] = [name for name in subfolders if name not in _SKIPPED]
            relative = ""
        subfolders.sort()
        found += [os.path.join(relative, name) for name in sorted(names) if name.endswith(_SUFFIXES)]
    return found


def _read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def read_includes(root):
    """{file: ([quoted include, …], [angle include, …])}"""
    includes = {}
    for path in sources(root):
        matches = _INCLUDE.findall(_read(root, path))
        includes[path] = ([quoted for quoted, _ in matches if quoted], [angle for _, angle in matches if angle])
    return includes


def _library(header):
    for prefixes, homes, heavy in LIBRARIES:
        if header.startswith(prefixes):
            return homes, heavy
    return None


def _at_home(path, homes):
    if path.startswith("tests/") and _TESTS in homes:
        return True
    inner = path[len("tests/"):] if path.startswith("tests/") else path
    own = folder_of(path) or ""
    return any(inner == home or own == home or own.startswith(home + "/") or
               (home.endswith("_") and inner.startswith(home)) for home in homes)


def _check_quoted(path, header, includes):
    if header in GENERATED:
        if folder_of(path) not in GENERATED[header]:
            return f"{path}: includes {header}, which is for {' and '.join(GENERATED[header])} alone"
        return None
    if header not in includes:
        return f'{path}: "{header}" is no path from the root of a file that is there'
    if header.startswith("tests/"):
        return None if path.startswith("tests/") else f"{path}: includes {header}, and only tests include tests"
    own, other = folder_of(path), folder_of(header)
    if own is None:
        return None if path.startswith("tests/") else f"{path}: stands in a folder that FOLDERS does not list"
    allowed = FOLDERS[own] + (own, _EVERYBODY) + (("sim/formats",) if path.startswith("tests/") else ())
    if other not in allowed:
        return f"{path}: {own}/ may not include {header}; it may include {', '.join(allowed)}"
    return None


def _check_angle(path, header):
    if "." not in header and "/" not in header and header not in _FORBIDDEN_STANDARD:
        return None
    library = _library(header)
    if library is None:
        return f"{path}: <{header}> is neither the standard library's nor in LIBRARIES"
    if not _at_home(path, library[0]):
        return f"{path}: <{header}> may be included only in {', '.join(library[0])}"
    return None


def _heavy_headers(path, includes, seen):
    """The heavy library headers that including `path` brings along, each with the file that names it."""
    if path in seen:
        return []
    seen.add(path)
    quoted, angled = includes.get(path, ([], []))
    found = [(header, path) for header in angled if (_library(header) or ((), False))[1]]
    for header in quoted:
        found += _heavy_headers(header, includes, seen)
    return found


def _check_shared(path, includes):
    """Rule 4: what comes in through the headers of other folders."""
    broken = []
    for header in includes[path][0]:
        if folder_of(header) == folder_of(path) or header.startswith("tests/"):
            continue
        for library, origin in _heavy_headers(header, includes, set()):
            broken.append(f"{path}: gets <{library}> through {header} (from {origin}); keep it in the .cpp files there")
    return broken


def _check_one_place(root, path):
    """Rule 5."""
    for pattern, folder, homes, why in ONE_PLACE:
        if not path.startswith(folder) or path.startswith("tests/") or path in homes:
            continue
        found = pattern.search(_read(root, path))
        if found:
            yield f"{path}: {found.group(0)} may be written only in {', '.join(homes)}: {why}"


def _unit(path):
    return os.path.splitext(path)[0]


def _part(path):
    """The folder of a file; its registry stands apart."""
    folder = os.path.dirname(path)
    return f"{folder}/{_REGISTRY}" if os.path.basename(path) == _REGISTRY else folder


def _circles(includes, part_of):
    """Rules 6 and 7: of each part that leads back to itself the shortest way."""
    parts = {}
    for path, (quoted, _) in includes.items():
        if not path.startswith("tests/"):
            others = {part_of(header) for header in quoted if header in includes} - {part_of(path)}
            parts.setdefault(part_of(path), set()).update(others)
    for start in sorted(parts):
        came_from = {}
        reached = [start]
        for at in reached:
            if start in parts.get(at, ()):
                way = [at]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                yield f"{start}: includes itself through {' and '.join(reversed(way[:-1]))}"
                break
            for other in sorted(parts.get(at, ())):
                if other not in came_from:
                    came_from[other] = at
                    reached.append(other)


def _check_sizes(root, includes):
    """Rule 8."""
    files, lines = {}, {}
    for path in includes:
        room = path.split("/")[0]
        if room == "tests":
            continue
        files[room] = files.get(room, 0) + (path.count("/") == 1)
        lines[room] = lines.get(room, 0) + _read(root, path).count("\n")
    for room in sorted(files):
        if files[room] > _MOST_FILES:
            yield f"{room}/: has {files[room]} files outside of its folders, of at most {_MOST_FILES}; find folders for them"
        if lines[room] > _MOST_SHARE * sum(lines.values()) and sum(lines.values()) > _FEW_LINES:
            yield f"{room}/: has {lines[room] / sum(lines.values()):.0%} of all lines, of at most {_MOST_SHARE:.0%}"


def broken_rules(root):
    includes = read_includes(root)
    broken = []
    for path, (quoted, angled) in includes.items():
        broken += filter(None, (_check_quoted(path, header, includes) for header in quoted))
        broken += filter(None, (_check_angle(path, header) for header in angled))
        broken += _check_shared(path, includes)
        broken += _check_one_place(root, path)
    for path, (quoted, _) in includes.items():
        if path in quoted:
            broken.append(f"{path}: includes itself")
    broken += _circles(includes, _unit)
    broken += _circles(includes, _part)
    broken += _check_sizes(root, includes)
    return broken


def main():
    if len(sys.argv) != 2:
        print("usage: include_rules.py ROOT", file=sys.stderr)
        return 2
    broken = broken_rules(sys.argv[1])
    for line in broken:
        print(line)
    print(f"{len(read_includes(sys.argv[1]))} files, {len(broken)} broken rules")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
