#include "scenarios/importers/trace/times.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "profiler/traces/correlation.h"
#include "profiler/traces/kineto.h"
#include "profiler/traces/sanitiser.h"
#include "sim/base/error.h"

namespace stowplan::scenarios::trace {
namespace {

constexpr double kNanosPerMicro = 1e3;

double Micros(profiler::Nanos nanos) {
  return static_cast<double>(nanos) / kNanosPerMicro;
}

// Newer traces say the record's number, older ones use it as the external id.
std::int64_t RecordOf(const profiler::Marker& marker) {
  const auto record = sim::FindNumber(marker.attributes, "Record function id");
  return record && *record >= 1 && *record < 9e15 ? static_cast<std::int64_t>(*record) : marker.external;
}

// Of each marker its node; kNoNode where the execution trace lacks it.
std::vector<std::size_t> NodesOf(const std::vector<profiler::Marker>& markers,
                                 const ExecutionTrace& execution) {
  std::unordered_map<std::int64_t, std::size_t> by_record;
  for (std::size_t i = 0; i < execution.nodes.size(); ++i) {
    if (execution.nodes[i].record > 0) by_record.emplace(execution.nodes[i].record, i);
  }
  std::vector<std::size_t> nodes;
  for (const profiler::Marker& marker : markers) {
    const auto found = by_record.find(RecordOf(marker));
    const bool is_same = found != by_record.end() && execution.nodes[found->second].name == marker.name;
    nodes.push_back(is_same ? found->second : kNoNode);
  }
  return nodes;
}

// Where `part` stands in `whole`, one item behind the other: the first place, and whether there is another. By Knuth, Morris and
// Pratt, since names of a file may repeat as they like.
struct Place {
  std::size_t first = SIZE_MAX;
  bool is_only = false;
};

Place Find(const std::vector<int>& part, const std::vector<int>& whole) {
  Place place;
  if (part.empty()) return place;
  std::vector<std::size_t> border(part.size(), 0);
  const auto extend = [&](std::size_t length, int item) {
    while (length > 0 && (length == part.size() || part[length] != item)) length = border[length - 1];
    return length + (part[length] == item ? 1 : 0);
  };
  for (std::size_t i = 1; i < part.size(); ++i) border[i] = extend(border[i - 1], part[i]);
  std::size_t length = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    length = extend(length, whole[i]);
    if (length < part.size()) continue;
    place.is_only = place.first == SIZE_MAX;
    if (!place.is_only) return place;
    place.first = i + 1 - part.size();
  }
  return place;
}

// As NodesOf() by the names of each thread's ops in their order, where the two traces number their records differently, as old
// versions did: a thread of the one is that of the other where they stand one behind the other once.
std::vector<std::size_t> NodesByOrder(const std::vector<profiler::Marker>& markers,
                                      const ExecutionTrace& execution) {
  std::unordered_map<std::string_view, int> names;
  std::map<std::int64_t, std::vector<std::size_t>> nodes_of;  // by thread
  for (std::size_t i = 0; i < execution.nodes.size(); ++i) {
    const Node& node = execution.nodes[i];
    if (node.record <= 0) continue;
    names.emplace(node.name, static_cast<int>(names.size()));
    nodes_of[node.thread].push_back(i);
  }
  std::map<std::pair<profiler::Id, profiler::Id>, std::vector<std::size_t>> markers_of;
  for (std::size_t i = 0; i < markers.size(); ++i) {
    if (names.contains(markers[i].name)) markers_of[{markers[i].process, markers[i].thread}].push_back(i);
  }
  std::vector<std::size_t> found(markers.size(), kNoNode);
  for (const auto& [_, nodes] : nodes_of) {
    constexpr std::size_t kLeast = 8;  // fewer stand anywhere by chance
    if (nodes.size() < kLeast) continue;
    std::vector<int> part;
    for (const std::size_t node : nodes) part.push_back(names.at(execution.nodes[node].name));
    const std::vector<std::size_t>* in = nullptr;
    Place at;
    bool is_only = true;
    for (auto& [thread, own] : markers_of) {
      std::ranges::stable_sort(own, [&](std::size_t a, std::size_t b) {
        return std::pair(markers[a].start, -markers[a].end) < std::pair(markers[b].start, -markers[b].end);
      });
      std::vector<int> whole;
      for (const std::size_t marker : own) whole.push_back(names.at(markers[marker].name));
      const Place place = Find(part, whole);
      if (place.first == SIZE_MAX) continue;
      is_only = is_only && in == nullptr && place.is_only;
      in = &own;
      at = place;
    }
    if (in == nullptr || !is_only) continue;
    for (std::size_t i = 0; i < nodes.size(); ++i) found[(*in)[at.first + i]] = nodes[i];
  }
  return found;
}

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

}  // namespace

