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
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/json_text.h"

namespace berth::formats {
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

enum class Category : std::uint8_t { kIssue, kOp, kTransfer };
constexpr const char* kCategoryNames[] = {"issue", "op", "transfer"};

struct Slice {
  Picos start = 0;
  Picos end = 0;
  std::string name;
  Category category;
  std::string arguments;  // members of a JSON object
  std::ptrdiff_t
      shows;  // op, or transfer on the first link of its route; kNothing: no arrow is fastened here
};
constexpr std::ptrdiff_t kNothing = -1;

// Slices of one kind in one process, such as the streams of a device. Track 0 has the plain name.
struct Group {
  int process = 0;
  std::string name;
  std::vector<Slice> slices;
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
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        placement_(placement),
        native_(cluster_.rules == sim::Rules::kNative),
        anchor_of_op_(outcome.ops.size()),
        anchor_of_transfer_(outcome.transfers.size()) {}

  std::string Print() {
    out_ = fmt::format(
        "{{\"displayTimeUnit\": \"ms\",\n \"otherData\": {{\"producer\": \"berth\", \"graph\": {}, "
        "\"cluster\": {}, \"rules\": \"{}\", \"runtime_us\": {}, \"feasible\": {}}},\n"
        " \"traceEvents\": [",
        JsonString(graph_.name), JsonString(cluster_.name), ToString(cluster_.rules),
        JsonMicros(outcome_.runtime), outcome_.feasible());
    PrintProcesses();
    for (Group& group : Groups()) PrintGroup(group);
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

  std::vector<Group> Groups() const {
    std::vector<Group> groups = HostGroups();
    for (Group& group : StreamGroups()) groups.push_back(std::move(group));
    for (Group& group : LinkGroups()) groups.push_back(std::move(group));
    for (Group& group : ChannelGroups()) groups.push_back(std::move(group));
    return groups;
  }

  // The time in which a host thread issues each op.
  std::vector<Group> HostGroups() const {
    std::vector<Group> groups;
    if (!HasDispatch()) return groups;
    const bool common = HasCommonHost();
    for (DeviceIndex d = 0; d < (common ? 1 : cluster_.size()); ++d) {
      groups.push_back({common ? ProcessOfHost() : ProcessOf(d), "host thread", {}});
    }
    for (std::size_t i = 0; i < outcome_.ops.size(); ++i) {
      const sim::Op& op = graph_.ops[i];
      const DeviceIndex device = placement_.device[i];
      const Picos cost = cluster_.dispatch.automatic ? DeviceAt(device).launch_cost : cluster_.dispatch.cost;
      const Picos length = op.IsSource() ? 0 : cost * op.framework_ops;
      if (length == 0) continue;
      const Picos issued = outcome_.ops[i].issue;
      auto& group = groups[common ? 0 : static_cast<std::size_t>(device)];
      group.slices.push_back({issued - length, issued, op.name, Category::kIssue, "", kNothing});
    }
    return groups;
  }

  std::vector<Group> StreamGroups() const {
    std::vector<Group> groups;
    for (DeviceIndex d = 0; d < cluster_.size(); ++d) groups.push_back({ProcessOf(d), "stream", {}});
    for (std::size_t i = 0; i < outcome_.ops.size(); ++i) {
      const sim::Op& op = graph_.ops[i];
      const sim::OpTimes& times = outcome_.ops[i];
      groups[static_cast<std::size_t>(placement_.device[i])].slices.push_back(
          {times.start, times.end, op.name, Category::kOp, "\"type\": " + JsonString(op.type),
           static_cast<std::ptrdiff_t>(i)});
    }
    return groups;
  }

  // Control dependencies and empty tensors hold no link; they show as arrows alone.
  bool HoldsLinks(const TransferTimes& transfer) const {
    return transfer.end > transfer.start && !(native_ && (transfer.tensor.output < 0 || transfer.bytes == 0));
  }

  std::vector<Group> LinkGroups() const {
    std::vector<Group> groups;
    if (outcome_.links.empty()) return groups;
    std::vector<std::size_t> first(cluster_.links.size());
    for (std::size_t l = 0; l < cluster_.links.size(); ++l) {
      const sim::Link& link = cluster_.links[l];
      const std::string ends[] = {NodeName(link.ends[0]), NodeName(link.ends[1])};
      const bool full = link.duplex == sim::Duplex::kFull;
      first[l] = groups.size();
      const std::string name = fmt::format("{} {} {} {}", link.name, ends[0], full ? "->" : "<->", ends[1]);
      groups.push_back({ProcessOfLinks(), name, {}});
      if (full)
        groups.push_back({ProcessOfLinks(), fmt::format("{} {} -> {}", link.name, ends[1], ends[0]), {}});
    }
    for (std::size_t i = 0; i < outcome_.transfers.size(); ++i) {
      const TransferTimes& transfer = outcome_.transfers[i];
      if (!HoldsLinks(transfer)) continue;
      std::ptrdiff_t shows = static_cast<std::ptrdiff_t>(i);
      for (const Cluster::Hop& hop : cluster_.route(transfer.from, transfer.to)) {
        const auto link = static_cast<std::size_t>(hop.link);
        const bool backward = !hop.forward && cluster_.links[link].duplex == sim::Duplex::kFull;
        groups[first[link] + (backward ? 1 : 0)].slices.push_back(
            SliceOf(transfer, std::exchange(shows, kNothing)));
      }
    }
    return groups;
  }

  // Without links (published rules): what a device sends to each other device.
  std::vector<Group> ChannelGroups() const {
    std::vector<Group> groups;
    if (!outcome_.links.empty()) return groups;
    std::map<std::pair<DeviceIndex, DeviceIndex>, Group> channels;
    for (std::size_t i = 0; i < outcome_.transfers.size(); ++i) {
      const TransferTimes& transfer = outcome_.transfers[i];
      if (!HoldsLinks(transfer)) continue;
      Group& group = channels[{transfer.from, transfer.to}];
      group.process = ProcessOf(transfer.from);
      group.name = "to " + DeviceAt(transfer.to).name;
      group.slices.push_back(SliceOf(transfer, static_cast<std::ptrdiff_t>(i)));
    }
    for (auto& [ends, group] : channels) groups.push_back(std::move(group));
    return groups;
  }

  Slice SliceOf(const TransferTimes& transfer, std::ptrdiff_t shows) const {
    return {transfer.start,
            transfer.end,
            TensorName(transfer),
            Category::kTransfer,
            fmt::format("\"bytes\": {}, \"queued_us\": {}", transfer.bytes, JsonMicros(transfer.queued)),
            shows};
  }

  // ---- events -----------------------------------------------------------------------------------

  void PrintGroup(Group& group) {
    std::sort(group.slices.begin(), group.slices.end(), [](const Slice& a, const Slice& b) {
      return std::tie(a.start, a.end, a.shows) < std::tie(b.start, b.end, b.shows);
    });
    std::vector<Picos> free_from;  // by track of the group
    const int first_thread = threads_[group.process] + 1;
    for (const Slice& slice : group.slices) {
      const auto track =
          std::find_if(free_from.begin(), free_from.end(), [&](Picos end) { return end <= slice.start; });
      const int thread = first_thread + static_cast<int>(track - free_from.begin());
      if (track == free_from.end()) {
        free_from.push_back(slice.end);
        PrintThread(group, thread, static_cast<int>(free_from.size()));
      } else {
        *track = slice.end;
      }
      PrintSlice(group.process, thread, slice);
    }
    threads_[group.process] += static_cast<int>(free_from.size());
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

  void PrintSlice(int process, int thread, const Slice& slice) {
    Event(
        "{{\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"cat\": \"{}\", \"name\": {}, "
        "\"args\": {{{}}}}}",
        process, thread, JsonMicros(slice.start), JsonMicros(slice.end - slice.start),
        kCategoryNames[static_cast<std::size_t>(slice.category)], JsonString(slice.name), slice.arguments);
    if (slice.shows == kNothing) return;
    auto& anchors = slice.category == Category::kOp ? anchor_of_op_ : anchor_of_transfer_;
    anchors[static_cast<std::size_t>(slice.shows)] = Anchor{process, thread, slice.start};
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
  BERTH_CHECK_EQ(outcome.ops.size(), problem.graph().ops.size());
  return ChromeTrace(outcome, problem, placement).Print();
}

}  // namespace berth::formats
