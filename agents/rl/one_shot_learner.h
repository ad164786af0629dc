// Learning a policy that draws whole placements: REINFORCE or PPO, on one task or on several by turns.
//
// One step of the run draws a batch for one task, has it evaluated together, and learns from it. A batch that
// the budget cuts short is evaluated but not learned from. Every `greedy` updates of a task the policy's own
// placement is a sample too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/rl/learner.h"
#include "agents/rl/nn/optimiser.h"
#include "agents/rl/one_shot_options.h"
#include "agents/rl/policy.h"

namespace stowplan::agents::rl {

class OneShotLearner : public Learner {
 public:
  // Actions are drawn from the stream "actions" of search.seed.
  OneShotLearner(std::string name, const OneShotOptions& options, std::unique_ptr<Policy> policy,
                 const std::vector<const Task*>& tasks, const std::vector<Evaluator*>& evaluators,
                 const SearchOptions& search);

  std::string WriteWeights() const override;
  void ReadWeights(const std::string& bytes, const std::string& origin) override;

  const Policy& policy() const { return *policy_; }

 private:
  struct TaskState {
    BatchBaseline baseline;
    std::int64_t updates = 0;
    std::int64_t greedy = 0;  // greedy draws made
  };

  bool Step() override;
  void SaveState(StateWriter& out) const override;
  void LoadState(StateReader& in) override;

  bool StepGreedy(std::size_t t);
  std::vector<Evaluation> Sample(std::size_t t, const Draws& draws);
  void Learn(std::size_t t, const Draws& draws, const std::vector<Evaluation>& evaluations,
             double part_spent);
  // Sets the weights of the entropies for the coming update: as planned, or what they were times e to the power of what
  // the last entropy lacked of its target.
  void WeighEntropies(double part_spent);
  // The entropies of an update without a step.
  void Observe(std::size_t t, const Draws& draws, UpdateRecord& record) const;
  // One step of the optimiser on draws with their share of the batch's advantage; the first one of a batch is
  // logged.
  void Improve(std::size_t t, const Draws& draws, const std::vector<double>& weights, bool first_step,
               UpdateRecord& record);
  // What some of the draws of a step, `share` of them, add to it.
  struct Part {
    Tensors gradients;
    double loss = 0;
    std::vector<double> entropies;  // by kind of decisions
    double drift = 0;
  };
  Part PartOf(std::size_t t, const Draws& draws, const std::vector<double>& weights, double share) const;
  std::vector<double> WeightsOf(std::size_t t, const std::vector<Evaluation>& evaluations, bool valid_only,
                                UpdateRecord& record);

  const OneShotOptions options_;
  const std::unique_ptr<Policy> policy_;
  Rng rng_;
  Optimiser optimiser_;
  std::vector<TaskState> states_;  // by task
  struct Entropy {
    double fresh = 0;  // of the first update
    double last = 0;   // of the last one
    double weight = 0;
  };
  std::vector<Entropy> entropies_;  // by kind of decisions, from the first batch on
  std::int64_t episodes_ = 0;       // draws learned from
  std::size_t next_task_ = 0;       // round robin over the tasks
};

using PolicyFactory =
    std::function<std::unique_ptr<Policy>(const std::vector<const Task*>& tasks, Rng& init)>;

// The agent whose policies are made by `make`, fresh weights from the stream "weights" of the seed.
std::unique_ptr<Agent> MakeOneShotAgent(std::string name, const OneShotOptions& options, PolicyFactory make);

}  // namespace stowplan::agents::rl
