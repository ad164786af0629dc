// `mars`: a graph encoder that was pre-trained without rewards, a sequence placer that works in segments, PPO.
//
// Source: Lan et al., Accelerated Device Placement Optimization with Contrastive Learning, ICPP 2021
// (docs/protocol_rules.md#mars). Known are the design and the results; what the parts are made of is recalled or
// assumed. The layers are said in graph_convolution.h, graph_infomax.h and sequence_placer.h, the learner in
// one_shot_learner.h.
//
// A unit's vector: shares of the op types among its ops (one-hot where it has one), and node_features.h.
//
// Unverified or assumed:
//   - 3 graph convolutions on the graph without directions, width 256 (`size=full`) or 128 [recalled: low];
//   - pre-training of 1,000 (300) iterations, an end after 20 without a smaller loss, Adam at 1e-3 [recalled: low; the
//     last two from the program of Deep Graph Infomax]. It costs no samples; its time is the agent's. With several
//     graphs an iteration sees all of them (ours). Weights that were loaded are not pre-trained again (ours);
//   - segments of 128 units in topological order, by depth and index, width 512 (128) [recalled: low];
//   - the decoder starts from what the encoder ends the first segment with (ours, as in the other sequence models);
//   - the learner of `paper`, with a range for each unit's ratio [recalled: low].
// `tuned` changes the learner (docs/protocol_rules.md#tuned), lets the decoder read the unit it is placing (`aligned`), which the
// design as recalled does not say, centres the logits (`centred`), pulls units to a neighbour's device (`stay`) and
// tells them where a schedule would end them first (`offers`).
// `pretrain=no` is the paper's ablation; `freeze=yes` keeps the encoder as pre-training left it; `graph=no` hides the
// edges.
//
// Where it fails: as `rnn` in what a decision is rewarded by; and without `aligned` only attention, which must be
// learned too, tells the decoder which unit it is placing.
#include "agents/rl/learners.h"
#include "agents/rl/mars_policy.h"
#include "agents/rl/one_shot_learner.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakeMars(const Settings& read) {
  MarsOptions policy;
  policy.encoder_width = read.Int("encoder_width");
  policy.layers = static_cast<int>(read.Int("layers"));
  policy.graph = read.Bool("graph");
  policy.pretrain = read.Bool("pretrain");
  policy.pretraining.iterations = static_cast<int>(read.Int("iterations"));
  policy.pretraining.patience = static_cast<int>(read.Int("patience"));
  policy.freeze = read.Bool("freeze");
  policy.sequence = ReadSequenceOptions(read);
  policy.sequence.placer.both_directions = true;
  policy.sequence.placer.segment = read.Int("segment");
  return MakeOneShotAgent(read.Canonical(), ReadOneShotOptions(read), [policy](const auto& tasks, Rng& init) {
    return std::make_unique<MarsPolicy>(policy, tasks, init);
  });
}

}  // namespace stowplan::agents::rl
