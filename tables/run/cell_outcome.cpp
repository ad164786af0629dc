#include "tables/run/cell_outcome.h"

#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "sim/simulator.h"
#include "tables/kept_placement.h"
#include "tables/timeline.h"

namespace stowplan::tables {
namespace {

// The accelerator with the largest share of its memory in use, or the CPU where none holds anything: beside
// an accelerator host memory is never what decides.
std::optional<std::size_t> Fullest(const sim::Outcome& outcome, const sim::Cluster& cluster) {
  std::optional<std::size_t> fullest;
  std::tuple<bool, double> most;
  for (std::size_t d = 0; d < outcome.devices.size(); ++d) {
    const sim::Device& device = cluster.devices[d];
    if (outcome.devices[d].peak == 0) continue;
    const std::tuple use(
        device.device_class == sim::DeviceClass::kGpu,
        static_cast<double>(outcome.devices[d].peak) / static_cast<double>(device.capacity()));
    if (fullest && use <= most) continue;
    fullest = d;
    most = use;
  }
  return fullest;
}

}  // namespace

void FillCounts(const agents::Evaluator& evaluator, bool sampled, CellRecord& record) {
  record.samples = evaluator.samples();
  record.wall_seconds = evaluator.wall_seconds();
  record.simulator_seconds = evaluator.simulator_seconds();
  record.machine_seconds = evaluator.machine_seconds();
  if (evaluator.screens() > 0) record.screens = evaluator.screens();
  if (!sampled) return;
  record.distinct = evaluator.distinct();
  record.proposals = evaluator.proposals();
  if (!evaluator.has_best()) return;
  record.samples_to_best = evaluator.samples_to_best();
  record.samples_to_1pct = evaluator.samples_to_within(0.01);
  for (const agents::CurvePoint& point : evaluator.curve()) {
    const char* blank = record.curve.empty() ? "" : " ";
    record.curve += fmt::format("{}{}:{}", blank, point.sample, sim::ToMicros(point.best));
    record.curve_machine_seconds += fmt::format("{}{:.6g}", blank, point.machine_seconds);
    record.curve_agent_seconds +=
        fmt::format("{}{:.4g}", blank, point.wall_seconds - point.simulator_seconds);
  }
}

void FillRuntime(const agents::Task& task, const agents::UnitPlacement& units, CellRecord& record) {
  const sim::Problem& problem = *task.problem;
  const auto simulator = sim::MakeSimulator(problem);
  sim::RunOptions options;
  options.record = sim::RunOptions::Record::kTimeline;
  const sim::Placement placement = agents::Expand(task, units);
  const sim::Outcome& outcome = simulator->Run(placement, options);
  record.placement = KeepPlacement(units);
  record.timeline = KeepTimeline(outcome, placement, problem.cluster());
  record.cost_model = problem.costs().cost_model;
  record.unlimited_runtime_us = sim::ToMicros(outcome.runtime);
  record.status = outcome.feasible() ? "ok" : "oom";
  if (outcome.feasible()) record.runtime_us = record.unlimited_runtime_us;
  if (outcome.oom) {
    record.oom_device = task.device(outcome.oom->device).name;
    record.oom_op = problem.graph().ops[static_cast<std::size_t>(outcome.oom->op)].name;
  }
  if (const auto d = Fullest(outcome, problem.cluster())) {
    record.fullest_device = problem.cluster().devices[*d].name;
    record.fullest_peak_bytes = outcome.devices[*d].peak;
    record.fullest_capacity_bytes = problem.cluster().devices[*d].capacity();
  }
}

}  // namespace stowplan::tables
