#!/usr/bin/env python3
"""Records, with plain PyTorch, what a GPU machine does: copies, launches, single ops, and training steps of five networks.

    record.py list                                         what would be recorded, in which files and parts
    record.py run --out DIR --device cuda --budget 540     record what DIR lacks, stop cleanly after 540 s
    record.py run --out DIR --device cpu --quick           the same code on a machine without a GPU, in minutes
    record.py pack DIR --out DIR2                          the recordings in at most 8 tar files of at most 15 MiB
    record.py self-test                                    the parts that need no torch, tested

Files of DIR: copies, launch, ops (entry 0) and one for each network (entry 3), each a `stowplan.trace` of kind
`pytorch.<name>`, compressed; beside them the Kineto traces of single steps. What every number means is in the file
itself under `meaning`, and in README.md beside this program. A part that is done is not measured again, so the same
command continues a run that was cut off; recordings of another machine or library are refused, not mixed.

Exit status: 0 everything asked for is recorded (or cannot be had here, with the reason in the file), 1 something failed
or is still missing, 2 the call is wrong.
"""

import argparse
import os
import shlex
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine  # noqa: E402
import recording  # noqa: E402

# (file, entry of the queue of recordings, what it holds)
FILES = (
    ("copies", 0, "pinned and pageable copies, both directions, alone and together; copies on the device, on the host"),
    ("launch", 0, "cost of a launch, kernel-to-kernel gap, nodes of a graph, calls on the host"),
    ("ops", 0, "products, convolutions and memory-bound ops on the device and on the host's CPU"),
    ("resnet152", 3, "training steps, memory, Kineto traces, CUDA graph, CPU+GPU placements"),
    ("inception_v3", 3, "the same"),
    ("bert_base", 3, "the same"),
    ("gpt2_small", 3, "the same"),
    ("lstm_seq2seq", 3, "the same"),
)

TIMING = {
    "probe": {"warmups": 5, "least": 10, "most": 100, "seconds": 0.15},
    "host_probe": {"warmups": 2, "least": 5, "most": 50, "seconds": 0.2},
    "step": {"warmups": 10, "least": 30, "most": 50, "seconds": 2.0},
}
QUICK_TIMING = {
    "probe": {"warmups": 1, "least": 3, "most": 5, "seconds": 0.01},
    "host_probe": {"warmups": 1, "least": 3, "most": 5, "seconds": 0.01},
    "step": {"warmups": 1, "least": 3, "most": 3, "seconds": 0.0},
}


class Run:
    """One call of `run`: the device, the timers, and the parts of each file."""

    def __init__(self, options):
        import copies
        import device
        import launch
        import ops
        import steps

        self._modules = {"copies": copies, "launch": launch, "ops": ops}
        self._steps = steps
        self._options = options
        self.budget = recording.Budget(options.budget)
        self._device = device.Cuda() if options.device == "cuda" else device.Host()
        self._host = device.Host()
        self._timing = QUICK_TIMING if options.quick else TIMING
        self._timer = {kind: device.Timer(self._device, self.budget, **values) for kind, values in self._timing.items()}
        self._timer["host_probe"].device = self._host
        self._clocks = machine.Clocks()
        self._revision = machine.revision(options.revision, os.path.dirname(os.path.abspath(__file__)))
        self._machine = machine.describe()

    def _parts(self, name):
        options, device = self._options, self._device
        if name == "ops":
            return self._modules["ops"].parts(device, self._host, self._timer["probe"], self._timer["host_probe"],
                                              options.quick)
        if name in self._modules:
            return self._modules[name].parts(device, self._timer["probe"], options.quick)
        return self._steps.parts(name, device, self._timer["step"], options.out, options.quick)

    def _header(self, name):
        import torch

        module = self._modules.get(name, self._steps)
        header = {
            "kind": "pytorch." + name,
            "device": self._device.kind,
            "quick": self._options.quick,
            "machine": self._machine,
            "software": {
                "python": sys.version.split()[0],
                "torch": torch.__version__,
                "cuda": torch.version.cuda,
                "cudnn": torch.backends.cudnn.version() if torch.version.cuda else None,
                "threads": torch.get_num_threads(),
                "allow_tf32": {"matmul": torch.backends.cuda.matmul.allow_tf32, "cudnn": torch.backends.cudnn.allow_tf32},
                "cudnn_benchmark": torch.backends.cudnn.benchmark,
                "allocator": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
            },
            "timing": self._timing,
            "meaning": module.MEANING,
        }
        if name not in self._modules:
            import models

            header["model"] = models.MODELS[name].what
        return header

    def _provenance(self):
        return {"command": shlex.join(sys.argv), "revision": self._revision, "clocks": self._clocks.as_found()}

    def record(self, name):
        """The parts of one file; returns how many are neither measured nor impossible here."""
        target = recording.Recording(self._options.out, name, self._header(name))
        parts = self._parts(name)
        for part, measure in parts.items():
            self.budget.check()
            start = time.monotonic()
            outcome = recording.measure_part(target, part, measure, self._provenance)
            print(f"{name:13} {part:32} {time.monotonic() - start:8.1f} s  {outcome}", flush=True)
        return sum(not target.done(part) for part in parts)


def run(options):
    chosen = [name for name, entry, _ in FILES
              if (not options.entry or entry in options.entry) and (not options.only or name in options.only)]
    if not chosen:
        raise recording.RecordingError("no file of that name is in that entry; `record.py list` shows them")
    os.makedirs(options.out, exist_ok=True)
    this = Run(options)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *unused: this.budget.stop())
    missing = 0
    try:
        for name in chosen:
            missing += this.record(name)
    except recording.BudgetSpent as reason:
        print(f"{reason}: the same command continues here", flush=True)
        return 1
    if missing:
        print(f"{missing} parts failed; the reasons are in the files", flush=True)
    return 1 if missing else 0


def show(options):
    for name, entry, what in FILES:
        print(f"entry {entry}  {name:13} {what}")
    return 0


def pack(options):
    for path in recording.pack(options.folder, options.out):
        print(path)
    return 0


def self_test(options):
    import unittest

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    suite = unittest.TestLoader().discover(os.path.join(root, "tests", "profiler"), pattern="*_test.py")
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list").set_defaults(do=show)
    verbs.add_parser("self-test").set_defaults(do=self_test)
    verb = verbs.add_parser("run")
    verb.add_argument("--out", required=True, help="folder of the recordings; what it holds is not measured again")
    verb.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    verb.add_argument("--entry", type=int, action="append", choices=sorted({entry for _, entry, _ in FILES}))
    verb.add_argument("--only", action="append", choices=[name for name, _, _ in FILES])
    verb.add_argument("--budget", type=float, help="seconds after which no further measurement starts")
    verb.add_argument("--quick", action="store_true", help="few sizes, tiny inputs, three repeats: to try, not to use")
    verb.add_argument("--revision", help="revision of the sources, where they are not in a git checkout")
    verb.set_defaults(do=run)
    verb = verbs.add_parser("pack")
    verb.add_argument("folder")
    verb.add_argument("--out", required=True)
    verb.set_defaults(do=pack)
    return parser.parse_args()


def main():
    options = arguments()
    try:
        return options.do(options)
    except (recording.RecordingError, recording.Unavailable) as error:
        print(f"record.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
