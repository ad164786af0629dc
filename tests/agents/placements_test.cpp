#include "agents/placements.h"

#include "agents/random_numbers.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

// Sizes that its lanes divide and that they do not.
TEST(HashOf, TellsAllPlacementsOfAFewUnitsApart) {
  std::set<std::uint64_t> hashes;
  std::size_t placements = 0;
  for (std::size_t units = 0; units <= 9; ++units) {
    UnitPlacement placement(units, 0);
    for (bool more = true; more; ++placements) {
      hashes.insert(HashOf(placement));
      more = false;
      for (sim::DeviceIndex& device : placement) {  // counts up, the first unit turning fastest
        device = (device + 1) % 3;
        if ((more = device != 0)) break;
      }
    }
  }
  EXPECT_EQ(placements, 29'524u);  // (3^10 - 1) / 2
  EXPECT_EQ(hashes.size(), placements);
}

TEST(HashOf, TellsUnitsApartInEveryLane) {
  std::set<std::uint64_t> hashes;
  for (std::size_t unit = 0; unit < 100; ++unit) {
    for (const sim::DeviceIndex device : {1, 2, 64}) {
      UnitPlacement placement(100, 0);
      placement[unit] = device;
      hashes.insert(HashOf(placement));
    }
  }
  EXPECT_EQ(hashes.size(), 300u);
}

// What the simulator carries between devices.
TEST(Plainness, CountsWhatIsSent) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto made = RandomCase(seed, {.ops = 12, .gpus = 3});
    const Task task = MakeTask(*made->problem, "colocation");
    Rng rng(seed, "plainness");
    const UnitPlacement placement = UniformPlacement(task, rng);
    const auto simulator = sim::MakeSimulator(*made->problem);
    const sim::Outcome& outcome =
        simulator->Run(Expand(task, placement), {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
    std::vector<sim::Bytes> peak;
    for (const sim::DeviceUse& use : outcome.devices) peak.push_back(use.peak);
    const Plainness plainness = PlainnessOf(task, placement, peak);
    sim::Bytes sent = 0;
    for (const sim::TransferTimes& transfer : outcome.transfers) sent += transfer.bytes;
    EXPECT_EQ(plainness.sent, sent) << seed;
    EXPECT_EQ(plainness.devices, std::ssize(std::set<sim::DeviceIndex>(placement.begin(), placement.end())))
        << seed;
    double fullest = 0;
    for (std::size_t d = 0; d < peak.size(); ++d)
      fullest = std::max(fullest, static_cast<double>(peak[d]) /
                                      static_cast<double>(task.device(static_cast<int>(d)).capacity()));
    EXPECT_NEAR(static_cast<double>(plainness.fullest), 1e6 * fullest, 1) << seed;
  }
}

// After every offer: the fastest of all, and the plainest of those that are within the share of it.
TEST(PlainestPlacements, KeepsWhatASearchThroughAllFinds) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed, "plainest");
    const double within = 0.05 * static_cast<double>(rng.Below(4));
    PlainestPlacements plainest(within);
    std::vector<FittingPlacement> all;
    for (int i = 0; i < 50; ++i) {
      const auto draw = [&](std::int64_t values) {
        return static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(values)));
      };
      all.push_back({{i},
                     1000 - 2 * i + draw(200),
                     {.devices = static_cast<int>(1 + draw(3)), .sent = draw(4), .fullest = draw(4)}});
      plainest.Offer(all.back());
      sim::Picos fastest = all.front().runtime;
      for (const FittingPlacement& one : all) fastest = std::min(fastest, one.runtime);
      const auto near = [&](const FittingPlacement& one) {
        return static_cast<double>(one.runtime) <= (1 + within) * static_cast<double>(fastest);
      };
      Plainness least{.devices = 100, .sent = 0, .fullest = 0};
      for (const FittingPlacement& one : all) {
        if (near(one)) least = std::min(least, one.plainness);
      }
      ASSERT_EQ(plainest.kept().back().runtime, fastest) << seed << " " << i;
      ASSERT_EQ(plainest.kept().front().plainness, least) << seed << " " << i;
      ASSERT_TRUE(near(plainest.kept().front()));
    }
  }
  PlainestPlacements none(-1);
  none.Offer({{0}, 10, {}});
  EXPECT_TRUE(none.kept().empty());
}

}  // namespace
}  // namespace stowplan::agents
