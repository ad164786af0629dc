#include "cli/validate/timelines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cost_models/cost_models.h"
#include "output/console.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"

namespace stowplan::cli {
namespace {

constexpr std::size_t kWorst = 15;  // ops that are listed

sim::Picos FromNanos(std::int64_t ns) {
  return ns * 1000;
}

// What was traced, in the form of what is simulated. Neither issuing nor memory was traced.
sim::Outcome Measured(const profiler::ExecutedStep& step, const sim::Problem& problem) {
  sim::Outcome outcome;
  outcome.runtime = FromNanos(step.ns);
  outcome.devices.resize(problem.cluster().devices.size());
  outcome.links.resize(problem.cluster().links.size());
  outcome.ops.resize(problem.graph().ops.size());
  for (const profiler::OpSpan& span : step.ops) {
    outcome.ops[static_cast<std::size_t>(span.op)] = {
        .issue = FromNanos(span.start_ns), .start = FromNanos(span.start_ns), .end = FromNanos(span.end_ns)};
    outcome.devices[static_cast<std::size_t>(span.device)].busy += FromNanos(span.end_ns - span.start_ns);
  }
  for (const profiler::CopySpan& span : step.copies) {
    const sim::Picos end = outcome.ops[static_cast<std::size_t>(span.tensor.op)].end;
    outcome.transfers.push_back({.tensor = span.tensor,
                                 .from = span.from,
                                 .to = span.to,
                                 .bytes = span.bytes,
                                 .queued = std::min(end, FromNanos(span.start_ns)),
                                 .start = FromNanos(span.start_ns),
                                 .end = FromNanos(span.end_ns)});
  }
  return outcome;
}

struct Sum {
  int count = 0;
  double measured_us = 0, simulated_us = 0;
  void Add(sim::Picos measured, sim::Picos simulated) {
    ++count;
    measured_us += sim::ToMicros(measured);
    simulated_us += sim::ToMicros(simulated);
  }
};

// Of a recording that has one.
std::size_t TracedIn(const Recording& recording) {
  return static_cast<std::size_t>(profiler::TracedPlacement(recording));
}

class Difference {
 public:
  Difference(const Recording& recording, const sim::Problem& problem, const sim::Outcome& measured,
             const sim::Outcome& simulated)
      : recording_(recording), graph_(problem.graph()), measured_(measured), simulated_(simulated) {
    for (const profiler::OpSpan& span : recording.placements[TracedIn(recording)].traced->ops)
      order_.push_back(span.op);
    std::sort(order_.begin(), order_.end(), [&](sim::OpIndex a, sim::OpIndex b) {
      return std::pair(At(measured, a).start, a) < std::pair(At(measured, b).start, b);
    });
  }

  std::string Print() const {
    return fmt::format(
        "{}, placement {} ({}): measured {}, simulated {} ({:+.1f} %)\n\n{}\n{}", recording_.workload,
        TracedIn(recording_), recording_.placements[TracedIn(recording_)].family,
        output::TimeText(sim::ToMicros(measured_.runtime)),
        output::TimeText(sim::ToMicros(simulated_.runtime)),
        100.0 * (static_cast<double>(simulated_.runtime) / static_cast<double>(measured_.runtime) - 1),
        PrintSums(), PrintLags());
  }

 private:
  static const sim::OpTimes& At(const sim::Outcome& outcome, sim::OpIndex op) {
    return outcome.ops[static_cast<std::size_t>(op)];
  }

