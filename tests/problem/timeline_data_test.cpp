#include "problem/explain/timeline_data.h"

#include "tests/testing.h"

namespace stowplan::problem {
namespace {

sim::MemoryPoint Point(sim::Picos time, sim::Bytes live) {
  return {.time = time, .device = 0, .live = live};
}

std::vector<std::pair<sim::Picos, sim::Bytes>> CurveOf(const sim::Outcome& outcome, std::size_t most) {
  std::vector<std::pair<sim::Picos, sim::Bytes>> curve;
  const auto curves = MemoryCurves(outcome, most);
  for (const MemorySample& sample : curves.front()) curve.emplace_back(sample.time, sample.live);
  return curve;
}

using Curve = std::vector<std::pair<sim::Picos, sim::Bytes>>;

// Two tracks: 0-30 and 10-20, of 100; then 50-75.
TEST(BinLane, OverlapsCountOnce) {
  sim::Lane lane;
  lane.slices = {{0, 30, 7, 0}, {10, 20, 8, 1}, {50, 75, 9, 0}};
  const BinnedLane binned = BinLane(lane, 100, 4);
  EXPECT_EQ(binned.busy, (std::vector<double>{1, 0.2, 1, 0}));
  EXPECT_EQ(binned.longest, (std::vector<std::int32_t>{7, 7, 9, -1}));
}

TEST(BinLane, TheLongestOfASliceIsNamed) {
  sim::Lane lane;
  lane.slices = {{0, 10, 1, 0}, {10, 50, 2, 0}, {60, 60, 3, 0}};
  const BinnedLane binned = BinLane(lane, 100, 2);
  EXPECT_EQ(binned.longest, (std::vector<std::int32_t>{2, -1}));  // what takes no time is not shown
  EXPECT_EQ(binned.busy, (std::vector<double>{1, 0}));
}

// What is freed at once still counts for the peak.
TEST(MemoryCurves, KeepThePeakOfAnInstant) {
  sim::Outcome outcome;
  outcome.runtime = 100;
  outcome.devices.resize(1);
  outcome.memory = {Point(0, 5), Point(10, 20), Point(10, 8), Point(40, 0)};
  EXPECT_EQ(CurveOf(outcome, 100), (Curve{{0, 5}, {10, 20}, {10, 8}, {40, 0}}));
}

TEST(MemoryCurves, OfManyChangesTheLargestAndTheLastOfEachSlice) {
  sim::Outcome outcome;
  outcome.runtime = 1000;
  outcome.devices.resize(1);
  for (sim::Picos time = 0; time < 1000; ++time)
    outcome.memory.push_back(Point(time, time % 10 == 3 ? 50 : 7));
  outcome.memory[512].live = 99;
  const Curve curve = CurveOf(outcome, 20);
  EXPECT_LE(curve.size(), 20u);
  EXPECT_TRUE(std::is_sorted(curve.begin(), curve.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
  EXPECT_EQ(std::max_element(curve.begin(), curve.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; })
                ->second,
            99);
  EXPECT_EQ(curve.back().second, 7);
}

TEST(MemoryCurves, ADeviceWithoutMemoryHasNone) {
  sim::Outcome outcome;
  outcome.devices.resize(2);
  outcome.memory = {Point(0, 5)};
  EXPECT_TRUE(MemoryCurves(outcome, 10)[1].empty());
}

}  // namespace
}  // namespace stowplan::problem
