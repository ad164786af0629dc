// The plain golden timeline: one event a line, in an order that depends on nothing but the outcome.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"

namespace stowplan::formats {
namespace {

using sim::Outcome;
using sim::Picos;
using sim::Placement;
using sim::Problem;

// What lines say, in their order within one instant. What begins and ends at one instant ends right behind its
// start.
enum class EventKind : std::uint8_t { kEnd, kArrive, kIssue, kStart, kQueue, kSend, kMemory };

struct Event {
  Picos time;
  EventKind kind;
  std::size_t index;  // op, transfer or point of memory
  bool ends_at_once = false;
  bool operator<(const Event& other) const {
    return std::tie(time, kind, index, ends_at_once) <
           std::tie(other.time, other.kind, other.index, other.ends_at_once);
  }
};

std::string TimeText(Picos time) {
  const auto whole = fmt::format("{}{}", time < 0 ? "-" : "", std::abs(time / sim::kPicosPerMicro));
  return fmt::format("{:>10}.{:06}", whole, std::abs(time % sim::kPicosPerMicro));
}

// Names stand between spaces; those that hold any are quoted.
std::string NameText(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](unsigned char c) { return c > 0x20 && c != '"' && c != 0x7F; });
  return plain ? name : JsonString(name);
}

// Frees of one device at one instant have no order of their own (docs/model.md, section 6), nor have devices
// among each other: so that goldens pin only what is defined, points stand by device, and frees without an
// allocation between them by op, one for each op and kind.
std::vector<sim::MemoryPoint> Canonical(std::vector<sim::MemoryPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return std::tie(a.time, a.device) < std::tie(b.time, b.device);
  });
  std::vector<sim::MemoryPoint> canonical;
  for (auto first = points.begin(); first != points.end();) {
    const auto last = std::find_if(first, points.end(), [&](const sim::MemoryPoint& point) {
      return point.change >= 0 || point.time != first->time || point.device != first->device;
    });
    if (last == first) {
      canonical.push_back(*first++);
      continue;
    }
    sim::Bytes live = first->live - first->change;
    std::sort(first, last,
              [](const auto& a, const auto& b) { return std::tie(a.op, a.what) < std::tie(b.op, b.what); });
    const std::size_t begin = canonical.size();
    for (; first != last; ++first) {
      const bool joins = canonical.size() > begin && canonical.back().op == first->op &&
                         canonical.back().what == first->what;
      if (joins) {
        canonical.back().change += first->change;
      } else {
        canonical.push_back(*first);
      }
      canonical.back().live = live += first->change;
    }
  }
  return canonical;
}

class TimelinePrinter {
 public:
  TimelinePrinter(const Outcome& outcome, const Problem& problem, const Placement& placement)
      : outcome_(outcome), problem_(problem), placement_(placement), memory_(Canonical(outcome.memory)) {}