  // Time by op type, and of the copies.
  std::string PrintSums() const {
    std::map<std::string, Sum> types;
    for (const sim::OpIndex op : order_)
      types[graph_.ops[static_cast<std::size_t>(op)].type].Add(
          At(measured_, op).end - At(measured_, op).start, At(simulated_, op).end - At(simulated_, op).start);
    std::vector<std::pair<std::string, Sum>> rows(types.begin(), types.end());
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.second.measured_us > b.second.measured_us; });
    Sum copies;
    for (const sim::TransferTimes& copy : measured_.transfers) copies.Add(copy.end - copy.start, 0);
    for (const sim::TransferTimes& copy : simulated_.transfers)
      copies.simulated_us += sim::ToMicros(copy.end - copy.start);
    rows.emplace_back("(copies)", copies);
    output::TextTable table("lrrrr", {"op type", "ops", "measured us", "simulated us", "ratio"});
    for (const auto& [name, sum] : rows)
      table.AddRow({name, std::to_string(sum.count), fmt::format("{:.1f}", sum.measured_us),
                    fmt::format("{:.1f}", sum.simulated_us),
                    sum.measured_us > 0 ? fmt::format("{:.2f}", sum.simulated_us / sum.measured_us) : ""});
    return table.ToString(2);
  }

  // The lag of an op is how much later it ends in the simulation; what it adds is its lag less that of the op
  // that ended last before it on its device.
  std::string PrintLags() const {
    struct OpLag {
      sim::OpIndex op;
      double lag_us, added_us;
    };
    std::map<sim::DeviceIndex, double> last;
    std::vector<OpLag> lags;
    for (const sim::OpIndex op : order_) {
      const auto device = Placement().device[static_cast<std::size_t>(op)];
      const double lag = sim::ToMicros(At(simulated_, op).end - At(measured_, op).end);
      lags.push_back({op, lag, lag - std::exchange(last[device], lag)});
    }
    std::stable_sort(lags.begin(), lags.end(), [](const OpLag& a, const OpLag& b) {
      return std::abs(a.added_us) > std::abs(b.added_us);
    });
    output::TextTable table("lrrrrrrr", {"adds most to the difference", "device", "measured start", "end us",
                                         "simulated start", "end us", "lag us", "added us"});
    for (std::size_t i = 0; i < std::min(kWorst, lags.size()); ++i) {
      const sim::OpIndex op = lags[i].op;
      const auto us = [](sim::Picos time) { return fmt::format("{:.1f}", sim::ToMicros(time)); };
      table.AddRow({output::Shortened(graph_.ops[static_cast<std::size_t>(op)].name),
                    std::to_string(Placement().device[static_cast<std::size_t>(op)]),
                    us(At(measured_, op).start), us(At(measured_, op).end), us(At(simulated_, op).start),
                    us(At(simulated_, op).end), fmt::format("{:+.1f}", lags[i].lag_us),
                    fmt::format("{:+.1f}", lags[i].added_us)});
    }
    return table.ToString(2) +
           "\n  lag: how much later the op ends in the simulation; added: more than the op before it on its "
           "device\n";
  }

  const sim::Placement& Placement() const { return recording_.placements[TracedIn(recording_)].placement; }

  const Recording& recording_;
  const sim::OpGraph& graph_;
  const sim::Outcome& measured_;
  const sim::Outcome& simulated_;
  std::vector<sim::OpIndex> order_;  // by measured start
};

}  // namespace

Timelines CompareTimelines(const Recording& recording, const std::string& costs_path,
                           const std::string& folder) {
  if (profiler::TracedPlacement(recording) < 0)
    throw InputError("the recording of " + recording.workload + " has no traced step to compare");
  const sim::OpGraph graph = LoadMeasuredGraph(recording.workload, folder);
  const sim::Cluster cluster =
      formats::ParseCluster(recording.cluster, recording.workload, cost_models::BuiltinCatalogue());
  const auto model = cost_models::MakeCostModel(costs_path);
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, *model));
  const MeasuredPlacement& traced = recording.placements[TracedIn(recording)];
  const sim::Placement& placement = traced.placement;
  const auto simulator = sim::MakeSimulator(problem);
  const sim::Outcome& simulated =
      simulator->Run(placement, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
  const sim::Outcome measured = Measured(*traced.traced, problem);
  return {.measured_trace = formats::PrintChromeTrace(measured, problem, placement),
          .simulated_trace = formats::PrintChromeTrace(simulated, problem, placement),
          .difference = Difference(recording, problem, measured, simulated).Print()};
}

}  // namespace stowplan::cli
