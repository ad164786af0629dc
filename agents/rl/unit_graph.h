// The graph between units as learners need it: an order to visit them, and who can reach whom.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "agents/task.h"

namespace berth::agents::rl {

// Built once per task. A grouper may leave cycles between units; then the units of a cycle reach one another,
// and depth is that of the graph with each cycle drawn together.
class UnitGraph {
 public:
  // Without `reach` Reaches() must not be asked; its sets take size() * size() / 8 bytes.
  UnitGraph(UnitIndex units, const std::vector<UnitEdge>& edges, bool reach = true);

  UnitIndex size() const { return size_; }
  // Distinct (from, to) pairs of different units, ascending.
  const std::vector<std::pair<UnitIndex, UnitIndex>>& edges() const { return edges_; }
  // Longest path to the unit, in edges.
  const std::vector<std::int32_t>& depth() const { return depth_; }
  // By (depth, index): topological where there is no cycle.
  const std::vector<UnitIndex>& order() const { return order_; }

  // Is there a path of at least one edge? Never asked for from == to by learners; true then only on a cycle.
  bool Reaches(UnitIndex from, UnitIndex to) const {
    return (reach_[static_cast<std::size_t>(from) * words_ + static_cast<std::size_t>(to) / 64] >>
            (to % 64)) &
           1;
  }

 private:
  UnitIndex size_;
  std::size_t words_;
  std::vector<std::pair<UnitIndex, UnitIndex>> edges_;
  std::vector<std::int32_t> depth_;
  std::vector<UnitIndex> order_;
  std::vector<std::uint64_t> reach_;  // [from][word]: bit sets
};

}  // namespace berth::agents::rl
