#include <algorithm>
#include <array>

#include "profiler/cpu/cpu_executor.h"
#include "profiler/cpu/pace.h"
#include "profiler/cpu/probes.h"
#include "sim/base/statistics.h"

namespace stowplan::profiler {
namespace {

// Traced steps, undisturbed ones unless others will do, a few at a time, so that they can be stopped.
std::vector<ExecutedStep> ProbeSteps(Executor& executor, const sim::Placement& placement,
                                     const ProbeOptions& options) {
  constexpr int kAtOnce = 50;
  std::vector<ExecutedStep> all;
  int run = 0;
  while (static_cast<int>(all.size()) < options.repeats && run < options.at_most) {
    if (options.stop && options.stop()) break;
    for (ExecutedStep& step : executor.Run(placement, {.warm_up = run == 0 ? options.warm_up : 0,
                                                      .steps = options.repeats - static_cast<int>(all.size()),
                                                      .at_most = std::min(kAtOnce, options.at_most - run),
                                                      .pace = options.pace,
                                                      .traced = true})) {
      ++run;
      if (options.disturbed || !step.disturbed) all.push_back(std::move(step));
    }
  }
  return all;
}

// A chain that goes to and fro between two devices: every link sends another size, once each way, and while it
// does nothing else happens. Op 2i sends sizes[i] forth, op 2i + 1 back.
sim::OpGraph CopyChain(const std::vector<sim::Bytes>& sizes) {
  sim::OpGraph graph;
  graph.name = "copies";
  for (std::size_t i = 0; i <= 2 * sizes.size(); ++i) {
    sim::Op op;
    op.name = "op" + std::to_string(i);
    op.type = "Opaque";
    const auto before = static_cast<sim::OpIndex>(i) - 1;
    if (i > 0 && sizes[(i - 1) / 2] > 0) {
      op.inputs = {{before, 0}};
    } else if (i > 0) {
      op.control = {before};
    }
    if (i < 2 * sizes.size() && sizes[i / 2] > 0) {
      op.outputs.emplace_back();
      op.outputs[0].bytes = sizes[i / 2];
    }
    graph.ops.push_back(std::move(op));
  }
  graph.Finish();
  return graph;
}

// A chain of additions of 16 numbers. Before each fourth one an op writes a second-level cache full, so that
// what the executor knows of the next ops is as far away as in a step.
sim::OpGraph SmallChain() {
  constexpr int kLinks = 60;
  constexpr sim::Bytes kCacheFull = sim::Bytes{2} << 20;
  sim::OpGraph graph;
  graph.name = "small";
  const auto add = [&graph](const std::string& type, sim::Bytes bytes) -> sim::Op& {
    sim::Op op;
    op.name = "op" + std::to_string(graph.ops.size());
    op.type = type;
    op.outputs.emplace_back();
    op.outputs[0].bytes = bytes;
    op.outputs[0].dtype = "f32";
    op.outputs[0].shape = {bytes / 4};
    graph.ops.push_back(std::move(op));
    return graph.ops.back();
  };
  add("Placeholder", 64);
  sim::OpIndex before = 0;
  for (int i = 0; i < kLinks; ++i) {
    const auto last = [&] { return static_cast<sim::OpIndex>(graph.ops.size()) - 1; };
    if (i % 4 == 3) {
      add("Opaque", kCacheFull).control = {before};
      const sim::OpIndex wide = last();
      sim::Op& op = add("Add", 64);
      op.inputs = {{before, 0}, {0, 0}};
      op.control = {wide};
    } else {
      add("Add", 64).inputs = {{before, 0}, {0, 0}};
    }
    before = last();
  }
  graph.Finish();
  return graph;
}

// Both devices compute chains of small products; meanwhile what the sources hold goes to where the last op is. By
// kinds: chain of device 0, chain of device 1, sources, the op that reads them when both chains are done.
struct OverlapGraph {
  static constexpr int kLinks = 60, kSources = 8;
  sim::OpGraph graph;
  int device_of(sim::OpIndex op) const { return op < kLinks ? 0 : op < 2 * kLinks ? 1 : -1; }

