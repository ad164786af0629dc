#include "profiler/probes.h"

#include <algorithm>
#include <map>

#include "profiler/op_cases.h"
#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

constexpr char kOps[] =
    "hot: time between two events around one call that was queued behind a waiting kernel, operands as the "
    "repeats "
    "before left them in the caches; cold: the same after 256 MiB of other memory were written. Excluded: "
    "the call, "
    "allocation, the choice of an algorithm. On a CPU: host clock around the op on all cores that were given";
constexpr char kCopies[] =
    "host: host clock, device idle before and after, the call and the waiting included; but of pageable "
    "memory also "
    "call: the enqueuing call alone, queue empty; device: time between two events around one copy behind a "
    "waiting "
    "kernel; "
    "queued: around `queued_copies` of one queue, divided by their number";

}  // namespace

const std::vector<Probe>& Probes() {
  static const std::vector<Probe> probes = {
      {"gemm", "matrix products, single and batched, in f32, tf32, f16 and bf16", kOps, GemmCases},
      {"conv2d", "convolutions: forward, data gradient, filter gradient", kOps, ConvolutionCases},
      {"elementwise", "add, relu, gelu, tanh, copy over a grid of sizes; concatenation", kOps,
       ElementwiseCases},
      {"reduction", "sums of rows, sums of columns", kOps, ReductionCases},
      {"softmax", "softmax of rows, forward and backward", kOps, SoftmaxCases},
      {"norm", "layer and batch normalisation, forward and backward", kOps, NormCases},
      {"embedding", "gather of rows of a table, and the scatter of their gradient", kOps, EmbeddingCases},
      {"lstm_cell", "one step of an LSTM: two products and the gates", kOps, LstmCases},
      {"attention", "two batched products and a softmax between them", kOps, AttentionCases},
      {"optimizer", "updates of SGD with momentum and of Adam", kOps, OptimizerCases},
      {"copy_h2d_pinned", "host to device, pinned memory, 4 B to 1 GiB", kCopies, nullptr, "cuda"},
      {"copy_d2h_pinned", "device to host, pinned memory, 4 B to 1 GiB", kCopies, nullptr, "cuda"},
      {"copy_h2d_pageable", "host to device, pageable memory, 4 B to 1 GiB", kCopies, nullptr, "cuda"},
      {"copy_d2h_pageable", "device to host, pageable memory, 4 B to 1 GiB", kCopies, nullptr, "cuda"},
      {"copy_on_device", "device to device on one device, 4 B to 1 GiB", kCopies, nullptr, "cuda"},
      {"copy_both_pinned", "both directions at once, pinned memory",
       "busy: as queued of copy_*_pinned, for each direction while the other copies without a break; "
       "`covered` says "
       "whether the other's last copy ended after this one's",
       nullptr, "cuda"},
      {"copy_peer_there", "from the first visible GPU to the second, 4 B to 1 GiB", kCopies, nullptr, "cuda"},
      {"copy_peer_back", "from the second visible GPU to the first, 4 B to 1 GiB", kCopies, nullptr, "cuda"},
      {"copy_both_peer", "between two GPUs, both directions at once",
       "busy: as of copy_both_pinned; `through_host` of copy_peer_* says that the GPUs do not reach each "
       "other's "
       "memory",
       nullptr, "cuda"},
      {"launch", "cost of launching an empty kernel, of an event, of waiting",
       "call: host clock around 100 launches, queue empty at the first, divided by 100; roundtrip: from the "
       "call to "
       "the device being idle again; queued: time between two events around 500 launches that were all "
       "queued before "
       "the first started, divided by 500; event_pair: time between two events with nothing between them, "
       "which "
       "device times of other probes contain once",
       nullptr, "cuda"},
      {"empty_kernel", "one empty kernel between two events",
       "device: time between two events around one empty kernel that was queued behind a waiting kernel: "
       "what `device` and `hot` of other probes contain beside the work; event_pair: the same without the "
       "kernel",
       nullptr, "cuda"},
      {"graph_node", "cost of one node of a CUDA graph",
       "replay: time between two events around one replay of a graph of n empty kernels in a row, divided by "
       "n; call: "
       "host clock around the launching call",
       nullptr, "cuda"},
      {"allocation", "allocating and freeing device and pinned memory",
       "host clock around the call, device idle: allocate and free, of cudaMalloc, of cudaMallocAsync from "
       "its warm "
       "pool (with a wait for the stream), of cudaMallocHost",
       nullptr, "cuda"},
      {"streams", "two streams at once: compute with compute, compute with copy",
       "first, second: host clock from idle to idle around each stream's work alone (of copies a tenth of "
       "the "
       "calls, so that the ops outlast them); both: around both, enqueued in "
       "turn, on two streams. Overlap is perfect if both = max(first, second), absent if both = first + "
       "second",
       nullptr, "cuda"},
      // The last on a GPU: a recorder that was once there may slow down what is measured behind it.
      {"kernel_gap", "kernel to kernel, by the device's own records",
       "from records of 300 empty kernels: kernel: their duration; gap_queued: idle time between neighbours "
       "when the "
       "queue is never empty; launch_call: duration of the call; launch_to_start: from the start of the call "
       "to the "
       "start of its kernel when the device is idle before",
       nullptr, "cuda"},
      {"copy_host", "host memory to host memory, 4 B to 1 GiB",
       "host: host clock around one copy by one thread that the cores were pinned to, both ends as the "
       "repeats before "
       "left them in the caches; cold: the same after more than the caches hold was written. Excluded: the "
       "first touch of the pages",
       nullptr, "cpu"},
      {"copy_cores", "from one CPU device to another, up to 4 MiB",
       "host: host clock from the end of the op that writes the bytes on one device to the end of their copy "
       "by the other's "
       "thread, which waits for nothing else; both directions, all sizes in turn; 0 bytes: a dependency. "
       "Devices of --cores "
       "each",
       nullptr, "cpu"},
      {"dispatch", "from op to op on a CPU device",
       "gap: host clock from the end of an op to the start of the one that waits for it, in a chain of small "
       "ops, without what "
       "reading the clock takes",
       nullptr, "cpu"},
      {"overlap", "a CPU device that computes while it sends or receives",
       "first: host clock, a chain of ops alone; second: what its device's copies take in a step; both: the "
       "chain with those "
       "copies beside it. Rate kept beside a copy = 1 - (both - first) / second",
       nullptr, "cpu"},
  };
  return probes;
}

const Probe* FindProbe(std::string_view name) {
  for (const Probe& probe : Probes()) {
    if (name == probe.name) return &probe;
  }
  return nullptr;
}

std::vector<sim::Bytes> CopySizes(bool quick) {
  std::vector<sim::Bytes> sizes;
  for (int power = 2; power <= (quick ? 22 : 30); power += quick ? 4 : 1)
    sizes.push_back(sim::Bytes{1} << power);
  return sizes;
}

}  // namespace stowplan::profiler
