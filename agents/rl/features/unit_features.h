// What policies know about units without running anything: op types, output shapes, neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/rl/nn/byte_state.h"
#include "agents/rl/nn/tensors.h"
#include "agents/task.h"

namespace stowplan::agents::rl {

// Numbers for op types: the 200 most frequent ones of some tasks (ICLR'18), 0 for all others. Part of what a
// policy carries to other graphs.
class TypeVocabulary {
 public:
  static constexpr std::int64_t kSize = 201;

  explicit TypeVocabulary(const std::vector<const Task*>& tasks);

  std::int64_t IndexOf(const std::string& type) const;  // in [0, kSize)

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::vector<std::string> names_;  // by number - 1
};

// [units, TypeVocabulary::kSize]: ops of each type in each unit.
at::Tensor CountTypes(const Task& task, const TypeVocabulary& vocabulary);

// The same as parts of the unit's ops.
at::Tensor TypeShares(const Task& task, const TypeVocabulary& vocabulary);

// [units, outputs * dimensions]: sizes of the first dimensions of the first outputs, summed over a unit's ops.
// What an op lacks adds nothing.
at::Tensor SumShapes(const Task& task, std::int64_t outputs, std::int64_t dimensions);

// [units, units] of 0 and 1: does data or control go from the row to the column?
at::Tensor AdjacencyOf(const Task& task);

// Each column minus its mean, divided by its standard deviation; constant columns become 0.
at::Tensor Standardised(const at::Tensor& features);

// Rows picked in the order of `units`.
at::Tensor Reordered(const at::Tensor& rows, const std::vector<UnitIndex>& units);

// Of items that are the units in the order of `units`, what SequencePlacer::Encode wants, [1, units]: the earlier item that
// each exchanges most bytes with, the number of units where there is none.
at::Tensor EarlierItems(const Task& task, const std::vector<UnitIndex>& units);

// The group vectors of TensorFlow's open planner (read in its program): edge counts out [groups, groups] and
// in, and type counts with 25 empty columns behind them; the summed shapes [groups, 25] stand in the first 25
// *type* columns, where the program adds them by mistake. Each row is divided by its maximum plus 1.
at::Tensor PlannerGroupFeatures(const at::Tensor& edges, const at::Tensor& types, const at::Tensor& shapes);

}  // namespace stowplan::agents::rl
