// `placeto`: a policy that revisits one unit at a time and may move it, learned by REINFORCE.
//
// Source: Addanki et al., Placeto, NeurIPS 2019, and its public program (PAPERS 3, PROTOCOL 4.4). What the
// network and the learner are is said in placeto_network.h and placeto_learner.h, the features and the reward
// in placeto_state.h.
//
// Ours, where nothing is published or the published choice was changed [decisions of PROTOCOL 4.4 unless
// noted]:
//   - the start time of a unit is the earliest of its ops; the cost of a unit is that on its fastest device,
//     and the memory feature its persistent and output bytes (both our own choice);
//   - `tuned` and `paper` hold every device to its own capacity: on equal cards the published limit (our own
//     choice, because the largest peak of unequal devices says nothing); `code` uses 8 GB and 10 s for all;
//   - `tuned` divides costs by the task's reference runtime and start times by their largest distance from
//     the unit in turn; its entropy schedule is ours. That the entropy weight of `paper` falls to 0 just at
//     the end of the budget is an assumption: the schedule is not published;
//   - a budget's rest that is shorter than an episode is walked, not learned from.
//
// Where it fails: it spends |V| + 1 samples on an episode, so small budgets are few updates; sums that are
// not normalised saturate the softmax on graphs with units of very many neighbours.
#include "agents/rl/placeto.h"

#include "agents/rl/placeto_learner.h"
#include "sim/error.h"

namespace berth::agents::rl {
namespace {

// A policy at rest: the bytes of its weights and where they came from.
struct Policy {
  std::string weights;
  std::string origin;
};

Policy ReadPolicy(const std::string& path) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  if (Spec::Parse(checkpoint.agent).name != "placeto") {
    throw InputError(path + ": holds a policy of '" + checkpoint.agent + "'; expected one of placeto");
  }
  return {checkpoint.section("weights", path), path};
}

class Placeto : public Agent, public Transferable {
 public:
  explicit Placeto(PlacetoOptions options) : options_(std::move(options)) {}

  std::string name() const override { return options_.name; }

  // Starts from options.init, else from what was loaded or trained before, else from fresh weights.
  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    learned_ = Run({&task}, {&evaluator}, options);
  }

  void Train(const std::vector<const Task*>& tasks, const std::vector<Evaluator*>& evaluators,
             const SearchOptions& options) override {
    if (tasks.empty()) return;
    loaded_ = learned_ = Run(tasks, evaluators, options);
  }

  void Save(const std::string& path) const override {
    if (learned_.weights.empty()) throw RunError(path + ": nothing was learned that could be saved");
    Checkpoint checkpoint;
    checkpoint.agent = options_.name;
    checkpoint.sections["weights"] = learned_.weights;
    WriteCheckpoint(path, checkpoint);
  }

  void Load(const std::string& path) override { loaded_ = learned_ = ReadPolicy(path); }

 private:
  Policy Run(const std::vector<const Task*>& tasks, const std::vector<Evaluator*>& evaluators,
             const SearchOptions& options) const {
    PlacetoLearner learner(options_, tasks, evaluators, options);
    const Policy first = options.init.empty() ? loaded_ : ReadPolicy(options.init);
    if (!first.weights.empty()) ReadWeights(first.weights, first.origin, learner.network());
    learner.Run();
    return {WriteWeights(learner.network()), "the policy that was learned"};
  }

  const PlacetoOptions options_;
  Policy loaded_;   // what Search and Train start from
  Policy learned_;  // what the last of them ended with
};

}  // namespace

std::unique_ptr<Agent> MakePlaceto(const Spec& spec) {
  return std::make_unique<Placeto>(ReadPlacetoOptions(spec));
}

}  // namespace berth::agents::rl
