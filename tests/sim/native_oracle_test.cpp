// The engine against the oracle, event by event, on random problems.
#include <algorithm>

#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/oracle.h"
#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

// Where they differ, docs/model.md says who is right.
TEST(NativeOracle, EngineAndOracleAgreeOnRandomCases) {
  const std::uint64_t cases = OracleCases();
  std::uint64_t oom = 0, fits = 0;
  std::size_t transfers = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    const Outcome expected = OracleRun(c.graph, c.cluster, c.costs, c.placement);
    const Outcome& actual = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
    const std::string difference = FirstDifference(expected, actual, c.graph, c.cluster);
    ASSERT_EQ("", difference) << PrintCase(c);
    ++(expected.oom ? oom : fits);
    transfers += expected.transfers.size();
  }
  // The cases are worth something only if they hold what they are meant to.
  EXPECT_GT(oom, cases / 20);
  EXPECT_GT(fits, cases / 2);
  EXPECT_GT(transfers, cases * 2);
}

// The oracle sees runs that record everything; this test, that those that record less are the same.
TEST(NativeOracle, RecordingLessChangesNothing) {
  const std::uint64_t cases = OracleCases();
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    Outcome expected = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
    expected.memory.clear();
    expected.transfers.clear();
    const Outcome ops = simulator->Run(c.placement, {RunOptions::Record::kOps, {}});
    ASSERT_EQ("", FirstDifference(expected, ops, c.graph, c.cluster)) << PrintCase(c);
    expected.ops.clear();
    ASSERT_EQ("", FirstDifference(expected, simulator->Run(c.placement), c.graph, c.cluster)) << PrintCase(c);
  }
}

// Neighbours in the graph share a device, colocation sets stay whole: what searches look at.
Placement Contiguous(const OpGraph& graph, const Cluster& cluster) {
  Placement placement;
  for (const std::int32_t set : graph.colocation_set())
    placement.device.push_back(
        static_cast<DeviceIndex>(std::int64_t{set} * cluster.size() / graph.colocation_sets()));
  return placement;
}

void ExpectAgreement(const RandomCase& c, Simulator& simulator, const Placement& placement) {
  Outcome expected = OracleRun(c.graph, c.cluster, c.costs, placement);
  const Outcome& actual = simulator.Run(placement, {RunOptions::Record::kTimeline, {}});
  ASSERT_EQ("", FirstDifference(expected, actual, c.graph, c.cluster)) << PrintCase(c);
  expected.ops.clear();
  expected.transfers.clear();
  expected.memory.clear();
  ASSERT_EQ("", FirstDifference(expected, simulator.Run(placement), c.graph, c.cluster)) << PrintCase(c);
}

// Sets of devices have a word for each 64 then (sim/native/index_set.h), and devices a time of their own each (peaks.h).
TEST(NativeOracle, EngineAndOracleAgreeOnMoreThan64Devices) {
  for (std::uint64_t seed = 1; seed <= OracleCases() / 50; ++seed) {
    const int least = seed % 8 == 0 ? 300 : 65;
    const RandomCase c = MakeRandomCase(
        seed, {.max_ops = 250, .least_devices = least, .most_devices = least + 85, .solo = seed % 3 != 0});
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    ExpectAgreement(c, *simulator, c.placement);
    ExpectAgreement(c, *simulator, Contiguous(c.graph, c.cluster));
  }
}

// Runs by lists, of which only what is sent is an event: in both places of the host's threads, under all interconnects.
TEST(NativeOracle, ListsAgreeOnContiguousPlacements) {
  for (std::uint64_t seed = 1; seed <= OracleCases() / 4; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.max_ops = 120, .least_devices = 2, .solo = true});
    c.cluster.dispatch.order = Dispatch::Order::kProgram;
    c.cluster.dispatch.per = seed % 2 == 0 ? Dispatch::Per::kProcess : Dispatch::Per::kDevice;
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    ExpectAgreement(c, *simulator, Contiguous(c.graph, c.cluster));
    Placement random = c.placement;
    random.priority.clear();
    ExpectAgreement(c, *simulator, random);
  }
}