  std::string Print() {
    const auto& graph = problem_.graph();
    const auto& cluster = problem_.cluster();
    out_ = fmt::format("# {} on {}, rules {}, us\n", NameText(graph.name), NameText(cluster.name),
                       ToString(cluster.rules));
    for (const Event& event : SortedEvents()) PrintEvent(event);
    PrintSummary();
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Line(Picos time, fmt::format_string<Args...> format, Args&&... args) {
    out_ += TimeText(time) + ' ';
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  std::string DeviceName(sim::DeviceIndex device) const {
    return NameText(problem_.cluster().devices[static_cast<std::size_t>(device)].name);
  }
  std::string OpName(sim::OpIndex op) const {
    return NameText(problem_.graph().ops[static_cast<std::size_t>(op)].name);
  }
  std::string TransferName(const sim::TransferTimes& transfer) const {
    const std::string output =
        transfer.tensor.output < 0 ? "control" : std::to_string(transfer.tensor.output);
    return fmt::format("{}:{} {} -> {}", OpName(transfer.tensor.op), output, DeviceName(transfer.from),
                       DeviceName(transfer.to));
  }

  std::vector<Event> SortedEvents() const {
    std::vector<Event> events;
    const bool issues = problem_.cluster().rules == sim::Rules::kNative;  // published rules: no host threads
    for (std::size_t op = 0; op < outcome_.ops.size(); ++op) {
      const sim::OpTimes& times = outcome_.ops[op];
      if (issues) events.push_back({times.issue, EventKind::kIssue, op});
      events.push_back({times.start, EventKind::kStart, op});
      events.push_back({times.end, times.end > times.start ? EventKind::kEnd : EventKind::kStart, op,
                        times.end == times.start});
    }
    for (std::size_t i = 0; i < outcome_.transfers.size(); ++i) {
      const sim::TransferTimes& times = outcome_.transfers[i];
      events.push_back({times.queued, EventKind::kQueue, i});
      events.push_back({times.start, EventKind::kSend, i});
      events.push_back({times.end, times.end > times.start ? EventKind::kArrive : EventKind::kSend, i,
                        times.end == times.start});
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      events.push_back({memory_[i].time, EventKind::kMemory, i});
    }
    std::sort(events.begin(), events.end());
    return events;
  }

  void PrintEvent(const Event& event) {
    switch (event.kind) {
      case EventKind::kIssue:
      case EventKind::kStart:
      case EventKind::kEnd:
        return PrintOpEvent(event);
      case EventKind::kQueue:
      case EventKind::kSend:
      case EventKind::kArrive:
        return PrintTransferEvent(event);
      case EventKind::kMemory:
        return PrintMemory(memory_[event.index]);
    }
  }

  void PrintOpEvent(const Event& event) {
    const bool ends = event.kind == EventKind::kEnd || event.ends_at_once;
    const char* what = ends ? "end" : event.kind == EventKind::kIssue ? "issue" : "start";
    Line(event.time, "{:<6} {} {}", what, DeviceName(placement_.device[event.index]),
         OpName(static_cast<sim::OpIndex>(event.index)));
  }

  void PrintTransferEvent(const Event& event) {
    const sim::TransferTimes& transfer = outcome_.transfers[event.index];
    const bool ends = event.kind == EventKind::kArrive || event.ends_at_once;
    const char* what = ends ? "arrive" : event.kind == EventKind::kQueue ? "queue" : "send";
    Line(event.time, "{:<6} {} {}B", what, TransferName(transfer), transfer.bytes);
  }

  void PrintMemory(const sim::MemoryPoint& point) {
    const std::string op = point.op < 0 ? "" : " of " + OpName(point.op);
    Line(point.time, "{:<6} {} {:+}B = {}B, {}{}", "memory", DeviceName(point.device), point.change,
         point.live, ToString(point.what), op);
  }

  void PrintSummary() {
    Line(outcome_.runtime, "{}", "the run ends");
    const auto& devices = problem_.cluster().devices;
    for (std::size_t d = 0; d < outcome_.devices.size(); ++d) {
      const sim::DeviceUse& use = outcome_.devices[d];
      fmt::format_to(std::back_inserter(out_), "# {}: busy {} us, peak {}B of {}B\n",
                     NameText(devices[d].name), JsonMicros(use.busy), use.peak, devices[d].capacity());
    }
    if (outcome_.feasible()) return;
    const sim::OutOfMemory& oom = *outcome_.oom;
    fmt::format_to(std::back_inserter(out_), "# out of memory on {} at {} us: {} of {}, {}B of {}B\n",
                   DeviceName(oom.device), JsonMicros(oom.time), ToString(oom.what), OpName(oom.op),
                   oom.needed, oom.capacity);
  }

  const Outcome& outcome_;
  const Problem& problem_;
  const Placement& placement_;
  const std::vector<sim::MemoryPoint> memory_;
  std::string out_;
};

}  // namespace

std::string PrintTimeline(const Outcome& outcome, const Problem& problem, const Placement& placement) {
  STOWPLAN_CHECK_EQ(outcome.ops.size(), problem.graph().ops.size());
  return TimelinePrinter(outcome, problem, placement).Print();
}

}  // namespace stowplan::formats
