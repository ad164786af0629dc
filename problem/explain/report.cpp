#include "problem/explain/report.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "output/console.h"
#include "problem/explain/path_shares.h"
#include "problem/explain/rules_text.h"
#include "sim/analysis/explain.h"

namespace stowplan::problem {
namespace {

constexpr int kReportBarWidth = 20, kDeviceBarWidth = 8;  // two bars of a device stand in a line
constexpr std::size_t kReportedOps = 8;

double Share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::string PercentText(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string DevicesText(const sim::Outcome& outcome, const sim::Problem& problem,
                        const sim::Placement& placement) {
  output::TextTable table("lrrlrrl", {"device", "ops", "busy", "", "peak memory", "of", ""});
  for (std::size_t d = 0; d < outcome.devices.size(); ++d) {
    const sim::Device& device = problem.cluster().devices[d];
    const sim::DeviceUse& use = outcome.devices[d];
    const double busy = Share(static_cast<double>(use.busy), static_cast<double>(outcome.runtime));
    const double full = Share(static_cast<double>(use.peak), static_cast<double>(device.capacity()));
    table.AddRow({device.name,
                  output::CountText(std::count(placement.device.begin(), placement.device.end(),
                                               static_cast<sim::DeviceIndex>(d))),
                  output::TimeText(use.busy), output::Bar(busy, kDeviceBarWidth) + " " + PercentText(busy),
                  output::BytesText(static_cast<double>(use.peak)),
                  output::BytesText(static_cast<double>(device.capacity())),
                  output::Bar(full, kDeviceBarWidth) + (full > 1 ? " too much" : " " + PercentText(full))});
  }
  return table.ToString() + output::Wrapped(ReserveText(problem.cluster()), 0, output::kLineWidth) +
         output::Wrapped(HostText(problem), 0, output::kLineWidth);
}

std::string LinksText(const sim::Outcome& outcome, const sim::Problem& problem) {
  output::TextTable table("lrrl", {"link", "carried", "busy", ""});
  for (std::size_t l = 0; l < outcome.links.size(); ++l) {
    const sim::LinkUse& use = outcome.links[l];
    if (use.bytes == 0) continue;
    const double busy = Share(static_cast<double>(use.busy), static_cast<double>(outcome.runtime));
    table.AddRow({problem.cluster().links[l].name, output::BytesText(static_cast<double>(use.bytes)),
                  output::TimeText(use.busy),
                  output::Bar(busy, kReportBarWidth) + " " + PercentText(busy) +
                      (busy > 1 ? " (both directions)" : "")});
  }
  return table.empty() ? "" : "\n" + table.ToString();
}

std::string CriticalPathText(const PathShares& path, const sim::Outcome& outcome,
                             const sim::Problem& problem) {
  output::TextTable table("lrl", {"critical path", "", ""});
  const auto add = [&](const std::string& what, sim::Picos length) {
    if (length == 0) return;
    const double share = Share(static_cast<double>(length), static_cast<double>(outcome.runtime));
    table.AddRow(
        {what, output::TimeText(length), output::Bar(share, kReportBarWidth) + " " + PercentText(share)});
  };
  for (std::size_t d = 0; d < path.devices.size(); ++d)
    add("ops on " + problem.cluster().devices[d].name, path.devices[d]);
  add("transfers", path.transfers);
  add("collectives", path.collectives);
  add("dispatch", path.dispatch);
  add("waiting", path.waiting);
  return table.empty() ? "" : "\n" + table.ToString();
}

std::string IdleText(const sim::Explanation& explanation, const sim::Outcome& outcome,
                     const sim::Problem& problem) {
  const bool joined = !problem.graph().collectives().empty();
  std::vector<std::string> heads = {"idle",     "ops elsewhere run", "link is taken", "tensor under way",
                                    "dispatch", "nothing left"};
  if (joined) heads.emplace_back("collective runs");
  output::TextTable table(joined ? "lrrrrrr" : "lrrrrr", heads);
  for (std::size_t d = 0; d < explanation.idle.size(); ++d) {
    if (outcome.devices[d].busy == 0) continue;
    const sim::IdleTime& idle = explanation.idle[d];
    std::vector<std::string> cells = {problem.cluster().devices[d].name};
    std::vector<sim::Picos> parts = {idle.upstream, idle.queued, idle.transfer, idle.dispatch, idle.finished};
    if (joined) parts.push_back(idle.collective);
    for (const sim::Picos part : parts) cells.push_back(part == 0 ? "-" : output::TimeText(part));
    table.AddRow(std::move(cells));
  }
  return table.empty() ? "" : "\n" + table.ToString();
}

std::string TopOpsText(const sim::Outcome& outcome, const sim::Problem& problem,
                       const sim::Placement& placement) {
  constexpr std::size_t kNameWidth = 30, kTypeWidth = 20;  // so that a row fits in kLineWidth
  output::TextTable table("lllrr", {"longest ops", "type", "device", "start", "takes"});
  for (const sim::OpIndex index : LongestOps(outcome, kReportedOps)) {
    const auto at = static_cast<std::size_t>(index);
    const sim::Op& op = problem.graph().ops[at];
    table.AddRow({output::Shortened(op.name, kNameWidth), output::Shortened(op.type, kTypeWidth),
                  problem.cluster().devices[static_cast<std::size_t>(placement.device[at])].name,
                  output::TimeText(outcome.ops[at].start),
                  output::TimeText(outcome.ops[at].end - outcome.ops[at].start)});
  }
  return "\n" + table.ToString();
}

// " beside 12.9 ms traced (+0.2 %)"; empty where the graph is of no trace with times.
std::string TracedText(const sim::Outcome& outcome, const sim::OpGraph& graph) {
  const double traced_us = sim::FindNumber(graph.attributes, "traced_step_us").value_or(0);
  if (!(traced_us > 0)) return "";
  const double more = sim::ToMicros(outcome.runtime) / traced_us - 1;
  return fmt::format(" beside {} traced ({:+.1f} %)", output::TimeText(sim::FromMicros(traced_us)),
                     100 * more);
}

}  // namespace

std::vector<sim::OpIndex> LongestOps(const sim::Outcome& outcome, std::size_t most) {
  std::vector<sim::OpIndex> order(outcome.ops.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](sim::OpIndex op) {
    const sim::OpTimes& times = outcome.ops[static_cast<std::size_t>(op)];
    return times.end - times.start;
  });
  order.resize(std::min(most, order.size()));
  return order;
}

std::string VerdictText(const sim::Outcome& outcome, const sim::Problem& problem) {
  const std::string runtime = output::TimeText(outcome.runtime) + TracedText(outcome, problem.graph());
  if (!outcome.oom) return "fits, " + runtime;
  const sim::OutOfMemory& oom = *outcome.oom;
  return fmt::format(
      "out of memory on {} at op {} ({}) after {}: needs {}; without limit it would hold {} at its peak and "
      "take {}",
      problem.cluster().devices[static_cast<std::size_t>(oom.device)].name,
      problem.graph().ops[static_cast<std::size_t>(oom.op)].name, sim::ToString(oom.what),
      output::TimeText(oom.time), output::NeedText(oom.needed, oom.capacity),
      output::BytesText(static_cast<double>(outcome.devices[static_cast<std::size_t>(oom.device)].peak)),
      runtime);
}

std::string PricesText(const sim::Problem& problem, const sim::Placement& placement) {
  const sim::CostTable& costs = problem.costs();
  double by_tier[3] = {0, 0, 0};
  double all = 0;
  for (sim::OpIndex op = 0; op < problem.graph().size(); ++op) {
    const auto i = static_cast<std::size_t>(op);
    const auto picos = static_cast<double>(costs.at(op, placement.device[i]));
    by_tier[static_cast<std::size_t>(costs.TierAt(op, placement.device[i]))] += picos;
    all += picos;
  }
  return fmt::format("prices: {} of the time measured, {} interpolated, {} estimated",
                     PercentText(Share(by_tier[0], all)), PercentText(Share(by_tier[1], all)),
                     PercentText(Share(by_tier[2], all)));
}

std::string PrintReport(const sim::Outcome& outcome, const sim::Problem& problem,
                        const sim::Placement& placement) {
  std::string text = output::Wrapped(fmt::format("{} on {} ({}, {}): {}", problem.graph().name,
                                                 problem.cluster().name, RulesText(problem.cluster()),
                                                 problem.costs().cost_model, VerdictText(outcome, problem)),
                                     0, output::kLineWidth) +
                     "\n";
  text += DevicesText(outcome, problem, placement);
  text += LinksText(outcome, problem);
  const sim::Explanation explanation = sim::Explain(problem, placement, outcome);
  text += CriticalPathText(ShareOut(problem, placement, outcome, explanation), outcome, problem);
  text += IdleText(explanation, outcome, problem);
  text += TopOpsText(outcome, problem, placement);
  text += "\n" + PricesText(problem, placement) + "\n";
  return text;
}

}  // namespace stowplan::problem
