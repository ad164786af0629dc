// `grouper_placer`: the grouper and the placer of `hierarchical`, learned by PPO.
//
// Source: one of the two designs that Mars (Lan et al., ICPP 2021) compares with
// (docs/protocol_rules.md#encoder-placer). Which learner it had there is not published: PPO as in Mars is taken, so
// that the design alone differs (assumed); the ratio is that of a group for the placer and that of a unit for
// the grouper. `learner=reinforce` is the other choice.
//
// Assumptions: the network is the one of ICLR'18 without bounded logits; `paper` has the learner of Mars as
// recalled, `tuned` the shared learner (docs/protocol_rules.md#tuned) with the placer and the clusters of `hierarchical`.
//
// Where it fails: as `hierarchical`; and the clip keeps each unit's ratio in range while the joint one of
// thousands of units drifts far.
#include "agents/rl/hierarchical_policy.h"
#include "agents/rl/learners.h"
#include "agents/rl/one_shot_learner.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakeGrouperPlacer(const Settings& read) {
  const HierarchicalOptions policy = ReadHierarchicalOptions(read);
  return MakeOneShotAgent(
      read.Canonical(), ReadOneShotOptions(read, policy.placements), [policy](const auto& tasks, Rng& init) {
        return std::make_unique<HierarchicalPolicy>("grouper_placer", policy, tasks, init);
      });
}

}  // namespace stowplan::agents::rl
