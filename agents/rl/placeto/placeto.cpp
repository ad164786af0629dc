// `placeto`: a policy that revisits one unit at a time and may move it, learned by REINFORCE.
//
// Source: Addanki et al., Placeto, NeurIPS 2019, and its public program (docs/protocol_rules.md#placeto). What the
// network and the learner are is said in placeto_network.h and placeto_learner.h, the features and the reward
// in placeto_state.h.
//
// Ours, where nothing is published or the published choice was changed:
//   - in all presets the start time of a unit is the earliest of its ops; the cost of a unit is that on its fastest
//     device, and the memory feature its persistent and output bytes; what the end of the budget cuts is not
//     learned from;
//   - `paper` is the paper's learner: one unit between two evaluations, start times divided by their largest, sums over
//     neighbours, reward in seconds, each of the parallel episodes with a start of its own (read in the program). That
//     the entropy's weight falls to 0 just at the end of the budget is an assumption. Every device is held to its
//     own capacity: on equal cards the published limit;
//   - `code` has the program's 8 GB and 10 s, an entropy weight that never falls, and the reward to the best later
//     placement: as it is released, the branch of the paper's reward cannot run, this one and `final` can;
//   - `walk` is `paper` with means over neighbours and pools (sums saturate the softmax of a fresh policy,
//     placeto_network.h), costs by the reference runtime, start times by their largest distance, and a learning rate
//     and entropy of ours. It goes from a random start to the end, so its weights are for any graph;
//   - `tuned` searches one graph, from the best placement so far. Sixteen units get their devices between two
//     evaluations, from one state; what is known is not evaluated again; a logit for staying holds the units that a pass
//     moves at 2.5, falling to 1; the network's preferences stay within a tanh; steps that moved something are compared with one
//     another. It is told what a list schedule of the units before offers the unit in turn on each device: how late it
//     would end there, and whether its heaviest input is there (docs/protocol_rules.md#offers). Network, features and penalty
//     are the walk's, with two rounds of messages in place of eight;
//   - `transfer` is for graphs that were never searched: it goes from a random start to the end as `walk` does, sixteen
//     units at a time and told offers as `tuned` is, with four rounds (table placeto-generalization).
//
// Where it fails: with one unit between two evaluations an episode is |V| + 1 samples, so small budgets are few updates;
// and walks from random starts learn to end on one device, a local optimum, as half of `transfer`'s neighbours do
// (results/agents/placeto.md).
#include "agents/rl/learners.h"
#include "agents/rl/learning_agent.h"
#include "agents/rl/placeto/placeto_learner.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakePlaceto(const Settings& read) {
  const PlacetoOptions options = ReadPlacetoOptions(read);
  return MakeLearningAgent(options.name,
                           [options](const auto& tasks, const auto& evaluators, const auto& search) {
                             return std::make_unique<PlacetoLearner>(options, tasks, evaluators, search);
                           });
}

}  // namespace stowplan::agents::rl
