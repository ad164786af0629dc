#include "scenarios/importers/trace/kineto_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "profiler/traces/correlation.h"
#include "profiler/traces/kineto.h"
#include "scenarios/importers/aten.h"
#include "scenarios/importers/trace/kernel_classes.h"
#include "scenarios/importers/trace/notes.h"
#include "scenarios/importers/trace/ranges.h"
#include "scenarios/importers/trace/timeline.h"
#include "scenarios/importers/trace/times.h"
#include "scenarios/importers/trace/types.h"
#include "sim/base/error.h"
#include "sim/formats/collectives.h"
#include "sim/formats/document/source.h"

namespace stowplan::scenarios::trace {
namespace {

using profiler::Marker;
using profiler::WorkRef;

constexpr std::string_view kModule = "nn.Module: ";

// Has a kernel of its own, or several that belong together.
bool IsDispatched(const Marker& marker) {
  return marker.what == Marker::What::kOp && marker.name.find("::") != std::string::npos &&
         !marker.name.starts_with("autograd::") && !marker.name.starts_with("torch::autograd");
}

// The type of what PyTorch calls so; empty where that says none.
std::string_view TypeNamed(std::string_view name) {
  if (!name.starts_with("aten::")) return {};
  if (const AtenType* row = FindAtenType(PlainName(name))) return row->type;
  const std::string_view plain = PlainName(name);
  return plain.ends_with("convolution") || plain.ends_with("convolution_relu") ? "Conv2D"
                                                                               : std::string_view();
}

// A name of an op: what stands in it of C++'s types would make it long.
std::string ShortName(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  kernel = kernel.substr(0, kernel.find_first_of("<( "));
  constexpr std::size_t kMost = 80;
  std::string name(LocalName(kernel).substr(0, kMost));
  for (char& c : name) c = c == '/' || c == ':' ? '.' : c;
  return name.empty() ? "kernel" : name;
}

class KinetoBuilder {
 public:
  explicit KinetoBuilder(const profiler::ActivityTrace& trace) : trace_(trace), ranges_(trace.markers) {}

  sim::OpGraph OfDevices() {
    const profiler::Correlation correlation = profiler::Correlate(trace_);
    std::vector<std::ptrdiff_t> owners;
    for (const profiler::LinkedWork& linked : correlation.work) {
      owners.push_back(OwnerOf(linked));
      device_us_ += Micros(linked.device_time);
    }
    timeline_ = ReadTimeline(trace_, correlation, owners);
    for (const Issue& issue : timeline_.issues) {
      sim::Op op = issue.work.empty() ? WaitOp() : WorkOp(correlation, issue);
      op.attributes.emplace_back("host_us", sim::Attribute{issue.host_us});
      if (issue.host_waits) op.attributes.emplace_back("host_waits", sim::Attribute{true});
      for (const std::size_t before : issue.after) op.control.push_back(static_cast<sim::OpIndex>(before));
      graph_.ops.push_back(std::move(op));
    }
    graph_.attributes.emplace_back("streams", sim::Attribute{StreamsFor(timeline_)});
    return std::move(graph_);
  }

  // Of a CPU alone: what no other op called, in the order in which it began. What ran beside it on another thread takes what is
  // left of its time.
  sim::OpGraph OfHost() {
    std::vector<std::size_t> outermost;
    const auto& markers = trace_.markers;
    for (std::size_t i = 0; i < markers.size(); ++i) {
      if (!IsDispatched(markers[i])) continue;
      if (ranges_.Nearest(ranges_.Outer(i), IsDispatched) == kNoRange) outermost.push_back(i);
    }
    std::ranges::stable_sort(outermost, {}, [&](std::size_t i) { return markers[i].start; });
    profiler::Nanos reached = outermost.empty() ? 0 : markers[outermost.front()].start;
    const profiler::Nanos begin = reached;
    for (const std::size_t i : outermost) {
      const profiler::Nanos idle = std::max<profiler::Nanos>(markers[i].start - reached, 0);
      const profiler::Nanos takes = std::max<profiler::Nanos>(markers[i].end - reached - idle, 0);
      sim::Op op = NamedOp(LocalName(markers[i].name), TypeNamed(markers[i].name), i);
      op.attributes.emplace_back("traced_on", sim::Attribute{"cpu"});
      op.attributes.emplace_back("host_us", sim::Attribute{Micros(idle)});
      op.cost_us_by_kind = {{"cpu", Micros(takes)}};
      if (!graph_.ops.empty()) op.control = {graph_.size() - 1};
      graph_.ops.push_back(std::move(op));
      reached += idle + takes;
    }
    timeline_.step_us = Micros(reached - begin);
    return std::move(graph_);
  }

  // What a job needs to know of it.
  void TellOthers(TracedRank& rank) const {
    rank.collectives = rank_collectives_;
    for (const Issue& issue : timeline_.issues) rank.starts.push_back(trace_.base_ns + issue.start);
    profiler::ForEachDeviceWork(trace_, [&](const profiler::DeviceWork& work) {
      rank.end = std::max(rank.end, trace_.base_ns + work.end);
    });
  }

