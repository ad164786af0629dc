// What recordings of isolated probes say, in the same plain words whoever recorded: stowplan-profile run
// (kind profiler.probes) or profiler/pytorch/record.py (kinds pytorch.copies, pytorch.launch, pytorch.ops).
//
// Recordings of whole steps (profiler.activity, pytorch.<network>, Kineto) are no probes: see step_ops.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cost_models/calibration/facts.h"
#include "cost_models/cost_models.h"
#include "profiler/traces/recording.h"
#include "sim/cluster.h"

namespace stowplan::cost_models {

struct NamedRecording {
  std::string source;  // what messages call it
  profiler::Recording recording;
};

// One op at one size, alone on the device.
struct ObservedOp {
  sim::DeviceClass device_class = sim::DeviceClass::kGpu;
  std::string op;      // "gemm": the probes' word
  std::string phase;   // "forward"
  std::string format;  // "f32", "tf32", "f16", "bf16"
  std::vector<std::pair<std::string, std::int64_t>> shape;
  Repeats hot;
  std::optional<Repeats> cold;
  std::string workload;  // that it belongs to; empty = none
};

std::string LabelOf(const ObservedOp& op);  // "gemm f32 m=64 n=32 k=16"

// One op of a graph, alone on the device (`stowplan-profile run --graph`).
struct ObservedGraphOp {
  sim::DeviceClass device_class = sim::DeviceClass::kGpu;
  std::shared_ptr<const sim::OpGraph> graph;  // the op, which is the last, behind sources for what it reads
  std::int64_t count = 1;                     // ops of its graph that it stands for
  bool stand_in = false;                      // by what the executor runs in its place
  Repeats hot;
  std::optional<Repeats> cold;
};

enum class CopyPath : std::uint8_t {
  kPinnedToDevice,
  kPinnedToHost,
  kPageableToDevice,
  kPageableToHost,
  kOnDevice,
  kPeerThere,
  kPeerBack,
  kBetweenCpus
};
inline constexpr int kCopyPaths = 8;
const char* ToString(CopyPath path);  // "pinned h2d"

struct ObservedCopy {
  sim::Bytes bytes = 0;
  Repeats alone;  // between two events; of pageable memory, which has none: on the host's clock
  bool events = false;
  std::optional<Repeats> host;    // from idle to idle on the host's clock, where `alone` is between events
  std::optional<Repeats> call;    // the host's call alone, where it does not wait for the copy
  std::optional<Repeats> queued;  // of a queue of such copies, each
  std::optional<Repeats> busy;    // the same while the other direction copies
};

// Two streams, alone and together.
struct ObservedPair {
  std::string name;
  std::int64_t calls = 0;  // on each stream
  bool with_copy = false;  // the second stream copies
  // Of CPU devices: at which end of the copies the ops are. One of an accelerator is both.
  enum class End : std::uint8_t { kBoth, kReceiver, kSender } end = End::kBoth;
  Repeats first, second, both;
};

struct ObservedNodes {
  std::int64_t nodes = 0;
  Repeats replay;  // divided by the nodes
};

// What it costs beyond their work to get ops under way on an accelerator, or on a CPU device, and to run them side by side.
struct IssueProbes {
  std::optional<Repeats> dispatch;       // the host's time for one op
  std::optional<Repeats> kernel_launch;  // for one empty kernel
  std::optional<Repeats> kernel_gap;     // the transition from a kernel to the next in a full queue
  std::optional<Repeats> launch_to_start;
  std::vector<ObservedNodes> nodes;  // by nodes
  std::vector<ObservedPair> pairs;
};
Repeats RepeatsOf(const std::vector<double>& samples_us);

struct Observations {
  std::vector<ObservedOp> ops;                   // by device class, op, phase, format, shape
  std::vector<ObservedGraphOp> graph_ops;        // as recorded
  std::vector<ObservedCopy> copies[kCopyPaths];  // by bytes
  bool peers_through_host = false;               // copies between GPUs that do not reach each other's memory
  IssueProbes accelerator, cpu;
  // Between two events on the device: with nothing, and with one empty kernel between them.
  std::optional<Repeats> event_pair;
  std::optional<Repeats> empty_kernel;
  // What an empty kernel of a full queue takes, its transition to the next too.
  std::optional<Repeats> queued_kernel;
  // Contractions whose f32 ops the recorder's own executor, or its framework as it was found, runs in TF32.
  Tf32Classes tf32 = Convolutions();
  std::vector<std::string> left_out;  // what was recorded and is not used, one sentence each
};

// Independent of the order of the recordings. Throws InputError: a recording that is not of probes, a quick one,
// a damaged row, a part that two recordings hold, nothing measured at all.
Observations Observe(std::vector<NamedRecording> recordings);

// What the time between two events around an op holds beyond its kernels and one transition to the next kernel [us].
// Around an empty kernel there is the same excess: what that takes in a full queue is taken off it. Without that probe
// the events alone: an empty kernel between them adds one transition, which is the op's.
double ExcessOfEvents(const Observations& observed);

// That `recording` holds whole steps, not probes.
bool IsOfSteps(const profiler::Recording& recording);

}  // namespace stowplan::cost_models
