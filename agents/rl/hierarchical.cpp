// `hierarchical`: a network assigns each op to a group, a sequence model places the groups; both are learned
// together by REINFORCE from the runtime of the placement.
//
// Source: Mirhoseini, Goldie et al., A Hierarchical Model for Device Placement, ICLR 2018, and its
// open-source program in TensorFlow (docs/protocol.md#hierarchical and #as-shipped). What the networks are is
// said in hierarchical_policy.h, grouper_features.h and sequence_placer.h, the learner in one_shot_learner.h.
// "Ops" are the task's units: with a colocation set as unit, its ops' shapes are added and its type vector is
// their mean.
//
// Preset `paper`: 56 numbers an op -> 64 ReLU -> groups; encoder of both directions; logits 5 tanh(x / 10);
// one grouping and 4 placements an update; log-probability of a draw = sum over ops + sum over groups; Adam
// 0.1, clip 1; moving average 0.9; -10 for what fails; noise of half the logits' root mean square during the
// first 500 updates, only feasible draws after them. Adam at 0.1 on an LSTM is kept because it is published;
// expect early collapse. Preset `code`: every constant of the program, with the evidently intended gradient.
// `as_shipped=yes` has its defect: the loss takes fresh draws and a zero input, so that its expected gradient
// is zero. Preset `tuned`: the networks of `paper` without bounded logits; the placer's as in `rnn`, but offers
// (offers.h) know groups by their work alone, not by order or transfers; the shared learner (docs/protocol.md#tuned),
// 4 placements of each grouping; a grouper that starts from `clusters` (docs/protocol.md#clusters): where groups are
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
namespace {

struct Options {
  HierarchicalOptions policy;
  OneShotOptions learner;
};

Options Defaults(const std::string& preset, bool full) {
  Options options;
  HierarchicalOptions& policy = options.policy;
  policy.groups = full ? 256 : 64;
  policy.sequence.placer.width = full ? 512 : 128;
  policy.sequence.placer.both_directions = true;
  if (preset == "tuned") {
    policy.clusters = kTunedClusters;
    SetTunedNetwork(policy.sequence, full);
  }
  options.learner = Tuned(OneShotOptions::Algorithm::kPpo, 20, 2e-3);
  if (preset == "paper") {
    policy.sequence.placer.temperature = 10;
    policy.sequence.placer.tanh_constant = 5;
    policy.sequence.noise = 0.5;
    policy.sequence.noise_updates = 500;
    options.learner = PublishedReinforce();
    options.learner.batch = 4;
    options.learner.valid_update = 500;
    options.learner.learning_rate = {0.1, 0.1, 1};
  }
  if (preset == "code") {
    policy.planner = true;
    policy.groups = 0;
    policy.placements = 1;
    policy.freeze = 500;
    SetPlannerNetwork(policy.sequence);
    SetPlannerDefaults(policy.sequence, options.learner);
  }
  return options;
}

}  // namespace

std::unique_ptr<Agent> MakeHierarchical(const Spec& spec) {
  ParameterReader read(spec);
  const std::string preset = read.Choice("preset", {"tuned", "paper", "code"});
  Options options = Defaults(preset, read.Choice("size", {"small", "full"}) == "full");
  options.policy = ReadHierarchicalOptions(read, options.policy);
  options.policy.freeze = static_cast<int>(read.Int("freeze", options.policy.freeze, 0, 1'000'000));
  options.policy.as_shipped = read.Bool("as_shipped", options.policy.as_shipped);
  options.learner = ReadOneShotOptions(read, options.learner, options.policy.placements);
  read.Finish();
  return MakeOneShotAgent(read.Canonical(), options.learner, [options](const auto& tasks, Rng& init) {
    return std::make_unique<HierarchicalPolicy>("hierarchical", options.policy, tasks, init);
  });
}

}  // namespace stowplan::agents::rl
