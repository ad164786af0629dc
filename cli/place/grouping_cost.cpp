#include "cli/place/grouping_cost.h"

#include <vector>

#include <fmt/format.h>

#include "agents/bounds/bounds.h"
#include "output/console.h"

namespace stowplan::cli {
namespace {

// From the best of the groups on.
void SeekSingleOps(const agents::Task& groups, const agents::UnitPlacement& best, std::int64_t samples,
                   double seconds, const agents::SearchOptions& options, const std::atomic<bool>* stop,
                   GroupingCost& cost) {
  std::vector<std::string> devices;
  for (const sim::DeviceIndex device : groups.devices) devices.push_back(groups.device(device).name);
  const agents::Task task = agents::MakeTask(*groups.problem, "colocation", devices);
  agents::UnitPlacement start;
  for (const std::vector<sim::OpIndex>& ops : task.units.ops)
    start.push_back(
        best[static_cast<std::size_t>(groups.units.unit_of_op[static_cast<std::size_t>(ops.front())])]);
  agents::Evaluator evaluator(
      task,
      {.budget = samples, .threads = options.threads, .on_sample = {}, .stop = stop, .seconds = seconds});
  evaluator.Evaluate(start);
  agents::MakeAgent("portfolio")->Search(task, evaluator, {.seed = options.seed, .threads = options.threads});
  cost.single_ops = evaluator.best_runtime();
  cost.samples = evaluator.samples();
}

}  // namespace

std::optional<GroupingCost> FindGroupingCost(const agents::Task& task, const agents::Evaluator& found,
                                             std::int64_t samples, double seconds,
                                             const agents::SearchOptions& options,
                                             const std::atomic<bool>* stop) {
  if (task.units.size() == task.problem->graph().colocation_sets()) return std::nullopt;
  GroupingCost cost;
  cost.bound = agents::ComputeLowerBound(*task.problem, task.devices, task.units.unit_of_op).best();
  if (samples > 0) SeekSingleOps(task, found.best(), samples, seconds, options, stop, cost);
  return cost;
}

std::string GroupingCostText(const GroupingCost& cost, const agents::Task& task, sim::Picos best) {
  const auto saved = [&](sim::Picos time) {
    return fmt::format("{:.0f} %", 100 * (1 - static_cast<double>(time) / static_cast<double>(best)));
  };
  std::string text = fmt::format(
      "With these {} groups no placement takes less than {} (proven), so more search saves at most {}.",
      output::CountText(task.units.size()), output::TimeText(cost.bound), saved(cost.bound));
  if (cost.samples == 0) return text;
  return text + (cost.single_ops < best
                     ? fmt::format(" Single ops take {}, found in {} more samples: they save {}.",
                                   output::TimeText(cost.single_ops), output::CountText(cost.samples),
                                   saved(cost.single_ops))
                     : fmt::format(" Single ops were no faster in {} more samples.",
                                   output::CountText(cost.samples)));
}

}  // namespace stowplan::cli
