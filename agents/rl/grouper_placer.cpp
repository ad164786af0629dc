// `grouper_placer`: the grouper and the placer of `hierarchical`, learned by PPO.
//
// Source: one of the two designs that Mars (Lan et al., ICPP 2021) compares with
// (docs/protocol.md#encoder-placer). Which learner it had there is not published: PPO as in Mars is taken, so
// that the design alone differs (assumed); the ratio is that of a group for the placer and that of a unit for
// the grouper. `learner=reinforce` is the other choice.
//
// Assumptions: the network is the one of ICLR'18 without bounded logits; `paper` has the learner of Mars as
// recalled (10 placements an update from 5 groupings, 4 epochs, range 0.2, entropy 1e-3, Adam 3e-4, moving
// average 0.9, -10 for what fails); `tuned` is the shared learner (docs/protocol.md#tuned) with 20 placements,
// the placer and the clusters of `hierarchical`. Sizes as in `hierarchical`.
//
// Where it fails: as `hierarchical`; and the clip keeps each unit's ratio in range while the joint one of
// thousands of units drifts far.
#include "agents/rl/hierarchical_policy.h"
#include "agents/rl/learners.h"
#include "agents/rl/one_shot_learner.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakeGrouperPlacer(const Spec& spec) {
  ParameterReader read(spec);
  const bool paper = read.Choice("preset", {"tuned", "paper"}) == "paper";
  const bool full = read.Choice("size", {"small", "full"}) == "full";
  HierarchicalOptions policy;
  policy.groups = full ? 256 : 64;
  policy.placements = 2;
  policy.sequence.placer.width = full ? 512 : 128;
  policy.sequence.placer.both_directions = true;
  if (!paper) {
    policy.clusters = kTunedClusters;
    SetTunedNetwork(policy.sequence, full);
  }
  policy = ReadHierarchicalOptions(read, policy);
  OneShotOptions learner = paper ? PublishedPpo() : Tuned(OneShotOptions::Algorithm::kPpo, 20, 2e-3);
  if (paper) learner.batch = 10;
  learner = ReadOneShotOptions(read, learner, policy.placements);
  read.Finish();
  return MakeOneShotAgent(read.Canonical(), learner, [policy](const auto& tasks, Rng& init) {
    return std::make_unique<HierarchicalPolicy>("grouper_placer", policy, tasks, init);
  });
}

}  // namespace stowplan::agents::rl
