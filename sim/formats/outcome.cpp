// stowplan.outcome: JSON, one device, link or op a line.
#include "sim/outcome.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"

namespace stowplan::formats {
namespace {

using sim::Cluster;
using sim::OpGraph;
using sim::Outcome;
using sim::Placement;
using sim::Problem;

class OutcomePrinter {
 public:
  OutcomePrinter(const Outcome& outcome, const Problem& problem)
      : outcome_(outcome), problem_(problem), graph_(problem.graph()), cluster_(problem.cluster()) {}

  std::string Print(const Placement& placement, bool with_ops) {
    PrintVerdict();
    PrintDevices();
    PrintLinks();
    if (with_ops) PrintOps(placement);
    return out_ + "}\n";
  }

 private:
  template <typename... Args>
  void Append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  const std::string& DeviceName(sim::DeviceIndex device) const {
    return cluster_.devices[static_cast<std::size_t>(device)].name;
  }
  const std::string& OpName(sim::OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)].name; }

  void PrintVerdict() {
    Append(
        "{{\"format\": \"stowplan.outcome\", \"version\": 1, \"graph\": {}, \"cluster\": {}, \"rules\": "
        "\"{}\", "
        "\"cost_model\": {},\n",
        JsonString(graph_.name), JsonString(cluster_.name), ToString(cluster_.rules),
        JsonString(problem_.costs().cost_model));
    const std::string runtime = JsonMicros(outcome_.runtime);
    Append(" \"feasible\": {}, \"runtime_us\": {}, \"unlimited_runtime_us\": {}, \"oom\": ",
           outcome_.feasible(), outcome_.feasible() ? runtime : "null", runtime);
    if (outcome_.feasible()) {
      out_ += "null";
      return;
    }
    const sim::OutOfMemory& oom = *outcome_.oom;
    Append(
        "{{\"device\": {}, \"op\": {}, \"what\": \"{}\", \"time_us\": {}, \"needed_bytes\": {}, "
        "\"capacity_bytes\": {}}}",
        JsonString(DeviceName(oom.device)), JsonString(OpName(oom.op)), ToString(oom.what),
        JsonMicros(oom.time), oom.needed, oom.capacity);
  }

  // `print(i)` for i = 0 ... count - 1 as a list, one item a line.
  template <typename Print>
  void PrintList(const char* key, std::size_t count, const Print& print) {
    Append(",\n \"{}\": [", key);
    for (std::size_t i = 0; i < count; ++i) {
      out_ += i == 0 ? "\n  " : ",\n  ";
      print(i);
    }
    out_ += ']';
  }

  void PrintDevices() {
    PrintList("devices", outcome_.devices.size(), [&](std::size_t d) {
      const sim::DeviceUse& use = outcome_.devices[d];
      const sim::Device& device = cluster_.devices[d];
      Append("{{\"name\": {}, \"busy_us\": {}, \"peak_bytes\": {}, \"capacity_bytes\": {}}}",
             JsonString(device.name), JsonMicros(use.busy), use.peak, device.capacity());
    });
  }

  void PrintLinks() {
    PrintList("links", outcome_.links.size(), [&](std::size_t l) {
      const sim::LinkUse& use = outcome_.links[l];
      Append("{{\"name\": {}, \"busy_us\": {}, \"bytes\": {}}}", JsonString(cluster_.links[l].name),
             JsonMicros(use.busy), use.bytes);
    });
  }

  void PrintOps(const Placement& placement) {
    STOWPLAN_CHECK_EQ(outcome_.ops.size(), graph_.ops.size());
    PrintList("ops", outcome_.ops.size(), [&](std::size_t op) {
      Append("{{\"name\": {}, \"device\": {}, \"start_us\": {}, \"end_us\": {}}}",
             JsonString(graph_.ops[op].name), JsonString(DeviceName(placement.device[op])),
             JsonMicros(outcome_.ops[op].start), JsonMicros(outcome_.ops[op].end));
    });
  }

  const Outcome& outcome_;
  const Problem& problem_;
  const OpGraph& graph_;
  const Cluster& cluster_;
  std::string out_;
};

}  // namespace

std::string PrintOutcome(const Outcome& outcome, const Problem& problem, const Placement& placement,
                         const OutcomeText& options) {
  STOWPLAN_CHECK(!outcome.stopped);  // its runtime is only a bound
  return OutcomePrinter(outcome, problem).Print(placement, options.ops);
}

}  // namespace stowplan::formats
