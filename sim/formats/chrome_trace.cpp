// The timeline as Chrome/Perfetto JSON. A process for each device: its host thread, its streams, its live
// bytes as a counter; a process for the links with a track for each direction; flows from producer through
// transfer to consumer.
//
// Viewers drop slices that overlap on a track without a word, so slices that do (fair sharing, several
// streams) are laid out on as many tracks as they need.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/analysis/lanes.h"
#include "sim/base/error.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"

namespace stowplan::formats {
namespace {

using sim::Cluster;
using sim::DeviceIndex;
using sim::OpGraph;
using sim::OpIndex;
using sim::Outcome;
using sim::Picos;
using sim::Placement;
using sim::Problem;
using sim::TransferTimes;

// A lane as slices of the viewer: its process and the name of its first track.
struct Group {
  int process = 0;
  std::string name;
  sim::Lane lane;
};

// Where an arrow can be fastened: a slice by its track and start.
struct Anchor {
  int process = 0;
  int thread = 0;
  Picos time = 0;
};

bool Contains(const auto& list, const auto& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

class ChromeTrace {
 public:
  ChromeTrace(const Outcome& outcome, const Problem& problem, const Placement& placement)
      : outcome_(outcome),
        problem_(problem),
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        placement_(placement),
        native_(cluster_.rules == sim::Rules::kNative),
        anchor_of_op_(outcome.ops.size()),
        anchor_of_transfer_(outcome.transfers.size()) {}

  std::string Print() {
    out_ = fmt::format(
        "{{\"displayTimeUnit\": \"ms\",\n \"otherData\": {{\"producer\": \"stowplan\", \"graph\": {}, "
        "\"cluster\": {}, \"rules\": \"{}\", \"runtime_us\": {}, \"feasible\": {}}},\n"
        " \"traceEvents\": [",
        JsonString(graph_.name), JsonString(cluster_.name), ToString(cluster_.rules),
        JsonMicros(outcome_.runtime), outcome_.feasible());
    PrintProcesses();
    for (sim::Lane& lane : sim::MakeLanes(problem_, placement_, outcome_))
      PrintGroup(GroupOf(std::move(lane)));
    for (std::size_t i = 0; i < outcome_.transfers.size(); ++i) PrintArrow(i);
    PrintMemory();
    PrintOutOfMemory();
    return out_ + "]}\n";
  }

 private:
  // ---- processes: one for each device, then the links, then the common host thread --------------

  static int ProcessOf(DeviceIndex device) { return device + 1; }
  int ProcessOfLinks() const { return cluster_.size() + 1; }
  int ProcessOfHost() const { return cluster_.size() + 2; }
  bool HasDispatch() const { return native_ && (cluster_.dispatch.automatic || cluster_.dispatch.cost > 0); }
  bool HasCommonHost() const {
    return HasDispatch() && cluster_.dispatch.per == sim::Dispatch::Per::kProcess;
  }

  void PrintProcesses() {
    for (DeviceIndex d = 0; d < cluster_.size(); ++d) {
      const sim::Device& device = DeviceAt(d);
      PrintProcess(ProcessOf(d), fmt::format("{} ({})", device.name, device.kind));
    }
    if (!outcome_.links.empty()) PrintProcess(ProcessOfLinks(), "links");
    if (HasCommonHost()) PrintProcess(ProcessOfHost(), "host");
  }

  void PrintProcess(int process, const std::string& name) {
    Event("{{\"ph\": \"M\", \"pid\": {}, \"name\": \"process_name\", \"args\": {{\"name\": {}}}}}", process,
          JsonString(name));
    Event(
        "{{\"ph\": \"M\", \"pid\": {0}, \"name\": \"process_sort_index\", \"args\": {{\"sort_index\": "
        "{0}}}}}",
        process);
  }

  // ---- what stands on which tracks --------------------------------------------------------------

  Group GroupOf(sim::Lane lane) const {
    Group group{ProcessOfHost(), "host thread", std::move(lane)};
    switch (group.lane.kind) {
      case sim::Lane::Kind::kHost:
        if (group.lane.index >= 0) group.process = ProcessOf(group.lane.index);
        break;
      case sim::Lane::Kind::kDevice:
        group.process = ProcessOf(group.lane.index);
        group.name = "stream";
        break;
      case sim::Lane::Kind::kLink: {
        const sim::Link& link = cluster_.links[static_cast<std::size_t>(group.lane.index)];
        const bool full = link.duplex == sim::Duplex::kFull;
        group.process = ProcessOfLinks();
        group.name = fmt::format("{} {} {} {}", link.name, NodeName(link.ends[group.lane.backward ? 1 : 0]),
                                 full ? "->" : "<->", NodeName(link.ends[group.lane.backward ? 0 : 1]));
        break;
      }
      case sim::Lane::Kind::kChannel:
        group.process = ProcessOf(group.lane.index);
        group.name = "to " + DeviceAt(group.lane.to).name;
        break;
    }
    return group;
  }

  // ---- events -----------------------------------------------------------------------------------

  void PrintGroup(const Group& group) {
    const int first_thread = threads_[group.process] + 1;
    std::int32_t tracks = 0;
    for (const sim::LaneSlice& slice : group.lane.slices) {
      const int thread = first_thread + slice.track;
      if (slice.track == tracks) PrintThread(group, thread, ++tracks);
      PrintSlice(group, thread, slice);
    }
    threads_[group.process] += tracks;
  }

  void PrintThread(const Group& group, int thread, int number) {
    const std::string name = number == 1 ? group.name : fmt::format("{} ({})", group.name, number);
    Event(
        "{{\"ph\": \"M\", \"pid\": {}, \"tid\": {}, \"name\": \"thread_name\", \"args\": {{\"name\": {}}}}}",
        group.process, thread, JsonString(name));
    Event(
        "{{\"ph\": \"M\", \"pid\": {0}, \"tid\": {1}, \"name\": \"thread_sort_index\", \"args\": "
        "{{\"sort_index\": {1}}}}}",
        group.process, thread);
  }

  void PrintSlice(const Group& group, int thread, const sim::LaneSlice& slice) {
    const auto index = static_cast<std::size_t>(slice.index);
    const auto print = [&](const char* category, const std::string& name, const std::string& arguments) {
      Event(
          "{{\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"cat\": \"{}\", \"name\": "
          "{}, "
          "\"args\": {{{}}}}}",
          group.process, thread, JsonMicros(slice.start), JsonMicros(slice.end - slice.start), category,
          JsonString(name), arguments);
    };
    const Anchor anchor{group.process, thread, slice.start};
    switch (group.lane.kind) {
      case sim::Lane::Kind::kHost:
        print("issue", graph_.ops[index].name, "");
        break;
      case sim::Lane::Kind::kDevice:
        print("op", graph_.ops[index].name, "\"type\": " + JsonString(graph_.ops[index].type));
        anchor_of_op_[index] = anchor;
        break;
      case sim::Lane::Kind::kLink:
      case sim::Lane::Kind::kChannel: {
        const TransferTimes& transfer = outcome_.transfers[index];
        print("transfer", TensorName(transfer),
              fmt::format("\"bytes\": {}, \"queued_us\": {}", transfer.bytes, JsonMicros(transfer.queued)));
        if (!slice.again) anchor_of_transfer_[index] = anchor;
        break;
      }
    }
  }

  // From the producer through the transfer to the first consumer that starts on the other device.
  void PrintArrow(std::size_t i) {
    const TransferTimes& transfer = outcome_.transfers[i];
    const OpIndex consumer = FirstConsumer(transfer);
    if (consumer < 0) return;
    const std::string name = JsonString(TensorName(transfer));
    PrintArrowPart("s", i, name, anchor_of_op_[static_cast<std::size_t>(transfer.tensor.op)]);
    PrintArrowPart("t", i, name, anchor_of_transfer_[i]);
    PrintArrowPart("f", i, name, anchor_of_op_[static_cast<std::size_t>(consumer)]);
  }

  void PrintArrowPart(const char* phase, std::size_t id, const std::string& name,
                      const std::optional<Anchor>& anchor) {
    if (!anchor) return;  // a transfer that holds no link
    Event(
        "{{\"ph\": \"{}\", \"bp\": \"e\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"id\": {}, \"cat\": "
        "\"transfer\", "
        "\"name\": {}}}",
        phase, anchor->process, anchor->thread, JsonMicros(anchor->time), id, name);
  }

  OpIndex FirstConsumer(const TransferTimes& transfer) const {
    const sim::TensorRef tensor = transfer.tensor;
    // The published rules send output 0 to those that only wait.
    const std::int32_t waited_for = native_ ? -1 : 0;
    OpIndex first = -1;
    for (const OpIndex op : graph_.consumers(tensor.op)) {
      const auto i = static_cast<std::size_t>(op);
      if (placement_.device[i] != transfer.to) continue;
      const bool reads = Contains(graph_.ops[i].inputs, tensor);
      const bool waits = tensor.output == waited_for && Contains(graph_.ops[i].control, tensor.op);
      if (!reads && !waits) continue;
      if (first < 0 || outcome_.ops[i].start < outcome_.ops[static_cast<std::size_t>(first)].start)
        first = op;
    }
    return first;
  }

  // A counter has one value at a time: the last of each instant.
  void PrintMemory() {
    std::vector<std::optional<sim::MemoryPoint>> pending(cluster_.devices.size());
    const auto flush = [&](std::optional<sim::MemoryPoint>& point) {
      if (!point) return;
      Event(
          "{{\"ph\": \"C\", \"pid\": {}, \"ts\": {}, \"name\": \"memory\", \"args\": {{\"live bytes\": "
          "{}}}}}",
          ProcessOf(point->device), JsonMicros(point->time), point->live);
      point.reset();
    };
    for (const sim::MemoryPoint& point : outcome_.memory) {
      auto& last = pending[static_cast<std::size_t>(point.device)];
      if (last && last->time != point.time) flush(last);
      last = point;
    }
    for (auto& last : pending) flush(last);
  }

  void PrintOutOfMemory() {
    if (outcome_.feasible()) return;
    const sim::OutOfMemory& oom = *outcome_.oom;
    Event(
        "{{\"ph\": \"i\", \"s\": \"p\", \"pid\": {}, \"tid\": 1, \"ts\": {}, \"name\": \"out of memory\", "
        "\"args\": "
        "{{\"op\": {}, \"what\": \"{}\", \"needed_bytes\": {}, \"capacity_bytes\": {}}}}}",
        ProcessOf(oom.device), JsonMicros(oom.time),
        JsonString(graph_.ops[static_cast<std::size_t>(oom.op)].name), ToString(oom.what), oom.needed,
        oom.capacity);
  }

  // ---- helpers ----------------------------------------------------------------------------------

  template <typename... Args>
  void Event(fmt::format_string<Args...> format, Args&&... args) {
    out_ += std::exchange(separator_, ",\n  ");
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  const sim::Device& DeviceAt(DeviceIndex device) const {
    return cluster_.devices[static_cast<std::size_t>(device)];
  }
  std::string NodeName(std::int32_t node) const {
    return node < cluster_.size() ? DeviceAt(node).name
                                  : cluster_.switches[static_cast<std::size_t>(node - cluster_.size())];
  }
  std::string TensorName(const TransferTimes& transfer) const {
    const std::string& producer = graph_.ops[static_cast<std::size_t>(transfer.tensor.op)].name;
    return transfer.tensor.output < 0 ? producer + " (control)"
                                      : fmt::format("{}:{}", producer, transfer.tensor.output);
  }

  const Outcome& outcome_;
  const Problem& problem_;
  const OpGraph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  const bool native_;
  std::vector<std::optional<Anchor>> anchor_of_op_;
  std::vector<std::optional<Anchor>> anchor_of_transfer_;
  std::map<int, int> threads_;  // last track of each process
  const char* separator_ = "\n  ";
  std::string out_;
};

}  // namespace

std::string PrintChromeTrace(const Outcome& outcome, const Problem& problem, const Placement& placement) {
  STOWPLAN_CHECK_EQ(outcome.ops.size(), problem.graph().ops.size());
  return ChromeTrace(outcome, problem, placement).Print();
}

}  // namespace stowplan::formats
