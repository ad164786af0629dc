// Which units belong together, at every size.
//
// Each unit joins the cluster with which it shares most, clusters of at most kFactor units, then kFactor times as many,
// up to all: as multilevel partitioners coarsen hypergraphs (Çatalyürek, Aykanat: Hypergraph-partitioning-based decomposition,
// IEEE TPDS 1999; rated by weight over the root of the other's size). A tensor that many units read ties them one to the
// next, not each to its producer: it goes to a device once for all of them, so the steps of a recurrent layer are tied by
// its weights, which no tie between neighbouring steps outweighs. What shares nothing with any comes together at last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agents/task.h"

namespace stowplan::agents {

struct UnitTree {
  static constexpr std::size_t kFactor = 4;

  std::vector<std::size_t> order;  // units; those of one cluster stand side by side
  // By level, from single units up, where the clusters begin in `order`, and last its size. A level's clusters are unions
  // of those of the level before.
  std::vector<std::vector<std::size_t>> levels;

  std::size_t Clusters(std::size_t level) const { return levels[level].size() - 1; }
  // Its units.
  std::span<const std::size_t> Cluster(std::size_t level, std::size_t cluster) const {
    const std::vector<std::size_t>& begins = levels[level];
    return std::span(order).subspan(begins[cluster], begins[cluster + 1] - begins[cluster]);
  }
  // The highest with at least so many clusters of a quarter of an even share or more; 0 if none has.
  std::size_t LevelOf(std::size_t parts) const;
};

// A pass takes time in proportion to edges, but for a logarithm; a level takes passes until nothing joins. Not empty;
// deterministic.
UnitTree MakeUnitTree(const sim::OpGraph& graph, const Units& units);

// By unit its group, numbered along the tree's order: of the highest level with at least `groups` clusters, those beside each
// other in a cluster of the level above are merged, the smallest first, until `groups` are left. With no more units than
// groups each unit is one. In time like that of sorting the units.
std::vector<std::int32_t> GroupsOf(const UnitTree& tree, std::size_t groups);

}  // namespace stowplan::agents
