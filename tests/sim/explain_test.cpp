// The explanation must account for every picosecond: the critical path runs without a gap from 0 to the end,
// and the idle parts add up.
#include "sim/analysis/explain.h"

#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

RunOptions Timeline() {
  RunOptions options;
  options.record = RunOptions::Record::kTimeline;
  return options;
}

TEST(Explain, AccountsForEveryPicosecondOfRandomCases) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random_case = MakeRandomCase(seed, {.collectives = seed % 2 == 0});
    random_case.placement.order.clear();  // some are deadlocks
    for (Op& op :
         random_case.graph.ops)  // and so are waits for a collective before all its members are issued
      if (seed % 2 == 0)
        std::erase_if(op.attributes, [](const auto& one) { return one.first == "host_waits"; });
    const Problem problem(random_case.graph, random_case.cluster, random_case.costs,
                          std::make_shared<RandomPrices>(seed % 4 == 0));
    const auto simulator = MakeSimulator(problem);
    const Outcome& outcome = simulator->Run(random_case.placement, Timeline());
    const Explanation why = Explain(problem, random_case.placement, outcome);

    Picos until = 0;
    for (const CriticalStep& step : why.critical_path) {
      ASSERT_EQ(step.start, until);
      ASSERT_LE(step.start, step.end);
      until = step.end;
    }
    ASSERT_EQ(until, outcome.runtime);
    for (std::size_t d = 0; d < outcome.devices.size(); ++d) {
      const IdleTime& idle = why.idle[d];
      ASSERT_EQ(idle.upstream + idle.queued + idle.transfer + idle.collective + idle.dispatch +
                    idle.finished + outcome.devices[d].busy,
                outcome.runtime);
      Bytes held = 0;
      for (const PeakItem& item : why.peak[d]) held += item.bytes;
      ASSERT_EQ(held, outcome.devices[d].peak);
    }
  }
}

// a (10 us) on gpu0 sends 1 MB over 10 GB/s and 5 us to b (10 us) on gpu1: every segment is known.
TEST(Explain, NamesTheSegmentsOfAKnownCase) {
  OpGraph graph;
  graph.ops.resize(2);
  graph.ops[0].name = "a";
  graph.ops[1].name = "b";
  for (Op& op : graph.ops) op.type = "Op";
  graph.ops[0].outputs = {{.bytes = 1'000'000}};
  graph.ops[1].inputs = {{0, 0}};
  graph.Finish();
  Cluster cluster;
  for (const char* name : {"gpu0", "gpu1"})
    cluster.devices.push_back({.name = name, .kind = "gpu", .memory = kMaxBytes});
  cluster.links = {{.name = "link", .ends = {0, 1}, .bandwidth = 10'000'000'000, .latency = FromMicros(5)}};
  cluster.Finish();
  const CostTable costs{"test", 2, std::vector<Picos>(4, FromMicros(10)), std::vector<Tier>(4)};
  const Problem problem(graph, cluster, costs);
  const Placement placement{{0, 1}, {}, {}};
  const auto simulator = MakeSimulator(problem);
  const Explanation why = Explain(problem, placement, simulator->Run(placement, Timeline()));

  using enum CriticalStep::Kind;
  ASSERT_EQ(why.critical_path.size(), 3u);
  EXPECT_EQ(why.critical_path[0].kind, kOp);
  EXPECT_EQ(why.critical_path[1].kind, kTransfer);
  EXPECT_EQ(ToMicros(why.critical_path[1].start), 10);
  EXPECT_EQ(ToMicros(why.critical_path[1].end), 115);
  EXPECT_EQ(why.critical_path[2].kind, kOp);
  EXPECT_EQ(ToMicros(why.idle[0].finished), 115);
  EXPECT_EQ(ToMicros(why.idle[1].upstream), 10);
  EXPECT_EQ(ToMicros(why.idle[1].transfer), 105);
}

// One rank is ready after 10 us, the other after 30: the path goes through the second, and the first waits 20 for it and 8 for
// the sum.
TEST(Explain, GoesThroughTheLastRankOfACollective) {
  OpGraph graph;
  graph.ops.resize(6);
  for (OpIndex i = 0; i < 6; ++i) {
    Op& op = graph.ops[static_cast<std::size_t>(i)];
    op.name = "op" + std::to_string(i);
    op.type = i == 2 || i == 3 ? "AllReduce" : "Op";
    op.outputs = {{.bytes = 1'000}};
    if (i > 1) op.inputs = {{i - 2, 0}};
    if (i == 2 || i == 3) op.collective = 0;
  }
  graph.Finish();
  Cluster cluster;
  for (const char* name : {"gpu0", "gpu1"})
    cluster.devices.push_back({.name = name, .kind = "gpu", .memory = kMaxBytes});
  cluster.links = {{.name = "link", .ends = {0, 1}, .bandwidth = 500'000'000, .latency = FromMicros(3)}};
  cluster.Finish();
  CostTable costs{"test", 2, std::vector<Picos>(12, FromMicros(10)), std::vector<Tier>(12)};
  costs.picos[3] = FromMicros(30);  // of the second on its device
  const Problem problem(graph, cluster, costs);
  const Placement placement{{0, 1, 0, 1, 0, 1}, {}, {}};
  const auto simulator = MakeSimulator(problem);
  const Outcome& outcome = simulator->Run(placement, Timeline());
  const Explanation why = Explain(problem, placement, outcome);

  EXPECT_EQ(ToMicros(outcome.runtime), 30 + 2 * (3 + 1) + 10);
  ASSERT_EQ(why.critical_path.size(), 3u);
  EXPECT_EQ(why.critical_path[0].index, 1);
  EXPECT_EQ(why.critical_path[1].kind, CriticalStep::Kind::kCollective);
  EXPECT_EQ(why.critical_path[1].index, 3);
  EXPECT_EQ(ToMicros(why.critical_path[1].start), 30);
  EXPECT_EQ(ToMicros(why.critical_path[1].end), 38);
  EXPECT_EQ(ToMicros(why.idle[0].upstream), 20);
  EXPECT_EQ(ToMicros(why.idle[0].collective), 8);
  EXPECT_EQ(ToMicros(why.idle[1].collective), 8);
}

}  // namespace
}  // namespace stowplan::sim
