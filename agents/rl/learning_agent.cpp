#include "agents/rl/learning_agent.h"

#include "agents/rl/checkpoint.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"

namespace stowplan::agents::rl {
namespace {

// A policy at rest: the bytes of its weights and where they came from.
struct Weights {
  std::string bytes;
  std::string origin;
};

class LearningAgent : public Agent, public Transferable {
 public:
  LearningAgent(std::string name, LearnerFactory make) : Agent(std::move(name)), make_(std::move(make)) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    learned_ = Run({&task}, {&evaluator}, options);
  }

  void Train(const std::vector<const Task*>& tasks, const std::vector<Evaluator*>& evaluators,
             const SearchOptions& options) override {
    if (tasks.empty()) return;
    loaded_ = learned_ = Run(tasks, evaluators, options);
  }

  void Save(const std::string& path) const override {
    if (learned_.bytes.empty()) throw RunError(path + ": nothing was learned that could be saved");
    Checkpoint checkpoint;
    checkpoint.agent = name();
    checkpoint.sections["weights"] = learned_.bytes;
    WriteCheckpoint(path, checkpoint);
  }

  void Load(const std::string& path) override { loaded_ = learned_ = Read(path); }

 private:
  Weights Read(const std::string& path) const {
    const Checkpoint checkpoint = ReadCheckpoint(path);
    const std::string agent = Spec::Parse(name()).name;
    if (Spec::Parse(checkpoint.agent).name != agent) {
      throw InputError(path + ": holds a policy of '" + checkpoint.agent + "'; expected one of " + agent);
    }
    return {checkpoint.section("weights", path), path};
  }

  Weights Run(const std::vector<const Task*>& tasks, const std::vector<Evaluator*>& evaluators,
              const SearchOptions& options) const {
    const std::unique_ptr<Learner> learner = make_(tasks, evaluators, options);
    const Weights first = options.init.empty() ? loaded_ : Read(options.init);
    if (!first.bytes.empty()) learner->ReadWeights(first.bytes, first.origin);
    learner->Run();
    return {learner->WriteWeights(), "the policy that was learned"};
  }

  const LearnerFactory make_;
  Weights loaded_;   // what Search and Train start from
  Weights learned_;  // what the last of them ended with
};

}  // namespace

std::unique_ptr<Agent> MakeLearningAgent(std::string name, LearnerFactory make) {
  return std::make_unique<LearningAgent>(std::move(name), std::move(make));
}

}  // namespace stowplan::agents::rl
