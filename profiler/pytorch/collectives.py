#!/usr/bin/env python3
"""Collectives of all visible GPUs by torch.distributed, one process for each; with --quick two processes on the CPU.

    collectives.py --out FILE [--budget S] [--quick]

Times are those of the slowest process, from a common start on the host's clock to the device being idle, in microseconds.
Exit status 1 where there is no torch.distributed, no backend for these devices, or one device alone.
"""

import argparse
import json
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import recording  # noqa: E402
import torch  # noqa: E402

OPS = ("all_reduce", "all_gather")


def _call(dist, op, tensor, ranks):
    if op == "all_reduce":
        return lambda: dist.all_reduce(tensor)
    parts = [torch.empty_like(tensor) for _ in range(ranks)]
    return lambda: dist.all_gather(parts, tensor)


def _rank(rank, ranks, quick, budget, store, out):
    import torch.distributed as dist

    device = torch.device("cpu") if quick else torch.device("cuda", rank)
    if not quick:
        torch.cuda.set_device(device)
    dist.init_process_group("gloo" if quick else "nccl", init_method="file://" + store, rank=rank, world_size=ranks)
    wait = (lambda: None) if quick else torch.cuda.synchronize
    end = time.monotonic() + budget
    rows = []
    for power in range(2, 14, 4) if quick else range(2, 29, 2):
        for op in OPS:
            over = torch.tensor([float(time.monotonic() > end)], device=device)
            dist.all_reduce(over)  # all stop at the same row
            if over.item() > 0:
                break
            work = _call(dist, op, torch.ones(max(1, (1 << power) // 4), device=device), ranks)
            samples = []
            for turn in range(5 if quick else 25):
                dist.barrier()
                wait()
                start = time.perf_counter_ns()
                work()
                wait()
                took = torch.tensor([(time.perf_counter_ns() - start) / 1e3], device=device)
                dist.all_reduce(took, dist.ReduceOp.MAX)
                if turn >= 2:
                    samples.append(took.item())
            rows.append({"op": op, "bytes": 1 << power, "ranks": ranks, "host": recording.summarise(samples)})
    if rank == 0:
        document = {"format": recording.FORMAT, "version": recording.VERSION, "kind": "pytorch.collectives", "quick": quick,
                    "device": "cpu" if quick else "cuda", "software": {"torch": torch.__version__},
                    "parts": {"collectives": {"outcome": "measured", "date": recording.now(), "result": {"rows": rows}}}}
        recording.write_atomically(out, json.dumps(document).encode())
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--budget", type=float, default=30)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if not torch.distributed.is_available():
        sys.exit("This PyTorch has no torch.distributed.")
    ranks = 2 if options.quick else torch.cuda.device_count()
    if ranks < 2:
        sys.exit("Collectives need two GPUs.")
    if not options.quick and not torch.distributed.is_nccl_available():
        sys.exit("This PyTorch has no NCCL.")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_rank, (ranks, options.quick, options.budget, os.path.join(folder, "store"),
                                            os.path.abspath(options.out)), ranks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
