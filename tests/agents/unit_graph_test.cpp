#include "agents/classical/unit_graph.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

using Edges = UnitGraph::Edges;

// The properties of this program draw the same cases every time.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261120", 0);

// Floyd-Warshall over booleans: what Reaches() must say.
std::vector<std::vector<bool>> Closure(UnitIndex units, const Edges& edges) {
  const auto n = static_cast<std::size_t>(units);
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
  for (const auto& [from, to] : edges)
    reach[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = true;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

// Numbered against the edges, so that the order has something to do.
Edges ArbitraryEdges(UnitIndex units) {
  Edges edges;
  for (int i = 0; i < 2 * units; ++i) {
    const auto from = *rc::gen::inRange<UnitIndex>(0, units - 1);
    edges.emplace_back(units - 1 - from, units - 1 - *rc::gen::inRange<UnitIndex>(from + 1, units));
  }
  return edges;
}

std::vector<int> PlacesIn(const UnitGraph& graph) {
  std::vector<int> place(static_cast<std::size_t>(graph.size()));
  for (std::size_t i = 0; i < place.size(); ++i)
    place[static_cast<std::size_t>(graph.order()[i])] = static_cast<int>(i);
  return place;
}

RC_GTEST_PROP(UnitGraph, ReachesAsTheTransitiveClosureSays, ()) {
  const auto units = *rc::gen::inRange<UnitIndex>(2, 90);
  const Edges edges = ArbitraryEdges(units);
  const UnitGraph graph(units, edges);
  const auto expected = Closure(units, edges);
  for (UnitIndex from = 0; from < units; ++from) {
    for (UnitIndex to = 0; to < units; ++to) {
      RC_ASSERT(graph.Reaches(from, to) ==
                expected[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);
    }
  }
}

RC_GTEST_PROP(UnitGraph, OrderIsTopological, ()) {
  const auto units = *rc::gen::inRange<UnitIndex>(2, 60);
  const Edges edges = ArbitraryEdges(units);
  const UnitGraph graph(units, edges);
  const std::vector<int> place = PlacesIn(graph);
  for (const auto& [from, to] : edges) {
    RC_ASSERT(place[static_cast<std::size_t>(from)] < place[static_cast<std::size_t>(to)]);
    RC_ASSERT(graph.depth()[static_cast<std::size_t>(from)] < graph.depth()[static_cast<std::size_t>(to)]);
  }
}

// Every neighbour stays one, once; what is on no cycle keeps its direction.
RC_GTEST_PROP(UnitGraph, FoldsCyclesAndNothingElse, ()) {
  RandomOptions options;
  options.ops = *rc::gen::inRange(2, 30);
  const auto made = RandomCase(*rc::gen::arbitrary<std::uint64_t>(), options);
  const Task task =
      MakeTask(*made->problem,
               *rc::gen::elementOf(std::vector<std::string>{"colocation", "neighbour(groups=5)", "stage"}));
  const UnitGraph graph(task);
  Edges original;
  std::set<std::pair<UnitIndex, UnitIndex>> expected, seen;
  for (const UnitEdge& edge : task.edges) original.emplace_back(edge.from, edge.to);
  for (const auto& [from, to] : original) expected.insert(std::minmax(from, to));
  const auto reach = Closure(task.units.size(), original);
  for (const auto& [from, to] : graph.edges()) {
    RC_ASSERT(seen.insert(std::minmax(from, to)).second);
    RC_ASSERT(reach[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] ||
              reach[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)]);
    if (!reach[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)]) continue;
    RC_ASSERT(reach[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);  // on a cycle
  }
  RC_ASSERT(seen == expected);
}

// Two branches between a source and a sink, each op with its gradient on its device, and a variable of the
// first branch with its update.
TEST(UnitGraph, AStepsWayBackIsFoldedOntoItsWayForward) {
  Case made;
  made.Add("weights", {0}).type = "Variable";
  made.Add("source", {1});
  made.Add("left", {1}, {0, 1});
  made.Add("right", {1}, {1});
  made.Add("sink", {1}, {2, 3});
  made.Add("sink'", {1}, {4}).colocate = "sink";
  made.Add("left'", {1}, {5, 2}).colocate = "left";
  made.Add("right'", {1}, {5, 3}).colocate = "right";
  made.Add("source'", {1}, {6, 7}).colocate = "source";
  made.Add("update", {1}, {6}).colocate = "weights";
  for (int op = 0; op < 5; ++op)
    made.graph.ops[static_cast<std::size_t>(op)].colocate = made.graph.ops[static_cast<std::size_t>(op)].name;
  made.UseGpus(2);
  const Task task = MakeTask(made.Finish(), "colocation");
  const UnitGraph graph(task);
  EXPECT_EQ(graph.edges(), (Edges{{0, 2}, {1, 2}, {1, 3}, {2, 4}, {3, 4}}));
  EXPECT_EQ(graph.depth(), (std::vector<std::int32_t>{0, 0, 1, 1, 2}));
  EXPECT_FALSE(graph.Reaches(2, 3) || graph.Reaches(3, 2));
}

// The group of "early" and "late" has the first op, but what leads forward comes into it.
TEST(UnitGraph, AGroupStandsWhereItsForwardEdgesPutIt) {
  Case made;
  made.Add("early", {1}).group = "two";
  made.Add("middle", {1}).colocate = "middle";
  made.Add("late", {1}, {0, 1}).colocate = "late";
  made.graph.ops[2].group = "two";
  made.Add("late'", {1}, {2}).colocate = "late";
  made.Add("middle'", {1}, {3}).colocate = "middle";
  made.UseGpus(2);
  const Task task = MakeTask(made.Finish(), "stage");
  EXPECT_EQ(task.units.unit_of_op, (std::vector<UnitIndex>{0, 1, 0, 0, 1}));
  EXPECT_EQ(UnitGraph(task).edges(), (Edges{{1, 0}}));
}

// An importer puts every variable in front; each stands where it is first read all the same.
TEST(UnitGraph, VariablesStandWhereTheyAreRead) {
  Case made;
  made.Add("w1", {0}).type = "Variable";
  made.Add("w2", {0}).type = "Variable";
  made.Add("layer1", {1}, {0}).colocate = "1";
  made.Add("pool", {1}, {2}).colocate = "pool";
  made.Add("layer2", {1}, {1, 3}).colocate = "2";
  made.Add("layer2'", {1}, {4}).colocate = "2";
  made.Add("pool'", {1}, {5}).colocate = "pool";
  made.Add("layer1'", {1}, {6}).colocate = "1";
  made.graph.ops[0].colocate = "1";
  made.graph.ops[1].colocate = "2";
  made.UseGpus(2);
  const Task task = MakeTask(made.Finish(), "colocation");
  EXPECT_EQ(task.units.unit_of_op, (std::vector<UnitIndex>{0, 1, 0, 2, 1, 1, 2, 0}));
  EXPECT_EQ(UnitGraph(task).edges(), (Edges{{0, 2}, {2, 1}}));
}

}  // namespace
}  // namespace stowplan::agents
