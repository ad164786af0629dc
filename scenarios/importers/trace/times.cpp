#include "scenarios/importers/trace/times.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "profiler/traces/correlation.h"
#include "profiler/traces/kineto.h"
#include "profiler/traces/sanitiser.h"
#include "scenarios/importers/trace/timeline.h"
#include "sim/base/error.h"

namespace stowplan::scenarios::trace {
namespace {

// What the name of a kernel of products says of its arithmetic, where it says anything: cuDNN's, cuBLAS's and CUTLASS's. Tensor
// cores take f32 as TF32 alone, in the shape 16 x 8 x 8.
enum class Arithmetic : std::uint8_t { kNotTold, kTf32, kF32 };

Arithmetic ArithmeticOf(std::string_view kernel) {
  const auto has = [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; };
  if (has("tf32") || has("s1688") || has("tensor16x8x8")) return Arithmetic::kTf32;
  if (has("sgemm") || has("_ffma_") || has("_f32f32_f32f32_f32_")) return Arithmetic::kF32;
  return Arithmetic::kNotTold;
}

// First start and last end.
class Span {
 public:
  void Add(profiler::Nanos start, profiler::Nanos end) {
    first_ = std::min(first_, start);
    last_ = std::max(last_, end);
  }
  double us() const { return last_ > first_ ? Micros(last_ - first_) : 0; }

 private:
  profiler::Nanos first_ = INT64_MAX / 4;
  profiler::Nanos last_ = INT64_MIN / 4;
};

Span AddHostTimes(Times& times) {
  Span span;
  for (std::size_t i = 0; i < times.trace.markers.size(); ++i) {
    if (times.matching.node_of[i] == kNoNode) continue;
    const profiler::Marker& marker = times.trace.markers[i];
    NodeTime& time = times.nodes[times.matching.node_of[i]];
    time.is_told = true;
    time.host_us = std::max(0.0, Micros(marker.end - marker.start));
    span.Add(marker.start, marker.end);
  }
  return span;
}

Span AddDeviceTimes(Times& times) {
  Span span;
  times.correlation = profiler::Correlate(times.trace);
  for (const profiler::LinkedWork& linked : times.correlation.work) {
    const profiler::DeviceWork& work = profiler::WorkAt(times.trace, linked.work);
    span.Add(work.start, work.end);
    times.device_us += Micros(linked.device_time);
    const std::size_t node = times.NodeOf(linked);
    if (node == kNoNode) continue;
    NodeTime& time = times.nodes[node];
    time.device_us += Micros(linked.device_time);
    if (linked.work.list != profiler::WorkRef::List::kKernels) continue;
    const Arithmetic arithmetic = ArithmeticOf(times.trace.kernels[linked.work.index].name);
    if (arithmetic == Arithmetic::kTf32) time.tf32_us += Micros(linked.device_time);
    if (arithmetic == Arithmetic::kF32) time.f32_us += Micros(linked.device_time);
  }
  return span;
}

}  // namespace

std::string Sanitise(profiler::KinetoTrace& read, const std::string& source) {
  profiler::ActivityTrace& trace = read.trace;
  if (!HasDeviceWork(trace) && trace.calls.empty()) return "";
  // Nobody's clocks are used but for what they show of the host: early starts are told there. A cut trace lacks what it lacks.
  // Where kernels of one stream run into each other, as on AMD's GPUs, each counts from the end of the one before.
  profiler::SanitiserLimits limits{.most_left_out = 0.5, .most_before_launch = 1, .overlap = 1'000'000};
  if (read.cut) limits.most_left_out = 1;
  profiler::SanitisedTrace clean = profiler::Sanitise(std::move(trace), limits);
  if (clean.verdict == profiler::SanitisedTrace::Verdict::kRefused)
    throw InputError(fmt::format("{}: {}", source, clean.sentence));
  trace = std::move(clean.trace);
  return clean.verdict == profiler::SanitisedTrace::Verdict::kRepaired ? clean.sentence : "";
}

bool HasDeviceWork(const profiler::ActivityTrace& trace) {
  return !trace.kernels.empty() || !trace.copies.empty() || !trace.memsets.empty();
}

std::size_t Times::NodeOf(const profiler::LinkedWork& linked) const {
  return linked.op == profiler::kNobody ? kNoNode : matching.node_of[static_cast<std::size_t>(linked.op)];
}

Times ReadTimes(const std::string& kineto, const std::string& source, const ExecutionTrace& execution,
                const std::string& execution_source) {
  profiler::KinetoTrace read = profiler::ParseKineto(kineto, source);
  Times times;
  times.gpu = read.gpu;
  times.cut = read.cut;
  times.repaired = Sanitise(read, source);
  times.trace = std::move(read.trace);
  times.matching = MatchByNumber(times.trace.markers, execution);
  if (!times.matching.is_same_run()) {
    const Matching by_number = std::exchange(times.matching, MatchByOrder(times.trace.markers, execution));
    times.by_order = true;
    if (!times.matching.is_same_run()) {
      throw InputError(fmt::format(
          "{}: has {} of the {} ops of {} (same number and name; {} by the order of their names); "
          "both must be of one run of torch.profiler with an ExecutionTraceObserver",
          source, by_number.matched, by_number.ops, execution_source, times.matching.matched));
    }
  }
  times.nodes.resize(execution.nodes.size());
  const Span host = AddHostTimes(times), device = AddDeviceTimes(times);
  times.step_us = times.correlation.work.empty() ? host.us() : device.us();
  return times;
}

}  // namespace stowplan::scenarios::trace
