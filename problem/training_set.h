// Several graphs that one policy is trained on, with a budget that they share evenly
// (docs/protocol_rules.md#generalisation).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "agents/agent.h"
#include "problem/loaded_problem.h"

namespace stowplan::problem {

struct TrainingGraph {
  std::string name;
  std::unique_ptr<LoadedProblem> loaded;
  agents::Task task;
  std::unique_ptr<agents::Evaluator> evaluator;  // from Train() on
};

// One thread at a time.
class TrainingSet {
 public:
  struct Limits {
    std::int64_t samples = 0;  // of all graphs together, at least one for each
    int threads = 1;           // of the simulator
    const std::atomic<bool>* stop = nullptr;
    agents::Ranks* ranks = nullptr;
    std::function<void(std::int64_t samples)> on_sample;  // may be empty
  };

  void Add(std::string name, std::unique_ptr<LoadedProblem> loaded, agents::Task task);
  std::size_t size() const { return graphs_.size(); }
  const std::deque<TrainingGraph>& graphs() const { return graphs_; }

  // Once. Spends the budget unless it is stopped; the first graphs get the samples that do not divide.
  void Train(agents::Transferable& learner, const Limits& limits, const agents::SearchOptions& options);
  std::int64_t samples() const;
  bool interrupted() const;

 private:
  std::deque<TrainingGraph> graphs_;  // evaluators keep references to tasks
};

}  // namespace stowplan::problem
