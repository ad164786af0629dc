#include "tables/run/policies.h"

#include <atomic>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>

#include "agents/agent.h"
#include "problem/training_set.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/formats/outputs.h"

namespace stowplan::tables {
namespace {

// The first row of the block with another graph: where policies are trained.
TableLine LineOf(const TableBlock& block, const std::string& workload) {
  TableLine line = block.lines.front();
  line.workload = workload;
  return line;
}

problem::TrainingSet MakeSet(const CellSource& source, const CellPlan& plan) {
  problem::TrainingSet set;
  for (const std::string& workload : plan.block->training.workloads) {
    const TableLine line = LineOf(*plan.block, workload);
    CellPlan own = plan;
    own.line = &line;
    auto loaded = source.Load(*plan.block, line);
    agents::Task task = source.MakeTask(*loaded, own);
    set.Add(workload, std::move(loaded), std::move(task));
  }
  return set;
}

}  // namespace

std::string TrainingText(const CellPlan& plan) {
  return fmt::format("after {} samples on {} other graphs", plan.training,
                     plan.block->training.workloads.size());
}

std::string Policies::Scenario(const CellPlan& plan, const std::string& agent) {
  const auto [entry, is_new] = trained_on_.try_emplace({plan.block, plan.column, agent});
  if (is_new) {
    entry->second.Add(agent);
    const problem::TrainingSet set = MakeSet(source_, plan);
    for (const problem::TrainingGraph& graph : set.graphs()) {
      entry->second.Add(problem::FingerprintOf(graph.loaded->problem()).ToString());
      for (const agents::UnitIndex unit : graph.task.units.unit_of_op) entry->second.Add(unit);
      for (const sim::DeviceIndex device : graph.task.devices) entry->second.Add(device);
    }
  }
  problem::Fingerprint fingerprint = entry->second;
  fingerprint.Add(plan.training);
  fingerprint.Add(plan.seed);
  return fingerprint.ToString();
}

std::string Policies::PathOf(const CellPlan& plan) {
  STOWPLAN_CHECK(!options_.checkpoints.empty());
  return (std::filesystem::path(options_.checkpoints) /
          fmt::format("{}-policy-{}", options_.name,
                      Scenario(plan, agents::MakeAgent(plan.line->AgentOf(*plan.column))->name())))
      .string();
}

bool Policies::Train(const std::vector<const CellPlan*>& plans) {
  std::map<std::string, const CellPlan*> wanted;
  for (const CellPlan* plan : plans) wanted.try_emplace(PathOf(*plan), plan);
  const std::vector<std::pair<std::string, const CellPlan*>> items(wanted.begin(), wanted.end());
  std::atomic<bool> all = true;
  ParallelFor(items.size(), ResolveThreads(options_.threads), [&](std::size_t item, int) {
    const auto& [path, plan] = items[item];
    if (options_.resume && std::filesystem::exists(path)) return;
    if (!TrainOne(*plan, path)) all = false;
  });
  return all;
}

bool Policies::TrainOne(const CellPlan& plan, const std::string& path) {
  if (options_.stop != nullptr && options_.stop->load()) return false;
  formats::MakeFolder(options_.checkpoints);
  const auto agent = agents::MakeAgent(plan.line->AgentOf(*plan.column));
  auto* learner = dynamic_cast<agents::Transferable*>(agent.get());
  STOWPLAN_CHECK(learner != nullptr);  // a fault of the table
  problem::TrainingSet set = MakeSet(source_, plan);
  problem::TrainingSet::Limits limits;
  limits.samples = plan.training;
  limits.stop = options_.stop;
  if (options_.on_training) {
    const std::string name =
        fmt::format("{} for {}, seed {}", plan.column->title, plan.block->title, plan.seed);
    limits.on_sample = [this, name, &plan](std::int64_t samples) {
      options_.on_training(name, samples, plan.training);
    };
  }
  agents::SearchOptions search;
  search.seed = static_cast<std::uint64_t>(plan.seed);
  search.resume = options_.resume;
  search.checkpoint = path + ".state";
  set.Train(*learner, limits, search);
  if (set.interrupted()) return false;
  learner->Save(path);
  std::filesystem::remove(search.checkpoint);
  return true;
}

}  // namespace stowplan::tables
