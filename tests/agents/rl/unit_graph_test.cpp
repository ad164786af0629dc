#include "agents/rl/unit_graph.h"

#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace berth::agents::rl {
namespace {

// The properties of this program draw the same cases every time.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261120", 0);

// Floyd-Warshall over booleans: what Reaches() must say.
std::vector<std::vector<bool>> Closure(UnitIndex units, const std::vector<UnitEdge>& edges) {
  const auto n = static_cast<std::size_t>(units);
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
  for (const UnitEdge& edge : edges) {
    if (edge.from != edge.to)
      reach[static_cast<std::size_t>(edge.from)][static_cast<std::size_t>(edge.to)] = true;
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

RC_GTEST_PROP(UnitGraph, ReachesAsTheTransitiveClosureSays, ()) {
  const auto units = *rc::gen::inRange<UnitIndex>(1, 90);
  const auto count = *rc::gen::inRange(0, 3 * units);
  std::vector<UnitEdge> edges;
  for (int i = 0; i < count; ++i) {
    edges.push_back({*rc::gen::inRange<UnitIndex>(0, units), *rc::gen::inRange<UnitIndex>(0, units), 1});
  }
  const UnitGraph graph(units, edges);
  const auto expected = Closure(units, edges);
  for (UnitIndex from = 0; from < units; ++from) {
    for (UnitIndex to = 0; to < units; ++to) {
      RC_ASSERT(graph.Reaches(from, to) ==
                expected[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);
    }
  }
}

RC_GTEST_PROP(UnitGraph, OrderIsTopologicalWithoutCycles, ()) {
  const auto units = *rc::gen::inRange<UnitIndex>(2, 60);
  std::vector<UnitEdge> edges;
  for (int i = 0; i < 2 * units; ++i) {
    const auto from = *rc::gen::inRange<UnitIndex>(0, units - 1);
    // Numbered against the edges, so that the order has something to do.
    edges.push_back({units - 1 - from, units - 1 - *rc::gen::inRange<UnitIndex>(from + 1, units), 1});
  }
  const UnitGraph graph(units, edges);
  std::vector<int> position(static_cast<std::size_t>(units));
  for (std::size_t i = 0; i < position.size(); ++i) {
    position[static_cast<std::size_t>(graph.order()[i])] = static_cast<int>(i);
  }
  for (const UnitEdge& edge : edges) {
    RC_ASSERT(position[static_cast<std::size_t>(edge.from)] < position[static_cast<std::size_t>(edge.to)]);
    RC_ASSERT(graph.depth()[static_cast<std::size_t>(edge.from)] <
              graph.depth()[static_cast<std::size_t>(edge.to)]);
  }
}

// 0 -> 1 <-> 2 -> 3: the cycle is one place, so 1 and 2 share a depth and reach themselves.
TEST(UnitGraph, CycleSharesItsDepth) {
  const UnitGraph graph(4, {{0, 1, 1}, {1, 2, 1}, {2, 1, 1}, {2, 3, 1}});
  EXPECT_EQ(graph.depth(), (std::vector<std::int32_t>{0, 1, 1, 2}));
  EXPECT_EQ(graph.order(), (std::vector<UnitIndex>{0, 1, 2, 3}));
  EXPECT_TRUE(graph.Reaches(1, 1));
  EXPECT_FALSE(graph.Reaches(0, 0));
  EXPECT_TRUE(graph.Reaches(0, 3));
  EXPECT_FALSE(graph.Reaches(3, 0));
}

}  // namespace
}  // namespace berth::agents::rl
