#!/usr/bin/env python3
"""Records, with plain PyTorch, what a GPU machine does: copies, launches, single ops, and training steps of five networks.

    record.py list                                         what would be recorded, in which files
    record.py run --out DIR --device cuda --budget 540     record what DIR lacks, stop cleanly after 540 s
    record.py run --out DIR --device cpu --quick           the same code on a machine without a GPU, in minutes

Files of DIR: copies, launch, ops and one for each network, each a `stowplan.trace` of kind
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

# (file, what it holds)
FILES = (
    ("copies", "pinned and pageable copies, both directions, alone and together; copies on the device, on the host"),
    ("launch", "cost of a launch, kernel-to-kernel gap, nodes of a graph, calls on the host"),
    ("ops", "products, convolutions and memory-bound ops on the device and on the host's CPU"),
    ("gpt2_small", "training steps, eager and compiled: times, memory, Kineto and execution traces"),
    ("resnet50", "the same, also in mixed precision"),
    ("bert_base", "the same as of gpt2_small"),
    ("lstm_seq2seq", "the same as of gpt2_small"),
    ("moe", "the same as of gpt2_small"),
)

TIMING = {
    "probe": {"warmups": 5, "least": 10, "most": 100, "seconds": 0.15},
    "host_probe": {"warmups": 2, "least": 5, "most": 50, "seconds": 0.2},
}
STEP_WARMUPS = 3
QUICK_TIMING = {
    "probe": {"warmups": 1, "least": 3, "most": 5, "seconds": 0.01},
    "host_probe": {"warmups": 1, "least": 3, "most": 5, "seconds": 0.01},
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
        return self._steps.parts(name, device, 1 if options.quick else STEP_WARMUPS, options.out, options.quick, options.marked)

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
        if self._options.part:
            parts = {part: measure for part, measure in parts.items() if part in self._options.part}
        for part, measure in parts.items():
            self.budget.check()
            start = time.monotonic()
            outcome = recording.measure_part(target, part, measure, self._provenance)
            print(f"{name:13} {part:32} {time.monotonic() - start:8.1f} s  {outcome}", flush=True)
        return sum(not target.done(part) for part in parts)


def run(options):
    chosen = [name for name, _ in FILES if not options.only or name in options.only]
    os.makedirs(options.out, exist_ok=True)
    this = Run(options)
    def stop(*unused):  # at once: a network that is compiled asks for no budget
        this.budget.stop()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    missing = 0
    try:
        for name in chosen:
            missing += this.record(name)
    except (recording.BudgetSpent, KeyboardInterrupt) as reason:
        print(f"{str(reason) or 'stopped'}: the same command continues here", flush=True)
        return 1
    if missing:
        print(f"{missing} parts failed; the reasons are in the files", flush=True)
    return 1 if missing else 0


def show(options):
    for name, what in FILES:
        print(f"{name:13} {what}")
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list").set_defaults(do=show)
    verb = verbs.add_parser("run")
    verb.add_argument("--out", required=True, help="folder of the recordings; what it holds is not measured again")
    verb.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    verb.add_argument("--only", action="append", choices=[name for name, _ in FILES])
    verb.add_argument("--part", action="append", help="of a file, as `parts` there calls it; else all")
    verb.add_argument("--marked", action="store_true", help="networks: steps in ranges of NVTX, for another recorder, not traced")
    verb.add_argument("--budget", type=float, help="seconds after which no further measurement starts")
    verb.add_argument("--quick", action="store_true", help="few sizes, tiny inputs, three repeats: to try, not to use")
    verb.add_argument("--revision", help="revision of the sources, where they are not in a git checkout")
    verb.set_defaults(do=run)
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
