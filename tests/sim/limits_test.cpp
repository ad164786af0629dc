// Random problems whose numbers go up to their limits: each is refused with the documented sentence, before anything runs,
// or every engine runs it to its end, and natively as the oracle does.
#include "sim/analysis/lanes.h"
#include "sim/analysis/what_if.h"
#include "sim/base/exact.h"
#include "sim/screen/screen.h"
#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/oracle.h"
#include "tests/sim/random_case.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

bool IsDocumented(const std::string& message) {
  return message.find("could run for more than 26 simulated days") != std::string::npos ||
         message.find("could hold more than 2^62 bytes at once") != std::string::npos;
}

// nullptr where it is refused.
std::unique_ptr<Problem> MakeProblem(const RandomCase& c) {
  try {
    return std::make_unique<Problem>(c.graph, c.cluster, c.costs);
  } catch (const InputError& error) {
    EXPECT_TRUE(IsDocumented(error.what())) << error.what();
    return nullptr;
  }
}

void RunScreen(const Problem& problem, const Placement& placement) {
  std::vector<std::int32_t> units(problem.graph().ops.size());
  std::iota(units.begin(), units.end(), 0);
  std::vector<DeviceIndex> devices(problem.cluster().devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  try {
    Screen screen(problem, units, devices, 1);
    const std::vector<std::vector<DeviceIndex>> one(1, placement.device);
    const Screen::Result result = screen.Run(one);
    EXPECT_GE(result.runtime[0], 0);
    for (const Bytes peak : result.peak) EXPECT_GE(peak, 0);
  } catch (const InputError& error) {
    EXPECT_TRUE(IsDocumented(error.what())) << error.what();
  }
}

void AskWhatIfs(const Problem& problem, const Placement& placement) {
  WhatIfOptions options;
  options.threads = 1;
  for (DeviceIndex d = 0; d < problem.cluster().size(); ++d) options.devices.push_back(d);
  for (std::size_t l = 0; l < problem.cluster().links.size(); ++l)
    options.links.push_back(static_cast<std::int32_t>(l));
  for (const double faster : {1.5, kMostFaster}) {
    options.faster = faster;
    for (const WhatIf& what_if : RunWhatIfs(problem, placement, options)) EXPECT_GE(what_if.runtime, 0);
  }
}

TEST(Limits, EveryEngineRefusesOrEndsAndAgreesWithTheOracle) {
  const std::uint64_t cases = OracleCases();
  std::uint64_t refused = 0, long_runs = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.max_ops = 20, .extreme = true});
    const auto problem = MakeProblem(c);
    if (problem == nullptr) {
      ++refused;
      continue;
    }
    const Outcome expected = OracleRun(c.graph, c.cluster, c.costs, c.placement);
    const auto simulator = MakeSimulator(*problem);
    const Outcome& actual = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
    ASSERT_EQ("", FirstDifference(expected, actual, c.graph, c.cluster)) << PrintCase(c);
    EXPECT_FALSE(MakeLanes(*problem, c.placement, actual).empty());
    long_runs += expected.runtime > Picos{1} << 50 ? 1 : 0;
    BatchSimulator batch(*problem, 1);
    const std::vector<Placement> placements(2, c.placement);
    for (const Outcome& outcome : batch.Run(placements, {})) EXPECT_EQ(outcome.runtime, expected.runtime);
    RunScreen(*problem, c.placement);
    AskWhatIfs(*problem, c.placement);
    ASSERT_FALSE(HasFailure()) << PrintCase(c);
  }
  // The cases are worth something only if they are on both sides.
  EXPECT_GT(refused, cases / 20);
  EXPECT_GT(cases - refused, cases / 4);
  EXPECT_GT(long_runs, cases / 20);
}

TEST(Limits, RulesPublishedRefuseOrEnd) {
  const std::uint64_t cases = OracleCases();
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.max_ops = 20, .extreme = true});
    c.cluster.rules = Rules::kPublished;
    const auto problem = MakeProblem(c);
    if (problem == nullptr) {
      ++refused;
      continue;
    }
    const auto simulator = MakeSimulator(*problem);
    const Outcome& outcome = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
    Picos busiest = 0;
    for (const auto& device : outcome.devices) busiest = std::max(busiest, device.busy);
    EXPECT_GE(outcome.runtime, busiest);
    RunScreen(*problem, c.placement);
    ASSERT_FALSE(HasFailure()) << PrintCase(c);
  }
  EXPECT_GT(refused, cases / 20);
  EXPECT_GT(cases - refused, cases / 4);
}

// How long a transfer takes alone is set by one link, how much both directions slow it down by another.
TEST(Limits, BothDirectionsOfAWideLinkSlowDownWhatASteepCurveSays) {
  World world;
  world.Gpu();
  world.Gpu();
  const auto between = world.AddSwitch();
  Link& steep = world.Connect(0, between);
  steep.curve = {{0, steep.latency}, {1, steep.latency + 100 * kPicosPerSecond}};
  Link& slowed = world.Connect(between, 1);
  slowed.both_ppm = 1;
  for (const DeviceIndex from : {0, 1}) {
    const OpIndex a = world.Add(from, 1, {1000});
    world.Add(1 - from, 1, {}, {{a, 0}});
  }
  for (const char* interconnect : {"fifo", "fair"}) {
    world.cluster.interconnect = interconnect;
    std::string message;
    try {
      world.Run();
    } catch (const InputError& error) {
      message = error.what();
    }
    EXPECT_TRUE(IsDocumented(message)) << interconnect << ": " << message;
  }
}

