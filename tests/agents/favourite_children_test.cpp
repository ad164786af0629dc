// The linear program of favourite children: optima known by hand, and what every optimum keeps.
#include "agents/classical/favourite_children.h"

#include <signal.h>

#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

using sim::OpIndex;

constexpr double kNear = 1e-6;

struct Solution {
  double makespan;        // us
  std::vector<double> x;  // by edge, in the order of the program
};

Solution Solve(const Case& c) {
  const Task task = MakeTask(*c.problem, "", {"gpu0", "gpu1"});
  ListSchedule list(task, task.devices);
  const FavouriteProgram favourites = MakeFavouriteProgram(list, c.graph.topological_order());
  const std::vector<double> all = Minimise(favourites.program);
  Solution solution{all.at(static_cast<std::size_t>(favourites.makespan)), {}};
  for (const FavouriteProgram::Edge& edge : favourites.edges)
    solution.x.push_back(all.at(static_cast<std::size_t>(edge.column)));
  return solution;
}

std::vector<OpIndex> Favourites(const Case& c, std::int64_t window = 0) {
  const Task task = MakeTask(*c.problem, "", {"gpu0", "gpu1"});
  ListSchedule list(task, task.devices);
  return FavouriteChildren(list, 0.1, window);
}

// 1 MB over two links of 10 GB/s and 5 us: a transfer takes 110 us.
constexpr sim::Bytes kMegabyte = 1'000'000;

TEST(LinearProgram, FindsAnOptimumKnownByHand) {
  LinearProgram program;  // x + 2y >= 4 and 3x + y >= 6 meet at (1.6, 1.2)
  const auto x = program.AddColumn(0, LinearProgram::kInfinity, 1);
  const auto y = program.AddColumn(0, LinearProgram::kInfinity, 1);
  const auto first = program.AddRow(4);
  program.AddEntry(first, x, 1);
  program.AddEntry(first, y, 2);
  const auto second = program.AddRow(6);
  program.AddEntry(second, y, 1);
  program.AddEntry(second, x, 3);
  EXPECT_THAT(Minimise(program), ElementsAre(DoubleNear(1.6, kNear), DoubleNear(1.2, kNear)));
  program.upper[0] = 1;
  EXPECT_THAT(Minimise(program), ElementsAre(DoubleNear(1, kNear), DoubleNear(3, kNear)));
}

// Ctrl-C is the program's: the solver takes it neither while it works nor for good.
TEST(LinearProgram, LeavesSignalsAlone) {
  const auto handler = [] {
    struct sigaction now = {};
    sigaction(SIGINT, nullptr, &now);
    return now.sa_handler;
  };
  const auto c = RandomCase(3, {.ops = 400, .gpus = 2});
  const auto before = handler();
  std::atomic<int> left = 2;
  std::vector<std::thread> solvers;
  for (int i = 0; i < 2; ++i) {
    solvers.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) Favourites(*c);
      --left;
    });
  }
  int others = 0;
  while (left > 0) others += handler() == before ? 0 : 1;
  for (std::thread& solver : solvers) solver.join();
  EXPECT_EQ(others, 0);
  EXPECT_EQ(handler(), before);
}

TEST(LinearProgram, SaysThatThereIsNoSolution) {
  LinearProgram program;
  program.AddEntry(program.AddRow(2), program.AddColumn(0, 1, 1), 1);
  EXPECT_THROW(Minimise(program), RunError);
}

// a's children: o, a dead end of 100 us, and f, which begins the long path f -> g. With x = 1 for o alone
// 10 + 10 + 1000; any x on the long path adds to it.
TEST(FavouriteChildren, TheHeavyPathGetsItsTransfersForNothing) {
  Case c;
  c.Add("a", {10}, {}, kMegabyte);
  c.Add("o", {100}, {0});
  c.Add("f", {10}, {0}, kMegabyte);
  c.Add("g", {1000}, {2});
  c.UseGpus(2);
  c.Finish();
  const Solution solution = Solve(c);
  EXPECT_NEAR(solution.makespan, 1020, kNear);
  EXPECT_THAT(solution.x,
              ElementsAre(DoubleNear(1, kNear), DoubleNear(0, kNear), DoubleNear(0, kNear)));  // ao, af, fg
  EXPECT_THAT(Favourites(c), ElementsAre(2, -1, 3, -1));
}

// x_ab + x_ac >= 1, and 10 + 110 x + 100 for both: a half each, which is nobody's favourite.
TEST(FavouriteChildren, EqualChildrenShareAndNoneIsTheFavourite) {
  Case c;
  c.Add("a", {10}, {}, kMegabyte);
  c.Add("b", {100}, {0});
  c.Add("c", {100}, {0});
  c.UseGpus(2);
  c.Finish();
  const Solution solution = Solve(c);
  EXPECT_NEAR(solution.makespan, 165, kNear);
  EXPECT_THAT(solution.x, Each(DoubleNear(0.5, kNear)));
  EXPECT_THAT(Favourites(c), Each(-1));
}