Times ReadTimes(const std::string& kineto, const std::string& source, const ExecutionTrace& execution,
                const std::string& execution_source) {
  profiler::KinetoTrace read = profiler::ParseKineto(kineto, source);
  profiler::ActivityTrace trace = std::move(read.trace);
  std::size_t records = 0;
  profiler::ForEachDeviceWork(trace, [&](const auto&) { ++records; });
  if (records > 0) {  // of a CPU alone there is no device to be told of
    profiler::SanitisedTrace clean = profiler::Sanitise(std::move(trace));
    if (clean.verdict == profiler::SanitisedTrace::Verdict::kRefused)
      throw InputError(fmt::format("{}: {}", source, clean.sentence));
    trace = std::move(clean.trace);
  }
  Times times;
  times.nodes.resize(execution.nodes.size());
  times.gpu = read.gpu;
  // Half of the ops, so that numbers that happen to be the same do not count.
  const auto covers = [&](const std::vector<std::size_t>& node_of) {
    std::size_t ops = 0, matched = 0;
    for (const Node& node : execution.nodes) ops += node.has_schema ? 1 : 0;
    for (const std::size_t node : node_of)
      matched += node != kNoNode && execution.nodes[node].has_schema ? 1 : 0;
    return std::tuple(2 * matched >= ops && matched > 0, matched, ops);
  };
  std::vector<std::size_t> node_of = NodesOf(trace.markers, execution);
  if (const auto [is_same, matched, ops] = covers(node_of); !is_same) {
    node_of = NodesByOrder(trace.markers, execution);
    times.by_order = std::get<0>(covers(node_of));
    if (!times.by_order) {
      throw InputError(
          fmt::format("{}: has {} of the {} ops of {} (same number and name); both must be of one run of "
                      "torch.profiler with an ExecutionTraceObserver",
                      source, matched, ops, execution_source));
    }
  }
  Span host, device;
  for (std::size_t i = 0; i < node_of.size(); ++i) {
    if (node_of[i] == kNoNode) continue;
    const profiler::Marker& marker = trace.markers[i];
    NodeTime& time = times.nodes[node_of[i]];
    time.is_told = true;
    time.host_us = std::max(0.0, Micros(marker.end - marker.start));
    host.Add(marker.start, marker.end);
  }
  for (const profiler::LinkedWork& linked : profiler::Correlate(trace).work) {
    const profiler::DeviceWork& work = profiler::WorkAt(trace, linked.work);
    device.Add(work.start, work.end);
    times.device_us += Micros(linked.device_time);
    const std::size_t node =
        linked.op == profiler::kNobody ? kNoNode : node_of[static_cast<std::size_t>(linked.op)];
    if (node == kNoNode) continue;
    NodeTime& time = times.nodes[node];
    time.device_us += Micros(linked.device_time);
    if (linked.work.list != profiler::WorkRef::List::kKernels) continue;
    const Arithmetic arithmetic = ArithmeticOf(trace.kernels[linked.work.index].name);
    if (arithmetic == Arithmetic::kTf32) time.tf32_us += Micros(linked.device_time);
    if (arithmetic == Arithmetic::kF32) time.f32_us += Micros(linked.device_time);
  }
  times.step_us = records > 0 ? device.us() : host.us();
  return times;
}

}  // namespace stowplan::scenarios::trace
