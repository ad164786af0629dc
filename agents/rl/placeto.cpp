// `placeto`: a policy that revisits one unit at a time and may move it, learned by REINFORCE.
//
// Source: Addanki et al., Placeto, NeurIPS 2019, and its public program (docs/protocol.md#placeto). What the
// network and the learner are is said in placeto_network.h and placeto_learner.h, the features and the reward
// in placeto_state.h.
//
// Ours, where nothing is published or the published choice was changed:
//   - the start time of a unit is the earliest of its ops; the cost of a unit is that on its fastest device,
//     and the memory feature its persistent and output bytes (both our own choice);
//   - `tuned` and `paper` hold every device to its own capacity: on equal cards the published limit (our own
//     choice, because the largest peak of unequal devices says nothing); `code` uses 8 GB and 10 s for all;
//   - `tuned` divides costs by the task's reference runtime and start times by their largest distance from
//     the unit in turn; its entropy schedule is ours. That the entropy weight of `paper` falls to 0 just at
//     the end of the budget is an assumption: the schedule is not published;
//   - a budget's rest that is shorter than an episode is walked, not learned from;
//   - `tuned` takes means where the published network takes sums, which on groups of real networks saturate
//     the softmax before anything is learned (placeto_network.h).
//
// Where it fails: it spends |V| + 1 samples on an episode, so small budgets are few updates.
#include "agents/rl/learners.h"
#include "agents/rl/learning_agent.h"
#include "agents/rl/placeto_learner.h"

namespace berth::agents::rl {

std::unique_ptr<Agent> MakePlaceto(const Spec& spec) {
  const PlacetoOptions options = ReadPlacetoOptions(spec);
  return MakeLearningAgent(options.name,
                           [options](const auto& tasks, const auto& evaluators, const auto& search) {
                             return std::make_unique<PlacetoLearner>(options, tasks, evaluators, search);
                           });
}

}  // namespace berth::agents::rl