// A device is priced by its kind: one column for all of a kind says the same as one for each of them.
TEST(NativeOracle, EngineReadsCostsByKind) {
  for (std::uint64_t seed = 1; seed <= OracleCases() / 20; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    CostTable by_kind;
    by_kind.devices = c.cluster.size();
    std::vector<DeviceIndex> first;  // by column
    for (DeviceIndex d = 0; d < c.cluster.size(); ++d) {
      const auto kind = [&](DeviceIndex of) { return c.cluster.devices[static_cast<std::size_t>(of)].kind; };
      const auto alike = std::ranges::find(first, kind(d), kind);
      by_kind.column_of.push_back(static_cast<DeviceIndex>(alike - first.begin()));
      if (alike == first.end()) first.push_back(d);
    }
    by_kind.shared_columns = static_cast<DeviceIndex>(first.size());
    for (OpIndex op = 0; op < c.graph.size(); ++op) {
      for (const DeviceIndex d : first) by_kind.picos.push_back(c.costs.at(op, d));
    }
    by_kind.tier.assign(by_kind.picos.size(), Tier::kMeasured);
    CostTable separate = by_kind;
    for (DeviceIndex d = 0; d < c.cluster.size(); ++d) separate.Separate(d);
    const Outcome expected = OracleRun(c.graph, c.cluster, c.costs, c.placement);
    for (const CostTable& costs : {by_kind, separate}) {
      const Problem problem(c.graph, c.cluster, costs);
      const auto simulator = MakeSimulator(problem);
      const Outcome& actual = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
      ASSERT_EQ("", FirstDifference(expected, actual, c.graph, c.cluster)) << PrintCase(c);
    }
  }
}

// On devices that work alone, with threads of their own, nothing is processed in an order of its own (sim/native/run.h).
TEST(NativeOracle, RunsOnSoloDevicesAgreeOnRandomCases) {
  const std::uint64_t cases = OracleCases() / 2;
  std::uint64_t oom = 0;
  std::size_t transfers = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.max_ops = seed % 10 == 0 ? 300 : 60, .solo = true});
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    Dice dice(seed);
    for (int i = 0; i < 3; ++i) {
      Placement placement = MakeRandomPlacement(c.graph, c.cluster, dice);
      placement.priority.clear();
      Outcome expected = OracleRun(c.graph, c.cluster, c.costs, placement);
      oom += expected.oom ? 1 : 0;
      transfers += expected.transfers.size();
      expected.ops.clear();
      expected.memory.clear();
      expected.transfers.clear();
      ASSERT_EQ("", FirstDifference(expected, simulator->Run(placement), c.graph, c.cluster)) << PrintCase(c);
    }
  }
  EXPECT_GT(oom, cases / 10);
  EXPECT_GT(transfers, cases * 10);
}

// Both say that a case never ends, or both how.
TEST(NativeOracle, EngineAndOracleAgreeOnCollectives) {
  const std::uint64_t cases = OracleCases();
  std::uint64_t deadlocks = 0, collectives = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.max_ops = 50, .collectives = true});
    const Problem problem(c.graph, c.cluster, c.costs, std::make_shared<RandomPrices>(seed % 2 == 0));
    const auto simulator = MakeSimulator(problem);
    Dice dice(seed);
    for (int i = 0; i < 3; ++i) {
      const Placement placement = i == 0 ? c.placement : MakeRandomPlacement(c.graph, c.cluster, dice);
      std::optional<Outcome> expected;
      const std::string error = tests::ErrorOf([&] {
        expected = OracleRun(c.graph, c.cluster, c.costs, placement, problem.collective_prices().get());
      });
      const std::string refused = tests::ErrorOf([&] { simulator->Run(placement); });
      ASSERT_EQ(error.empty(), refused.empty()) << error << refused << PrintCase(c);
      deadlocks += error.empty() ? 0 : 1;
      collectives += c.graph.collectives().size();
      if (!expected) continue;
      const Outcome actual = simulator->Run(placement, {RunOptions::Record::kTimeline, {}});
      ASSERT_EQ("", FirstDifference(*expected, actual, c.graph, c.cluster)) << i << PrintCase(c);
      RandomCase placed = c;
      placed.placement = placement;
      ASSERT_EQ("", DifferenceOfCutoffs(*simulator, placed, actual)) << i << PrintCase(c);
    }
  }
  EXPECT_GT(deadlocks, cases / 100);
  EXPECT_GT(collectives, cases * 2);
}

// Scratch of one run must not leak into the next.
TEST(NativeOracle, OneSimulatorRunsManyPlacements) {
  for (std::uint64_t seed = 1; seed <= OracleCases() / 50; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    Dice dice(seed);
    for (int i = 0; i < 10; ++i) {
      const Placement placement = MakeRandomPlacement(c.graph, c.cluster, dice);
      const Outcome expected = OracleRun(c.graph, c.cluster, c.costs, placement);
      const Outcome& actual = simulator->Run(placement, {RunOptions::Record::kTimeline, {}});
      ASSERT_EQ("", FirstDifference(expected, actual, c.graph, c.cluster)) << "placement " << i << "\n"
                                                                           << PrintCase(c);
    }
  }
}

}  // namespace
}  // namespace stowplan::sim
