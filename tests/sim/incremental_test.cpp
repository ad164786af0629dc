// Incremental = from scratch = batch, to the last bit, over sequences of tries and commits.
#include "sim/incremental.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/random_case.h"
#include "tests/sim/world.h"

namespace berth::sim {
namespace {

// One run of the same length for all ops, so that a block placement is a coherent one.
std::vector<DeviceIndex> Blocks(const OpGraph& graph, const Cluster& cluster, Dice& dice) {
  std::vector<DeviceIndex> of_set(static_cast<std::size_t>(graph.colocation_sets()), -1);
  const auto length = std::max<OpIndex>(1, graph.size() / static_cast<OpIndex>(dice.Between(1, 6)));
  std::vector<DeviceIndex> devices;
  for (OpIndex i = 0; i < graph.size(); ++i) {
    DeviceIndex& device =
        of_set[static_cast<std::size_t>(graph.colocation_set()[static_cast<std::size_t>(i)])];
    if (device < 0) device = i / length % cluster.size();
    devices.push_back(device);
  }
  return devices;
}

// A colocation set goes somewhere.
void AddMove(std::vector<Move>& moves, const OpGraph& graph, const Cluster& cluster, Dice& dice) {
  const std::vector<std::int32_t>& sets = graph.colocation_set();
  const std::int32_t set = dice.OneOf(sets);
  const auto device = static_cast<DeviceIndex>(dice.Between(0, cluster.size() - 1));
  for (OpIndex i = 0; i < graph.size(); ++i) {
    if (sets[static_cast<std::size_t>(i)] == set) moves.push_back({i, device});
  }
}

std::string Text(const Placement& base, const std::vector<Move>& moves) {
  std::string text = "base:";
  for (const DeviceIndex d : base.device) text += " " + std::to_string(d);
  text += "\nmoves:";
  for (const Move& move : moves) text += " " + std::to_string(move.op) + "->" + std::to_string(move.device);
  return text + "\n";
}

// A search: tries from the base, one now and then committed. Empty, or what differs first.
std::string DifferenceOfSearch(const RandomCase& c, int tries, Dice& dice) {
  const Problem problem(c.graph, c.cluster, c.costs);
  const auto simulator = MakeSimulator(problem);
  const auto incremental = MakeIncrementalSimulator(problem);
  Placement base = c.placement;
  if (dice.Percent(50)) base.device = Blocks(c.graph, c.cluster, dice);
  const auto compare = [&](const Outcome& actual, const Placement& placement, const RunOptions& options,
                           const std::vector<Move>& moves) -> std::string {
    const Outcome expected = simulator->Run(placement, options);
    const std::string difference = expected.stopped != actual.stopped
                                       ? "stopped"
                                       : FirstDifference(expected, actual, c.graph, c.cluster);
    if (difference.empty()) return "";
    return difference + "\n" + Text(base, moves) + PrintCase(c);
  };
  std::string difference = compare(incremental->Base(base), base, {}, {});
  for (int i = 0; i < tries && difference.empty(); ++i) {
    std::vector<Move> moves;
    for (auto n = dice.OneOf<int>({0, 1, 1, 1, 1, 2, 3, 5}); n > 0; --n) {
      AddMove(moves, c.graph, c.cluster, dice);
    }
    Placement moved = base;
    for (const Move& move : moves) moved.device[static_cast<std::size_t>(move.op)] = move.device;
    RunOptions options;
    if (dice.Percent(20)) {
      const Picos runtime = simulator->Run(moved).runtime;
      options.cutoff = dice.OneOf<Picos>({0, runtime / 3, runtime - 30 * kUs, runtime - 1, runtime});
    }
    if (dice.Percent(5)) options.record = RunOptions::Record::kTimeline;
    difference = compare(incremental->Try(moves, options), moved, options, moves);
    if (difference.empty() && dice.Percent(20)) {
      incremental->Commit();
      base = moved;
      if (incremental->base().device != base.device) difference = "base() is another";
    }
  }
  return difference;
}

void ExpectEqualSearches(std::uint64_t seed, const CaseShape& shape, Preset preset) {
  RandomCase c = MakeRandomCase(seed, shape);
  c.cluster.preset = preset;
  Dice dice(seed);
  RC_ASSERT(DifferenceOfSearch(c, 20, dice) == "");
}

void ExpectEqualNativeSearches(const std::string& interconnect) {
  for (const int max_ops : {60, 300}) {
    CaseShape shape{.max_ops = max_ops};
    shape.interconnect = interconnect;
    ExpectEqualSearches(*rc::gen::arbitrary<std::uint64_t>(), shape, Preset::kNative);
  }
}

RC_GTEST_PROP(Incremental, IdealEqualsFromScratch, ()) {
  ExpectEqualNativeSearches("ideal");
}

RC_GTEST_PROP(Incremental, FifoEqualsFromScratch, ()) {
  ExpectEqualNativeSearches("fifo");
}

RC_GTEST_PROP(Incremental, FairEqualsFromScratch, ()) {
  ExpectEqualNativeSearches("fair");
}

// Threads that issue from a list: the graph's, or that of the placement.
RC_GTEST_PROP(Incremental, ListsEqualFromScratch, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const bool own : {false, true}) {
    RandomCase c = MakeRandomCase(seed, {.max_ops = 200});
    c.cluster.preset = Preset::kNative;
    c.cluster.dispatch.order = own ? Dispatch::Order::kReady : Dispatch::Order::kProgram;
    c.placement.priority.clear();
    c.placement.order = own ? c.graph.topological_order() : std::vector<OpIndex>{};
    Dice dice(seed);
    RC_ASSERT(DifferenceOfSearch(c, 20, dice) == "");
  }
}

RC_GTEST_PROP(Incremental, PlacetoEqualsFromScratch, ()) {
  for (int i = 0; i < 10; ++i) {
    ExpectEqualSearches(*rc::gen::arbitrary<std::uint64_t>(), {}, Preset::kPlaceto);
  }
}

RC_GTEST_PROP(Incremental, PlacetoEqualsFromScratchOnLargerGraphs, ()) {
  ExpectEqualSearches(*rc::gen::arbitrary<std::uint64_t>(), {.max_ops = 400}, Preset::kPlaceto);
}

// Many tries in one batch, and one after the other from one base.
TEST(Incremental, EqualsBatch) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    c.cluster.preset = seed % 2 == 0 ? Preset::kPlaceto : Preset::kNative;
    const Problem problem(c.graph, c.cluster, c.costs);
    std::vector<std::vector<Move>> tries(20);
    std::vector<Placement> moved(tries.size(), c.placement);
    Dice dice(seed);
    for (std::size_t i = 0; i < tries.size(); ++i) {
      AddMove(tries[i], c.graph, c.cluster, dice);
      for (const Move& move : tries[i]) moved[i].device[static_cast<std::size_t>(move.op)] = move.device;
    }
    const std::vector<Outcome> batch = BatchSimulator(problem, 2).Run(moved);
    const auto incremental = MakeIncrementalSimulator(problem);
    incremental->Base(c.placement);
    for (std::size_t i = 0; i < tries.size(); ++i) {
      ASSERT_EQ("", FirstDifference(batch[i], incremental->Try(tries[i]), c.graph, c.cluster))
          << PrintCase(c);
    }
  }
}