  sim::Placement Place(sim::DeviceIndex sources, sim::DeviceIndex reader) const {
    sim::Placement placement;
    for (sim::OpIndex op = 0; op < graph.size(); ++op) {
      const int chain = device_of(op);
      placement.device.push_back(chain >= 0 ? chain : op + 1 == graph.size() ? reader : sources);
    }
    return placement;
  }
};

OverlapGraph MakeOverlapGraph(double flops) {
  constexpr sim::Bytes kBytes = sim::Bytes{256} << 10;
  OverlapGraph made;
  made.graph.name = "overlap";
  const auto add = [&made](const char* type) -> sim::Op& {
    sim::Op op;
    op.name = "op" + std::to_string(made.graph.ops.size());
    op.type = type;
    made.graph.ops.push_back(std::move(op));
    return made.graph.ops.back();
  };
  for (int i = 0; i < 2 * OverlapGraph::kLinks; ++i) {
    sim::Op& op = add("Opaque");
    op.flops = flops;
    if (i % OverlapGraph::kLinks > 0) op.control = {i - 1};
  }
  for (int i = 0; i < OverlapGraph::kSources; ++i) {
    add("Placeholder").outputs.emplace_back();
    made.graph.ops.back().outputs[0].bytes = kBytes;
  }
  sim::Op& reader = add("Opaque");
  for (sim::OpIndex op = 2 * OverlapGraph::kLinks; op + 1 < static_cast<sim::OpIndex>(made.graph.ops.size());
       ++op)
    reader.inputs.push_back({op, 0});
  reader.control = {OverlapGraph::kLinks - 1, 2 * OverlapGraph::kLinks - 1};
  made.graph.Finish();
  return made;
}

// When each device was done with its chain [ns].
std::array<double, 2> ChainEnds(const OverlapGraph& overlap, const ExecutedStep& step) {
  std::array<double, 2> ends{};
  for (const OpSpan& span : step.ops) {
    const int device = overlap.device_of(span.op);
    if (device < 0) continue;
    double& end = ends[static_cast<std::size_t>(device)];
    end = std::max(end, static_cast<double>(span.end_ns));
  }
  return ends;
}

}  // namespace

std::vector<sim::Bytes> ProbedCopySizes() {
  return {0, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22};
}

std::vector<ProbedCopy> ProbeCopies(const sim::Cluster& cluster, const CoresByDevice& cores,
                                    const std::vector<sim::Bytes>& sizes, const ProbeOptions& options) {
  const sim::OpGraph graph = CopyChain(sizes);
  const auto executor = MakeCpuExecutor(graph, cluster, cores);
  sim::Placement placement;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) placement.device.push_back(op % 2);
  std::vector<ProbedCopy> probed;
  for (const sim::Bytes bytes : sizes) probed.push_back({.bytes = bytes, .ns = {}});
  for (const ExecutedStep& step : ProbeSteps(*executor, placement, options)) {
    std::vector<std::int64_t> end(graph.ops.size());
    for (const OpSpan& span : step.ops) end[static_cast<std::size_t>(span.op)] = span.end_ns;
    for (const CopySpan& copy : step.copies) {
      const auto producer = static_cast<std::size_t>(copy.tensor.op);
      probed[producer / 2].ns.push_back(copy.end_ns - end[producer]);
    }
  }
  return probed;
}

std::vector<std::int64_t> ProbeDispatch(const sim::Cluster& cluster, const CoresByDevice& cores,
                                        const ProbeOptions& options) {
  const sim::OpGraph graph = SmallChain();
  const auto executor = MakeCpuExecutor(graph, cluster, cores);
  const std::int64_t clock = ClockCost();
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  std::vector<std::int64_t> ns;
  for (const ExecutedStep& step : ProbeSteps(*executor, placement, options)) {
    for (std::size_t i = 1; i < step.ops.size(); ++i)
      ns.push_back(std::max<std::int64_t>(step.ops[i].start_ns - step.ops[i - 1].end_ns - clock, 0));
  }
  return ns;
}

namespace {

std::vector<ProbedOverlap> ProbeOverlapOf(double flops, const sim::Cluster& cluster,
                                          const CoresByDevice& cores, const ProbeOptions& options) {
  const OverlapGraph overlap = MakeOverlapGraph(flops);
  const auto executor = MakeCpuExecutor(overlap.graph, cluster, cores);
  std::vector<ProbedOverlap> probed;
  for (const sim::DeviceIndex from : {0, 1}) {
    std::array<ProbedOverlap, 2> ends;
    for (const ExecutedStep& step : ProbeSteps(*executor, overlap.Place(from, from), options)) {
      for (const std::size_t d : {0, 1}) ends[d].alone.push_back(ChainEnds(overlap, step)[d]);
    }
    for (const ExecutedStep& step : ProbeSteps(*executor, overlap.Place(from, 1 - from), options)) {
      double copying = 0;
      for (const CopySpan& copy : step.copies) copying += static_cast<double>(copy.end_ns - copy.start_ns);
      for (const std::size_t d : {0, 1}) {
        ends[d].copying.push_back(copying);
        ends[d].both.push_back(ChainEnds(overlap, step)[d]);
      }
    }
    for (const sim::DeviceIndex d : {0, 1}) {
      ends[static_cast<std::size_t>(d)].device = d;
      ends[static_cast<std::size_t>(d)].receives = d != from;
      probed.push_back(std::move(ends[static_cast<std::size_t>(d)]));
    }
  }
  return probed;
}

// Or who computes meanwhile has nothing left to be late with.
bool Outlast(const std::vector<ProbedOverlap>& ends) {
  constexpr double kTimes = 2;
  return std::ranges::all_of(ends, [](const ProbedOverlap& end) {
    return end.alone.empty() || end.copying.empty() ||
           Quantile(end.alone, 0.5) > kTimes * Quantile(end.copying, 0.5);
  });
}

}  // namespace

std::vector<ProbedOverlap> ProbeOverlap(const sim::Cluster& cluster, const CoresByDevice& cores,
                                        const ProbeOptions& options) {
  constexpr double kFirst = 1e6, kLast = 64e6;  // of an op: from some tens of microseconds
  for (double flops = kFirst;; flops *= 4) {
    std::vector<ProbedOverlap> ends = ProbeOverlapOf(flops, cluster, cores, options);
    if (flops >= kLast || Outlast(ends) || (options.stop && options.stop())) return ends;
  }
}

}  // namespace stowplan::profiler
