// One run of learning, whatever is learned: spending the budgets, stopping, saving, resuming, the log.
//
// A learner of this folder stands on this class in one of two ways:
//   - one that draws whole placements supplies a policy only (policy.h says what that is) and learns with
//     OneShotLearner;
//   - one that walks (placeto) derives from Learner and says what one step of its walk is.
// Between two steps the whole state of the run can be written to a checkpoint, and the run that starts from
// it takes exactly the steps that the uninterrupted one takes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agents/agent.h"
#include "agents/rl/checkpoint.h"
#include "agents/rl/learning_log.h"
#include "agents/rl/nn/byte_state.h"

namespace stowplan::agents::rl {

class Learner {
 public:
  // `name`: canonical spec of the agent. Everything given must outlive the learner.
  Learner(std::string name, const std::vector<const Task*>& tasks, const std::vector<Evaluator*>& evaluators,
          const SearchOptions& search);
  virtual ~Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // Spends the budgets of all evaluators, or ends early where one of them is asked to stop or where learning
  // is switched off (search.learn) and the policy has been applied once to each task.
  void Run();

  // What was learned, as bytes of a checkpoint section. Read throws InputError, naming `origin`, for other
  // sizes.
  virtual std::string WriteWeights() const = 0;
  virtual void ReadWeights(const std::string& bytes, const std::string& origin) = 0;

  // Told each line of the learning log.
  std::function<void(const UpdateRecord&)> on_update;

 protected:
  // Spends some samples or takes a step of pre-training; false where nothing is left to do.
  virtual bool Step() = 0;
  // All that the coming steps depend on, beside weights and evaluators: optimiser, generators, baselines.
  virtual void SaveState(StateWriter& out) const = 0;
  virtual void LoadState(StateReader& in) = 0;

  // Completes the record of an update (its number, samples, best) and logs it.
  void Log(UpdateRecord record);
  // Logs a step of pre-training.
  void LogPretraining(double loss);

  const std::string& name() const { return name_; }
  const SearchOptions& search() const { return search_; }
  std::size_t size() const { return tasks_.size(); }  // number of tasks
  const std::vector<const Task*>& tasks() const { return tasks_; }
  const Task& task(std::size_t t) const { return *tasks_[t]; }
  Evaluator& evaluator(std::size_t t) const { return *evaluators_[t]; }
  std::int64_t updates() const { return updates_; }
  std::int64_t SamplesSpent() const;  // all tasks together
  double PartSpent() const;           // of all budgets together, in [0, 1]

 private:
  bool StopRequested() const;
  void Save();
  void Restore(const std::string& path);

  const std::string name_;
  const std::vector<const Task*> tasks_;
  const std::vector<Evaluator*> evaluators_;
  const SearchOptions search_;
  std::int64_t updates_ = 0;
  CheckpointClock clock_;
  LearningLog log_{""};
};

// All tasks of one run must offer the same number of devices; gives it, or throws InputError naming the
// agent.
std::int64_t CommonDevices(const std::string& agent, const std::vector<const Task*>& tasks);

// Device by slot, its index in Task::devices: what networks choose from.
UnitPlacement PlacementOfSlots(const Task& task, std::span<const std::int64_t> slots);

}  // namespace stowplan::agents::rl
