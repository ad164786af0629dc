#include "agents/search/neighbours.h"

#include "tests/testing.h"

namespace stowplan::agents {
namespace {

Task TaskOf(std::vector<UnitEdge> edges) {
  Task task;
  task.edges = std::move(edges);
  return task;
}

TEST(HeaviestEarlierNeighbours, CountsBothWaysTogether) {
  // 2 reads 10 from 0, and 6 from 1, to which it also gives 6.
  const Task task = TaskOf({{0, 2, 10}, {1, 2, 6}, {2, 1, 6}});
  EXPECT_EQ(HeaviestEarlierNeighbours(task, {0, 1, 2}), (std::vector<UnitIndex>{-1, -1, 1}));
}

TEST(HeaviestEarlierNeighbours, TheEarliestOfEqualsAndControlIfNothingElse) {
  const Task task = TaskOf({{0, 2, 5}, {1, 2, 5}, {2, 3, 0}});
  EXPECT_EQ(HeaviestEarlierNeighbours(task, {0, 1, 2, 3}), (std::vector<UnitIndex>{-1, -1, 0, 2}));
}

TEST(HeaviestEarlierNeighbours, EarlierIsEarlierInTheOrder) {
  // In the order 2, 0, 1: the unit 0 comes after 2.
  const Task task = TaskOf({{0, 2, 5}, {1, 2, 7}});
  EXPECT_EQ(HeaviestEarlierNeighbours(task, {2, 0, 1}), (std::vector<UnitIndex>{-1, 0, 0}));
}

}  // namespace
}  // namespace stowplan::agents
