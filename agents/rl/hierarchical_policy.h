// A grouper and a placer: the first assigns each unit to a group, the second names a device for each group in
// turn (docs/protocol_rules.md#hierarchical). Several placements are drawn from each grouping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/classical/unit_graph.h"
#include "agents/rl/features/grouper_features.h"
#include "agents/rl/policy.h"
#include "agents/rl/sequence_options.h"

namespace stowplan::agents::rl {

struct HierarchicalOptions {
  bool planner = false;  // vectors of TensorFlow's open planner; its grouper has no bias and no nonlinearity
  int groups = 64;       // 0 = 20 for each device, 256 at most, as the planner does
  int placements = 4;    // drawn from each grouping
  // What a unit's logit of its own cluster gets added; half of it get those of its neighbours. A fresh grouper then draws
  // nearly the same groups each time, so that the placer can learn what they are; groups without units, whose devices
  // change nothing, get no credit. 0 = a grouping at random, as published.
  double clusters = 0;
  int freeze = 0;  // from this update on the last devices are kept and groupings alone are drawn; 0 = never
  bool as_shipped = false;  // learn from fresh draws and a zero input: docs/protocol_rules.md#as-shipped
  SequenceOptions sequence;
};

// Reads what `hierarchical` and `grouper_placer` have in common.
HierarchicalOptions ReadHierarchicalOptions(const Settings& read);

// By unit its cluster, units that share most (agents/groupers/unit_tree.h), in [0, min(clusters, units)), numbered in the order in
// which `graph` first comes to them. With no more units than clusters each unit is one. Ours, in no paper.
std::vector<std::int64_t> ClustersOf(const Task& task, const UnitGraph& graph, std::int64_t clusters);

class HierarchicalPolicy : public Policy {
 public:
  // Throws InputError, naming `agent`, for tasks of different numbers of devices.
  HierarchicalPolicy(const std::string& agent, const HierarchicalOptions& options,
                     const std::vector<const Task*>& tasks, Rng& init);

  // Kinds of decisions: the group of each unit, one row a grouping; the device of each group, one row a draw.
  Draws Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) override;
  std::vector<ActionTerms> Evaluate(std::size_t task, const Draws& draws) const override;

  const Tensors& parameters() const override { return parameters_; }
  void Save(StateWriter& out) const override;
  void Load(StateReader& in) override;
  void SaveRun(StateWriter& out) const override;
  void LoadRun(StateReader& in) override;

 private:
  void ReadFeatures();
  at::Tensor GroupLogits(std::size_t task) const;  // [units, groups]
  Decisions DrawGroups(std::size_t task, std::int64_t rows, double noise, Rng* rng) const;
  // Groups described for the placer, one sequence a grouping; `blind`: all alike, whatever the grouping.
  SequencePlacer::Encoded Encode(std::size_t task, const Decisions& grouping, bool blind) const;
  // [groupings, groups] of 0 and 1: which groups have units; undefined where all count.
  at::Tensor Used(const Decisions& grouping) const;
  Decisions Frozen(const SequencePlacer::Encoded& encoded) const;
  UnitPlacement PlacementOf(std::size_t task, const at::Tensor& group, const at::Tensor& slot) const;

  const HierarchicalOptions options_;
  const std::vector<const Task*> tasks_;
  std::int64_t groups_, devices_;
  TypeVocabulary vocabulary_;
  Tensors grouper_;       // weights and, unless planner, biases of its two layers
  at::Tensor embedding_;  // of types; unused by the planner's vectors
  SequencePlacer placer_;
  Tensors parameters_;
  at::Tensor last_devices_;  // [draws, groups] of the last batch; undefined before it
  Tensors types_, units_;    // by task: mean type counts and the rest of a unit's vector
  Tensors clusters_;         // by task: what is added to logits [units, groups]; none where clusters is 0
  std::vector<GroupDescriber> describers_;
};

}  // namespace stowplan::agents::rl
