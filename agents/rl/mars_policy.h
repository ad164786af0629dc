// The policy of `mars`: graph convolutions read the units, a sequence placer in segments names their devices. The
// encoder may learn from the graphs alone before the first placement is drawn.
#pragma once

#include <optional>
#include <vector>

#include "agents/rl/features/unit_features.h"
#include "agents/rl/nn/graph_convolution.h"
#include "agents/rl/nn/graph_infomax.h"
#include "agents/rl/policy.h"
#include "agents/rl/sequence_options.h"

namespace stowplan::agents::rl {

struct MarsOptions {
  std::int64_t encoder_width = 128;
  int layers = 3;        // graph convolutions
  bool graph = true;     // false hides the edges from the encoder (an ablation)
  bool pretrain = true;  // by Deep Graph Infomax
  bool freeze = false;   // the encoder does not learn with the placer
  GraphInfomax::Options pretraining;
  SequenceOptions sequence;
};

class MarsPolicy : public Policy {
 public:
  MarsPolicy(const MarsOptions& options, const std::vector<const Task*>& tasks, Rng& init);

  // Weights that were loaded are not trained beforehand again.
  std::optional<double> Pretrain() override;
  Draws Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) override;
  std::vector<ActionTerms> Evaluate(std::size_t task, const Draws& draws) const override;

  const Tensors& parameters() const override { return parameters_; }
  void Save(StateWriter& out) const override;
  void Load(StateReader& in) override;
  void SaveRun(StateWriter& out) const override;
  void LoadRun(StateReader& in) override;

 private:
  void ReadFeatures();
  SequencePlacer::Encoded Encode(std::size_t task) const;

  const MarsOptions options_;
  const std::vector<const Task*> tasks_;
  TypeVocabulary vocabulary_;
  GraphConvolution encoder_;
  SequencePlacer placer_;
  Tensors parameters_;                       // the placer's and, unless frozen, the encoder's
  std::vector<Offers::Units> units_;         // by task
  Tensors earlier_;                          // by task, as the placer reads them
  Tensors features_;                         // by task: what does not depend on the vocabulary, in that order
  std::vector<GraphInfomax::Graph> graphs_;  // by task, in that order
  GraphInfomax pretraining_;
  bool pretrained_;  // or not wanted
};

}  // namespace stowplan::agents::rl