// A route's latencies are added up while a cluster is read.
TEST(Limits, LatenciesThatNoTimeHoldsAreRefusedWithTheCluster) {
  World world;
  world.Gpu();
  world.Gpu();
  std::int32_t last = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto next = world.AddSwitch();
    world.Connect(last, next).latency = 1000 * kPicosPerSecond;
    last = next;
  }
  world.Connect(last, 1);
  try {
    world.cluster.Finish();
    FAIL() << "10^7 s of latency passed";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("add up to more than 26 simulated days"), std::string::npos)
        << error.what();
  }
}

// 400 CPUs in a row: 160,000 routes of 133 links on average.
TEST(Limits, RoutesThatTakeTooMuchMemoryAreRefused) {
  World world;
  for (int i = 0; i < 400; ++i) world.Cpu();
  for (int i = 0; i + 1 < 400; ++i) world.Connect(i, i + 1);
  try {
    world.cluster.Finish();
    FAIL() << "more than 2^24 links passed";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("more than 16777216 links together"), std::string::npos)
        << error.what();
  }
}

std::string RefusalOf(Cluster& cluster) {
  return tests::ErrorOf([&] { cluster.Finish(); }, "none");
}

// An op on the first device, one on the last that reads it, and what that takes.
Picos Between(World& world, DeviceIndex first, DeviceIndex last) {
  const OpIndex a = world.Add(first, 10, {1000});
  world.Add(last, 20, {}, {{a, 0}});
  return world.Run().runtime;
}

TEST(Limits, AsManyDevicesAsThereMayBeRunAndOneMoreIsRefused) {
  World world, larger;
  for (DeviceIndex i = 0; i < kMaxDevices; ++i) world.Cpu();
  EXPECT_EQ(Between(world, 0, kMaxDevices - 1), 30 * kUs);  // without links transfers are free
  for (DeviceIndex i = 0; i <= kMaxAccelerators; ++i) larger.Gpu();
  EXPECT_EQ(
      RefusalOf(larger.cluster),
      "a cluster of 16385 devices, 16385 of them accelerators; at most 32768 and 16384 can be simulated");
}

// Beyond what has a row for each pair, a placement may use as many devices as have.
TEST(Limits, PlacementsOnLargeClustersUseFewDevices) {
  constexpr DeviceIndex kDevices = kMaxPaired + 1;
  const auto run = [](DeviceIndex readers) {
    World world;
    for (DeviceIndex i = 0; i < kDevices; ++i) world.Gpu();
    const auto center = world.AddSwitch();
    for (DeviceIndex i = 0; i < kDevices; ++i) world.Connect(i, center);
    const OpIndex a = world.Add(0, 10, {1000});
    for (DeviceIndex i = kDevices - readers; i < kDevices; ++i) world.Add(i, 0, {}, {{a, 0}});
    return tests::ErrorOf([&] { EXPECT_GT(world.Run().runtime, 10 * kUs); }, "none");
  };
  EXPECT_EQ(run(100), "none");
  EXPECT_NE(run(kDevices - 1).find("uses 2049 devices"), std::string::npos);
}

// Two halves of m devices, each around a switch, with 8 links between the switches: 24 m^2 - 4 m links in all routes, 16,770,160 with
// m = 836. One device more takes 24 m of them.
TEST(Limits, RoutesOfAsManyLinksAsThereMayBeAreReadAndOneDeviceMoreIsRefused) {
  constexpr int kHalf = 836, kBetween = 8;
  for (const int more : {0, 1}) {
    World world;
    for (int i = 0; i < 2 * kHalf + more; ++i) world.Cpu();
    std::vector<std::int32_t> row;
    for (int i = 0; i <= kBetween; ++i) row.push_back(world.AddSwitch());
    for (int i = 0; i < kBetween; ++i) world.Connect(row[i], row[i + 1]);
    for (int i = 0; i < 2 * kHalf + more; ++i) world.Connect(i, i < kHalf ? row.front() : row.back());
    const std::string refusal = RefusalOf(world.cluster);
    EXPECT_EQ(refusal.find("more than 16777216 links together") != std::string::npos, more == 1) << refusal;
  }
}

// Resources that a transfer waits for are compared by the routes that need them; two lists of them for each pair of a route's
// links took minutes here.
TEST(Limits, LongRoutesAreWiredInTime) {
  World world;
  for (int i = 0; i < 20; ++i) world.Cpu();
  std::int32_t at = 0;
  for (int i = 1; i < 20; ++i) {
    for (int hop = 1; hop <= 150; ++hop) {
      const std::int32_t next = hop < 150 ? world.AddSwitch() : i;
      world.Connect(at, next).latency = 1;
      at = next;
    }
  }
  EXPECT_EQ(Between(world, 0, 19), 30 * kUs + 19 * 150 + kUs / 10);
}

}  // namespace
}  // namespace stowplan::sim