  // Of the graph that was built.
  const Timeline& timeline() const { return timeline_; }
  double device_us() const { return device_us_; }  // that all device work took
  const std::map<std::string, std::int64_t>& collectives() const { return collectives_; }

 private:
  static std::ptrdiff_t Signed(std::size_t range) {
    return range == kNoRange ? profiler::kNobody : static_cast<std::ptrdiff_t>(range);
  }

  // The innermost range around its launch.
  std::size_t Around(const profiler::LinkedWork& linked) const {
    if (linked.call == profiler::kNobody)
      return linked.op == profiler::kNobody ? kNoRange : static_cast<std::size_t>(linked.op);
    const profiler::ApiCall& call = trace_.calls[static_cast<std::size_t>(linked.call)];
    const std::size_t around = ranges_.Around(call.process, call.thread, call.start);
    return around == kNoRange && linked.op != profiler::kNobody ? static_cast<std::size_t>(linked.op)
                                                                : around;
  }

  std::ptrdiff_t OwnerOf(const profiler::LinkedWork& linked) const {
    if (linked.call != profiler::kNobody &&
        profiler::IsGraphLaunch(trace_.calls[static_cast<std::size_t>(linked.call)].name))
      return profiler::kNobody;
    return Signed(ranges_.Nearest(Around(linked), IsDispatched));
  }

  sim::Op NamedOp(std::string_view name, std::string_view type, std::size_t around) {
    sim::Op op;
    op.name = fmt::format("{}#{}", name, graph_.size());
    op.type = type.empty() ? "other." + std::string(name) : std::string(type);
    op.phase = PhaseOf(around);
    const std::size_t asked = ranges_.Nearest(around, IsDispatched);
    if (asked != kNoRange) {
      op.attributes.emplace_back("torch_op", sim::Attribute{trace_.markers[asked].name});
      AddShapes(trace_.markers[asked], op);
    }
    if (std::string module = ModuleOf(around); !module.empty())
      op.attributes.emplace_back("module", sim::Attribute{std::move(module)});
    return op;
  }

  static void AddShapes(const Marker& marker, sim::Op& op) {
    for (const auto& [key, as] :
         {std::pair("Input Dims", "input_dims"), std::pair("Input type", "input_types")})
      if (const sim::Attribute* told = sim::FindAttribute(marker.attributes, key))
        op.attributes.emplace_back(as, *told);
  }

  std::string PhaseOf(std::size_t around) const {
    const auto starts = [](std::string_view with) {
      return [with](const Marker& marker) { return marker.name.starts_with(with); };
    };
    if (ranges_.Nearest(around, starts("Optimizer.step")) != kNoRange) return "update";
    if (ranges_.Nearest(around, starts("autograd::engine::evaluate_function")) != kNoRange) return "backward";
    return "forward";
  }

  // "BertModel_0.BertLayer_3" of the ranges of modules around it.
  std::string ModuleOf(std::size_t around) const {
    const auto is_module = [](const Marker& marker) { return marker.name.starts_with(kModule); };
    std::string path;
    for (std::size_t range = ranges_.Nearest(around, is_module); range != kNoRange;
         range = ranges_.Nearest(ranges_.Outer(range), is_module)) {
      const std::string_view name = std::string_view(trace_.markers[range].name).substr(kModule.size());
      path = path.empty() ? std::string(name) : fmt::format("{}.{}", name, path);
    }
    return path;
  }

  static sim::Op Timed(sim::Op op, double cost_us) {
    op.cost_us_by_kind = {{"gpu", cost_us}};
    return op;
  }

  sim::Op WaitOp() const {
    sim::Op op;
    op.name = fmt::format("synchronize#{}", graph_.size());
    op.type = "Synchronize";
    op.cost_us = 0;
    return op;
  }

  std::string NameOf(const WorkRef& ref) const {
    if (ref.list == WorkRef::List::kKernels) return trace_.kernels[ref.index].name;
    return ref.list == WorkRef::List::kCopies ? "Memcpy" : "Memset";
  }

  sim::Op WorkOp(const profiler::Correlation& correlation, const Issue& issue) {
    const profiler::LinkedWork& first = correlation.work[issue.work.front()];
    const std::size_t around = Around(first);
    const std::string kernel = NameOf(first.work);
    const auto collective = CollectiveOf(trace_.markers, ranges_, around, kernel);
    const std::size_t asked =
        OwnerOf(first) == profiler::kNobody ? kNoRange : ranges_.Nearest(around, IsDispatched);
    std::string_view type = asked != kNoRange ? TypeNamed(trace_.markers[asked].name) : std::string_view();
    if (type.empty()) type = KernelClass(kernel);
    if (first.work.list == WorkRef::List::kCopies) type = "Copy";
    const std::string own = collective ? formats::NoCollective(collective->type) : std::string(type);
    std::string name =
        asked != kNoRange ? std::string(LocalName(trace_.markers[asked].name)) : ShortName(kernel);
    sim::Op op = NamedOp(collective ? "nccl." + collective->type : name, own, around);
    op.attributes.emplace_back("kernel", sim::Attribute{kernel.substr(0, 200)});
    if (collective) {
      for (auto& attribute : AttributesOf(*collective)) op.attributes.push_back(std::move(attribute));
      ++collectives_[collective->type];
      const profiler::Nanos all = std::llround(issue.cost_us * 1e3);
      const profiler::Nanos takes = std::min(first.device_time, all);
      rank_collectives_.push_back({graph_.size(), collective->type, collective->group, takes, all - takes});
    }
    const profiler::DeviceWork& work = profiler::WorkAt(trace_, first.work);
    op.attributes.emplace_back("traced_on", sim::Attribute{fmt::format("cuda:{}", work.device)});
    op.attributes.emplace_back("stream", sim::Attribute{std::int64_t{issue.stream}});
    if (issue.gap_us > 0) op.attributes.emplace_back("gap_us", sim::Attribute{issue.gap_us});
    return Timed(std::move(op), issue.cost_us);
  }

