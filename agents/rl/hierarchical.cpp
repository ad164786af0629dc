// `hierarchical`: a network assigns each op to a group, a sequence model places the groups; both are learned
// together by REINFORCE from the runtime of the placement.
//
// Source: Mirhoseini, Goldie et al., A Hierarchical Model for Device Placement, ICLR 2018, and its
// open-source program in TensorFlow (docs/protocol_rules.md#hierarchical and #as-shipped). What the networks are is
// said in hierarchical_policy.h, grouper_features.h and sequence_placer.h, the learner in one_shot_learner.h.
// "Ops" are the task's units: with a colocation set as unit, its ops' shapes are added and its type vector is
// their mean.
//
// Preset `paper`: 56 numbers an op -> 64 ReLU -> groups; encoder of both directions; logits 5 tanh(x / 10);
// log-probability of a draw = sum over ops + sum over groups. Adam at 0.1 on an LSTM is kept because it is
// published; expect early collapse. Preset `code`: every constant of the program, with the evidently intended gradient.
// `as_shipped=yes` has its defect: the loss takes fresh draws and a zero input, so that its expected gradient
// is zero. Preset `tuned`: the networks of `paper` without bounded logits; the placer's as in `rnn`, but offers
// (offers.h) know groups by their work alone, not by order or transfers; the shared learner (docs/protocol_rules.md#tuned),
// 4 placements of each grouping; a grouper that starts from `clusters` (docs/protocol_rules.md#clusters): where groups are
// drawn at random, and anew each time, a group's device says nothing of any unit.
//
// Assumptions, where nothing is known:
//   - a neighbour's number is scaled to [0, 1]; shapes and counts enter as log1p; the
//     adjacency of groups is that in either direction, without the diagonal;
//   - temperature and tanh bound the placer's logits only, as in the program; the noise is on both, as there;
//   - `size=small` (64 groups, width 128; `code`: 20 groups for each device) is ours, `size=full` has 256 and
//     512;
//   - the program joins step i of the encoder's forward with step i of its backward pass, which are different
//     groups; ours joins the same ones.
// Where it fails without clusters: the sum over thousands of ops dominates the clipped gradient, so the placer learns last; a
// group that mixes far parts of the graph cannot be mended by any device, so a placer that learns faster than
// the grouper ends with all groups on the one device that is best for most, and then no grouping matters any
// more (seen even on six ops of two types on two devices).
#include "agents/rl/hierarchical_policy.h"
#include "agents/rl/learners.h"
#include "agents/rl/one_shot_learner.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakeHierarchical(const Settings& read) {
  HierarchicalOptions policy = ReadHierarchicalOptions(read);
  policy.planner = read.Is("preset", "code");
  policy.sequence.placer.biases = !policy.planner;
  policy.freeze = static_cast<int>(read.Int("freeze"));
  policy.as_shipped = read.Bool("as_shipped");
  return MakeOneShotAgent(read.Canonical(), ReadOneShotOptions(read, policy.placements),
                          [policy](const auto& tasks, Rng& init) {
                            return std::make_unique<HierarchicalPolicy>("hierarchical", policy, tasks, init);
                          });
}

}  // namespace stowplan::agents::rl