// The same for two parents; and the longer one wins where they differ by a transfer.
TEST(FavouriteChildren, AnOpIsTheFavouriteOfOneParent) {
  for (const double longer : {10, 200}) {
    Case c;
    c.Add("a", {10}, {}, kMegabyte);
    c.Add("b", {longer}, {}, kMegabyte);
    c.Add("c", {10}, {0, 1});
    c.UseGpus(2);
    c.Finish();
    // 10 + 55 + 10; or 200 + 10, as 10 + 110 < 200.
    EXPECT_NEAR(Solve(c).makespan, longer == 10 ? 75 : 210, kNear);
    EXPECT_EQ(Favourites(c)[1], longer == 10 ? -1 : 2);
    EXPECT_EQ(Favourites(c)[0], -1);
  }
}

// No transfer and no x within a unit; a variable has no part in it; a control dependency takes the latencies.
TEST(FavouriteChildren, WhatHasNoChoiceHasNoVariable) {
  Case c;
  c.Add("w", {0}, {}, kMegabyte).type = "Variable";
  c.Add("a", {10}, {0}, kMegabyte).colocate = "unit";
  c.Add("b", {10}, {1}, kMegabyte).colocate = "unit";
  c.Add("c", {10}).control = {2};
  c.UseGpus(2);
  c.Finish();
  EXPECT_THAT(Favourites(c), ElementsAre(-1, -1, 3, -1));
  const Task task = MakeTask(*c.problem, "", {"gpu0", "gpu1"});
  ListSchedule list(task, task.devices);
  const FavouriteProgram favourites = MakeFavouriteProgram(list, std::vector<OpIndex>{1, 2, 3});
  ASSERT_EQ(favourites.edges.size(), 1u);
  std::vector<double> transfers;
  for (const LinearProgram::Entry& entry : favourites.program.entries) {
    if (entry.column == favourites.edges[0].column) transfers.push_back(-entry.value);
  }
  EXPECT_THAT(transfers, ElementsAre(DoubleNear(10, kNear)));
}

TEST(FavouriteChildren, AWindowCutsTheGraphByTime) {
  Case c;
  for (int i = 0; i < 6; ++i)
    c.Add("op" + std::to_string(i), {10}, i > 0 ? std::vector<OpIndex>{i - 1} : std::vector<OpIndex>{});
  c.UseGpus(2);
  c.Finish();
  EXPECT_THAT(Favourites(c), ElementsAre(1, 2, 3, 4, 5, -1));
  EXPECT_THAT(Favourites(c, 6), ElementsAre(1, 2, 3, 4, 5, -1));
  EXPECT_THAT(Favourites(c, 4), ElementsAre(1, 2, -1, 4, 5, -1));  // equal parts
  EXPECT_THAT(Favourites(c, 2), ElementsAre(1, -1, 3, -1, 5, -1));
}

// The heaviest path [us], where a share of each transfer between units is waited for.
double LongestPath(ListSchedule& list, double share) {
  const sim::OpGraph& graph = list.task().problem->graph();
  std::vector<double> end(graph.ops.size(), 0);
  for (const OpIndex op : graph.topological_order()) {
    if (graph.ops[static_cast<std::size_t>(op)].IsSource()) continue;
    double start = 0;
    std::map<OpIndex, double> transfers;
    for (const Dependency& dependency : list.DependenciesOf(op)) {
      const OpIndex producer = dependency.producer;
      if (graph.ops[static_cast<std::size_t>(producer)].IsSource()) continue;
      transfers[producer] += share * static_cast<double>(list.MeanTransfer(dependency.bytes)) / 1e6;
      const double transfer = list.UnitOf(producer) == list.UnitOf(op) ? 0 : transfers[producer];
      start = std::max(start, end[static_cast<std::size_t>(producer)] + transfer);
    }
    end[static_cast<std::size_t>(op)] = start + static_cast<double>(list.MeanLength(op)) / 1e6;
  }
  return *std::max_element(end.begin(), end.end());
}

// Every row holds, and the makespan lies between those without any and with all transfers.
TEST(FavouriteChildren, AnOptimumKeepsTheRowsAndLiesBetweenItsBounds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 60, .gpus = 2});
    const Task task = MakeTask(*c->problem, "", {"gpu0", "gpu1"});
    ListSchedule list(task, task.devices);
    const FavouriteProgram favourites = MakeFavouriteProgram(list, c->graph.topological_order());
    const LinearProgram& program = favourites.program;
    const std::vector<double> x = Minimise(program);
    std::vector<double> sum(program.at_least.size(), 0);
    for (const LinearProgram::Entry& entry : program.entries)
      sum[static_cast<std::size_t>(entry.row)] += entry.value * x[static_cast<std::size_t>(entry.column)];
    for (std::size_t row = 0; row < sum.size(); ++row) EXPECT_GE(sum[row], program.at_least[row] - kNear);

    const double makespan = x[static_cast<std::size_t>(favourites.makespan)];
    EXPECT_GE(makespan, LongestPath(list, 0) - kNear);
    EXPECT_LE(makespan, LongestPath(list, 1) + kNear);

    std::vector<OpIndex> children = FavouriteChildren(list, 0.49, 0);
    std::erase(children, -1);
    std::sort(children.begin(), children.end());
    EXPECT_EQ(std::adjacent_find(children.begin(), children.end()), children.end()) << "of two parents";
  }
}

}  // namespace
}  // namespace stowplan::agents