// gpu0 has a and then c, gpu1 has b; c reads both. Costs 10.5, 3 and 2 us, with pauses of 5.7 and 25. b ends at
// 3 and its sending of 76 kB, 10 us long, at 13, so c starts when a and its pause are over, at 16.2, and the
// last pause ends at 23.9, before the channel is free at 38. With b on gpu0 behind a, b starts at 16.2 and ends
// at 19.2; c starts at 24.9; all is over at 32.6.
TEST(Incremental, AWorkedCase) {
  TwoGpus world;
  world.cluster.preset = Preset::kPlaceto;
  const OpIndex a = world.Add(0, 10.5, {1000});
  const OpIndex b = world.Add(1, 3, {76'000});
  world.Add(0, 2, {}, {{a, 0}, {b, 0}});
  world.Run();
  const Problem problem(world.graph, world.cluster, world.costs());
  const auto incremental = MakeIncrementalSimulator(problem);
  EXPECT_TRUE(incremental->replays());
  EXPECT_EQ(incremental->Base(world.placement).runtime, 38 * kUs);
  const std::vector<Move> moves = {{b, 0}};
  EXPECT_EQ(incremental->Try(moves).runtime, FromMicros(32.6));
  EXPECT_EQ(incremental->Try({}).runtime, 38 * kUs) << "a try leaves the base as it was";
  EXPECT_TRUE(incremental->Try(moves, {RunOptions::Record::kNothing, FromMicros(19.1)}).stopped);
  EXPECT_EQ(incremental->Try(moves, {RunOptions::Record::kNothing, FromMicros(19.1)}).runtime,
            FromMicros(19.2));
  incremental->Commit();
  EXPECT_EQ(incremental->base().device[static_cast<std::size_t>(b)], 0);
  EXPECT_EQ(incremental->Try({}).runtime, FromMicros(32.6));
}

}  // namespace
}  // namespace berth::sim
