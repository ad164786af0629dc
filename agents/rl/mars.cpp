// `mars`: a graph encoder that was pre-trained without rewards, a sequence placer that works in segments, PPO.
//
// Source: Lan et al., Accelerated Device Placement Optimization with Contrastive Learning, ICPP 2021
// (docs/protocol.md#mars). Known are the design and the results; what the parts are made of is recalled or
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
//   - `paper`: 10 placements an update, 4 epochs, range 0.2 for each unit's ratio, entropy 1e-3, Adam 3e-4, moving
//     average 0.9, reward -sqrt(s), -10 for what fails [recalled: low].
// `tuned` changes the learner (docs/protocol.md#tuned), lets the decoder read the unit it is placing (`aligned`), which the
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
namespace {

MarsOptions ReadMarsOptions(ParameterReader& read, bool paper, bool full) {
  MarsOptions options;
  options.encoder_width = read.Int("encoder_width", full ? 256 : 128, 1, 8192);
  options.layers = static_cast<int>(read.Int("layers", 3, 1, 100));
  options.graph = read.Bool("graph", true);
  options.pretrain = read.Bool("pretrain", true);
  options.pretraining.iterations = static_cast<int>(read.Int("iterations", full ? 1000 : 300, 1, 1'000'000));
  options.pretraining.patience = static_cast<int>(read.Int("patience", 20, 1, 1'000'000));
  options.freeze = read.Bool("freeze", false);
  SequencePlacer::Sizes& placer = options.sequence.placer;
  placer.width = full ? 512 : 128;
  placer.both_directions = true;
  if (!paper) SetTunedNetwork(options.sequence, full);
  if (!options.graph) {  // both read edges
    placer.stay = 0;
    placer.offers = false;
  }
  placer.segment = read.Int("segment", 128, 1, 1 << 20);
  options.sequence = ReadSequenceOptions(read, options.sequence);
  return options;
}

}  // namespace

std::unique_ptr<Agent> MakeMars(const Spec& spec) {
  ParameterReader read(spec);
  const bool paper = read.Choice("preset", {"tuned", "paper"}) == "paper";
  const bool full = read.Choice("size", {"small", "full"}) == "full";
  const MarsOptions policy = ReadMarsOptions(read, paper, full);
  OneShotOptions learner = paper ? PublishedPpo() : Tuned(OneShotOptions::Algorithm::kPpo, 20, 2e-3);
  if (paper) learner.batch = 10;
  learner = ReadOneShotOptions(read, learner);
  read.Finish();
  return MakeOneShotAgent(read.Canonical(), learner, [policy](const auto& tasks, Rng& init) {
    return std::make_unique<MarsPolicy>(policy, tasks, init);
  });
}

}  // namespace stowplan::agents::rl