  const profiler::ActivityTrace& trace_;
  const Ranges ranges_;
  sim::OpGraph graph_;
  Timeline timeline_;
  double device_us_ = 0;
  std::map<std::string, std::int64_t> collectives_;
  std::vector<TracedRank::Collective> rank_collectives_;
};

std::vector<std::string> KinetoNotes(const KinetoBuilder& builder, const profiler::KinetoTrace& read,
                                     double device_us, const ImportOptions& options) {
  const Timeline& timeline = builder.timeline();
  std::vector<std::string> notes;
  notes.push_back(fmt::format("the traced step took {:.6g} us", timeline.step_us));
  if (device_us > 0) {
    notes.back() += fmt::format(
        " from the first record of a device to the last; its device{} worked {:.6g} us, on {} stream{}",
        read.gpu.empty() ? "" : " (" + read.gpu + ")", device_us, timeline.streams,
        timeline.streams == 1 ? "" : "s");
    const StepShares shares = SharesOf(read.trace);
    notes.push_back(
        fmt::format("the device computed {:.1f} % of the step, only communicated, copied or cleared {:.1f} "
                    "%, and was idle {:.1f} %",
                    100 * shares.compute, 100 * shares.other, 100 * shares.idle));
    if (options.gpu.empty())
      notes.emplace_back(
          "every GPU is taken to be as fast as the one recorded; --gpu KIND says which kind it is");
  }
  notes.emplace_back(
      "a Kineto trace has no tensors: ops have no bytes, and what could run side by side on other devices "
      "is not known; the execution trace of the same run, with this one as --kineto, tells both");
  if (read.cut) notes.emplace_back(kCutNote);
  if (timeline.unlaunched > 0)
    notes.push_back(
        fmt::format("{} pieces of device work were launched before the recording began; they run "
                    "when they ran, and no host issues them",
                    timeline.unlaunched));
  if (timeline.gap_us > 0)
    notes.push_back(fmt::format(
        "{:.6g} us of waiting on the device have no recorded reason; they are part of the ops behind them",
        timeline.gap_us));
  std::int64_t steps = 0;
  for (const Marker& marker : read.trace.markers)
    steps += marker.name.starts_with("ProfilerStep#") && marker.what == Marker::What::kAnnotation ? 1 : 0;
  if (steps > 1) notes.push_back(fmt::format("holds {} steps, one behind the other; record one", steps));
  if (!builder.collectives().empty()) {
    std::string text;
    for (const auto& [type, count] : builder.collectives())
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", type, count);
    notes.push_back(
        "one process of several: collectives take the time they took here, waiting for the others "
        "included: " +
        text);
  }
  return notes;
}

}  // namespace

TracedRank ReadTracedRank(const std::string& content, const std::string& source,
                          const ImportOptions& options) {
  profiler::KinetoTrace read = profiler::ParseKineto(content, source);
  const std::string repaired = Sanitise(read, source);
  const bool has_device = HasDeviceWork(read.trace);
  KinetoBuilder builder(read.trace);
  TracedRank rank;
  rank.graph = has_device ? builder.OfDevices() : builder.OfHost();
  sim::OpGraph& graph = rank.graph;
  if (graph.ops.empty())
    throw InputError(source +
                     ": holds no op of PyTorch and no work of a device; record while the model runs");
  graph.name =
      formats::NameFromSource(source.ends_with(".gz") ? source.substr(0, source.size() - 3) : source);
  const double device_us = builder.device_us();
  graph.attributes.insert(graph.attributes.begin(), {{"captured_from", {"torch Kineto trace"}},
                                                     {"traced_step_us", {builder.timeline().step_us}},
                                                     {"traced_device_us", {device_us}}});
  rank.notes = KinetoNotes(builder, read, device_us, options);
  if (!repaired.empty()) rank.notes.push_back(repaired);
  builder.TellOthers(rank);
  return rank;
}

ImportedGraph ReadKinetoGraph(const std::string& content, const std::string& source,
                              const ImportOptions& options) {
  TracedRank rank = ReadTracedRank(content, source, options);
  formats::CheckedAt(source, [&] { rank.graph.Finish(); });
  return {std::move(rank.graph), std::move(rank.notes)};
}

}  // namespace stowplan::scenarios::trace
