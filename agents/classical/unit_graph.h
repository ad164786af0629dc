// The graph between units as learners need it: an order to visit them, and who can reach whom.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "agents/task.h"

namespace stowplan::agents {

// Built once per task. Acyclic: a training step runs forward and back through the same units where gradients
// and updates are colocated with what they belong to, and its way back is folded onto its way forward.
//
// The fold. Colocation sets are ordered by their first op in topological order (a variable counts where it is
// first read). Between sets of one cycle only edges along that order lead forward, between others all do. What
// leads forward between sets leads forward between their units; where a grouper leaves cycles of units even
// then, only what agrees with the order of the units' first ops. An order in which all forward edges lead on
// is the order of the units, and each pair of units that exchange anything has one edge along it. So an
// acyclic graph is left as it is, units that exchange data stay neighbours, and only what runs back changes
// its direction.
class UnitGraph {
 public:
  using Edges = std::vector<std::pair<UnitIndex, UnitIndex>>;

  // Without `reach` Reaches() must not be asked; its sets take size() * size() / 8 bytes.
  explicit UnitGraph(const Task& task, bool reach = true);
  // Of edges that form no cycle; doubled ones count once.
  UnitGraph(UnitIndex units, Edges edges, bool reach = true);

  UnitIndex size() const { return size_; }
  // Distinct (from, to) pairs of different units, ascending; never both ways.
  const Edges& edges() const { return edges_; }
  // Longest path to the unit, in edges.
  const std::vector<std::int32_t>& depth() const { return depth_; }
  // By (depth, index): topological.
  const std::vector<UnitIndex>& order() const { return order_; }

  // Is there a path of at least one edge?
  bool Reaches(UnitIndex from, UnitIndex to) const {
    return (reach_[static_cast<std::size_t>(from) * words_ + static_cast<std::size_t>(to) / 64] >>
            (to % 64)) &
           1;
  }

 private:
  UnitIndex size_;
  std::size_t words_;
  Edges edges_;
  std::vector<std::int32_t> depth_;
  std::vector<UnitIndex> order_;
  std::vector<std::uint64_t> reach_;  // [from][word]: bit sets
};

}  // namespace stowplan::agents
