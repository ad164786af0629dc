// What a grouper sees of each unit, and a placer of each group of units (docs/protocol_rules.md#hierarchical).
#pragma once

#include <cstdint>
#include <vector>

#include "agents/rl/features/unit_features.h"

namespace stowplan::agents::rl {

// Breadth-first numbers of the units, from those without predecessors along the edges of unit_graph.h.
std::vector<std::int64_t> BreadthFirstNumbers(const Task& task);

// [units, 36]: the ICLR'18 vector without its type embedding. Shapes of 6 outputs x 4 dimensions (log1p,
// standardised), then the numbers of up to 6 units that it reads and up to 6 that read it, as parts of the
// number of units, -1 where there are fewer.
at::Tensor UnitVectors(const Task& task);

// [units, 46]: the vector of TensorFlow's open planner, numbers as they are. Type of the first op; 5 outputs
// x 5 dimensions, -1 where absent; 10 pairs (topological number of a neighbour, 1 if it reads the unit and -1
// if the unit reads it), 0 where there are fewer.
at::Tensor PlannerUnitVectors(const Task& task, const TypeVocabulary& vocabulary);

// A task in the form in which groups are described. Immutable.
class GroupDescriber {
 public:
  // `planner`: the vectors of TensorFlow's open planner, else those of ICLR'18.
  GroupDescriber(const Task& task, const TypeVocabulary& vocabulary, std::int64_t groups, bool planner);

  static std::int64_t Columns(std::int64_t groups, bool planner);
  // [groups, Columns()] for `group` [units]. ICLR'18: type counts and summed shapes (16), both log1p, 0/1
  // adjacency to the other groups in either direction.
  at::Tensor Describe(const at::Tensor& group) const;
  // For `group` [units], the earlier group with which each group exchanges most bytes, the number of groups where there is
  // none, [groups]. Clusters of hierarchical_policy.h are numbered along the order of the units.
  at::Tensor EarlierGroups(const at::Tensor& group) const;
  // For `group` [units], what each group takes alone on each device, double: [groups, devices], picoseconds.
  at::Tensor WorkOf(const at::Tensor& group) const;

 private:
  std::int64_t groups_;
  bool planner_;
  at::Tensor types_, shapes_;      // by unit
  at::Tensor lengths_;             // [units, devices]
  at::Tensor from_, to_, weight_;  // of the edges between units; bytes, and a little for control
};

}  // namespace stowplan::agents::rl
