"""The PyTorch recorder without PyTorch: a network's step has the kernels that tests/profiler/cuda/cupti_fake records.

MADE_UP_KILLED, MADE_UP_HANGS: the step (NETWORK.WAY) that a signal ends, and that which never ends and does not listen.
"""

import argparse
import ctypes
import gzip
import json
import os
import signal
import time

ADD = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
       "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)")
KERNELS = (("ampere_sgemm_128x64_nn", 100.0), (ADD, 5.0)) * 3

parser = argparse.ArgumentParser()
parser.add_argument("verb")
parser.add_argument("--part", action="append")
parser.add_argument("--marked", action="store_true")
parser.add_argument("--quick", action="store_true")
for name in ("only", "out", "device", "revision", "budget"):
    parser.add_argument("--" + name)
options = parser.parse_args()
if options.only in ("copies", "ops"):
    raise SystemExit
network, way = options.only, options.part[0]
if os.environ.get("MADE_UP_KILLED") == f"{network}.{way}":
    os.kill(os.getpid(), signal.SIGKILL)
if os.environ.get("MADE_UP_HANGS") == f"{network}.{way}":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
if options.marked:  # what NVTX and the driver do in a process that uses CUDA
    ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"]).InitializeInjectionNvtx2(ctypes.c_void_p(1))
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        gpu = ctypes.CDLL(next(line.split()[-1] for line in maps if "libcupti" in line))
    # A step that several buffers hold, and what is no step behind it.
    gpu.fake_push(b"stowplan step")
    gpu.fake_run(b"f32", 2)
    time.sleep(1.2)  # the recorder writes each second
    gpu.fake_run(b"f32", 4)
    gpu.fake_pop()
    gpu.fake_run(b"f32", 5)
os.makedirs(options.out, exist_ok=True)


def write(name, document):
    with gzip.open(os.path.join(options.out, name + ".gz"), "wt", encoding="utf-8") as file:
        json.dump(document, file)


path = os.path.join(options.out, network + ".json.gz")
parts = json.load(gzip.open(path)).get("parts", {}) if os.path.exists(path) else {}
part = {"step": {"median_us": 400.0}, "memory": {"allocated_peak_bytes": 3 << 20, "reserved_peak_bytes": 4 << 20},
        "trace": {"kernels": len(KERNELS)}}
parts[way] = {"outcome": "measured", "date": "2026-11-28", "result": part}
write(network + ".json", {"format": "stowplan.trace", "version": 1, "kind": "pytorch." + network, "device": options.device,
                          "machine": {}, "parts": parts})
events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "ts": 0.0, "dur": 900.0, "pid": 1, "tid": 1}]
for i, (name, us) in enumerate(KERNELS):
    events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 150.0 * i, "dur": 5.0, "pid": 1, "tid": 1,
                "args": {"correlation": i + 1}},
               {"ph": "X", "cat": "kernel", "name": name, "ts": 150.0 * i + 30, "dur": us, "pid": 0, "tid": 7,
                "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
write(f"{network}-{way}.kineto.json", {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": events})
write(f"{network}-{way}.et.json", {"schema": "1.1.1", "nodes": []})
