#include "problem/training_set.h"

#include <algorithm>

#include "sim/base/error.h"

namespace stowplan::problem {

void TrainingSet::Add(std::string name, std::unique_ptr<LoadedProblem> loaded, agents::Task task) {
  graphs_.push_back({std::move(name), std::move(loaded), std::move(task), nullptr});
}

void TrainingSet::Train(agents::Transferable& learner, const Limits& limits,
                        const agents::SearchOptions& options) {
  const auto count = static_cast<std::int64_t>(graphs_.size());
  STOWPLAN_CHECK(limits.samples >= count);
  std::vector<const agents::Task*> tasks;
  std::vector<agents::Evaluator*> evaluators;
  for (std::int64_t g = 0; g < count; ++g) {
    TrainingGraph& graph = graphs_[static_cast<std::size_t>(g)];
    agents::Evaluator::Options own;
    own.budget = limits.samples / count + (g < limits.samples % count ? 1 : 0);
    own.threads = limits.threads;
    own.stop = limits.stop;
    own.ranks = limits.ranks;
    if (limits.on_sample) own.on_sample = [&](const agents::Evaluator&) { limits.on_sample(samples()); };
    graph.evaluator = std::make_unique<agents::Evaluator>(graph.task, own);
    tasks.push_back(&graph.task);
    evaluators.push_back(graph.evaluator.get());
  }
  learner.Train(tasks, evaluators, options);
}

std::int64_t TrainingSet::samples() const {
  std::int64_t sum = 0;
  for (const TrainingGraph& graph : graphs_) sum += graph.evaluator ? graph.evaluator->samples() : 0;
  return sum;
}

bool TrainingSet::interrupted() const {
  return std::any_of(graphs_.begin(), graphs_.end(), [](const TrainingGraph& graph) {
    return graph.evaluator && graph.evaluator->stop_requested() && graph.evaluator->remaining() > 0;
  });
}

}  // namespace stowplan::problem
