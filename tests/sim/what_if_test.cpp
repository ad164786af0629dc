// What a better machine would give, on runs short enough to be worked out by hand.
#include "sim/analysis/what_if.h"

#include "tests/sim/random_case.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

// "device 0" -> microseconds
using Answers = std::map<std::string, double>;

std::vector<WhatIf> AskAll(const Problem& problem, const Placement& placement, double faster) {
  WhatIfOptions options{.faster = faster, .devices = {}, .links = {}, .threads = 2};
  options.devices.resize(problem.cluster().devices.size());
  std::iota(options.devices.begin(), options.devices.end(), 0);
  options.links.resize(problem.cluster().links.size());
  std::iota(options.links.begin(), options.links.end(), 0);
  return RunWhatIfs(problem, placement, options);
}

Answers AnswersOf(World& world, double faster = 2) {
  world.Run();
  const Problem problem(world.graph, world.cluster, world.costs());
  Answers answers;
  for (const WhatIf& what_if : AskAll(problem, world.placement, faster)) {
    std::string what = ToString(what_if.change);
    if (what_if.index >= 0) what += " " + std::to_string(what_if.index);
    answers[what] = ToMicros(what_if.runtime);
  }
  return answers;
}

// An op of 10 us sends 1 MB over 10 GB/s and 5 us to one of 10 us: 10 + 105 + 10.
struct OneTransfer : TwoGpus {
  OneTransfer() {
    Add(0, 10, {kMB});
    Add(1, 10, {}, {{0, 0}});
  }
};

TEST(WhatIf, EachPartOfOneTransferIsSpedUpAlone) {
  OneTransfer twice, four;
  EXPECT_EQ(AnswersOf(twice), (Answers{{"device 0", 120},
                                       {"device 1", 120},
                                       {"link 0", 75},
                                       {"transfers", 20},
                                       {"latency", 120},
                                       {"memory", 125}}));
  EXPECT_EQ(AnswersOf(four, 4), (Answers{{"device 0", 117.5},
                                         {"device 1", 117.5},
                                         {"link 0", 50},
                                         {"transfers", 20},
                                         {"latency", 120},
                                         {"memory", 125}}));
}

TEST(WhatIf, ShortestFirst) {
  OneTransfer world;
  world.Run();
  const Problem problem(world.graph, world.cluster, world.costs());
  const std::vector<WhatIf> answers = AskAll(problem, world.placement, 2);
  EXPECT_EQ(answers.front().change, WhatIf::Change::kTransfers);
  EXPECT_EQ(answers.back().change, WhatIf::Change::kMemory);
  EXPECT_TRUE(std::is_sorted(answers.begin(), answers.end(),
                             [](const WhatIf& a, const WhatIf& b) { return a.runtime < b.runtime; }));
}

// T(1 MB) = 5 + 200 us by the curve: twice the bandwidth leaves 5 + 100, no latency 200.
TEST(WhatIf, ACurveKeepsItsLatency) {
  OneTransfer world;
  world.cluster.links[0].curve = {{0, 5 * kUs}, {kMB, 205 * kUs}};
  const Answers answers = AnswersOf(world);
  EXPECT_EQ(answers.at("link 0"), 10 + 105 + 10);
  EXPECT_EQ(answers.at("latency"), 10 + 200 + 10);
}

// Three ops of 2 us behind a dispatch of 5 us each: 17 (docs/model.md, section 7), 6 without.
TEST(WhatIf, NoDispatch) {
  World world;
  world.Gpu();
  world.Add(0, 2, {1});
  world.Add(0, 2, {1}, {{0, 0}});
  world.Add(0, 2, {}, {{1, 0}});
  world.cluster.dispatch.cost = 5 * kUs;
  EXPECT_EQ(AnswersOf(world), (Answers{{"device 0", 16}, {"dispatch", 6}, {"memory", 17}}));
}

TEST(WhatIf, WhatDoesNotFitFitsIntoUnlimitedMemoryAlone) {
  OneTransfer world;
  world.device(1).memory = kMB - 1;
  world.Run();
  const Problem problem(world.graph, world.cluster, world.costs());
  for (const WhatIf& what_if : AskAll(problem, world.placement, 2))
    EXPECT_EQ(what_if.feasible, what_if.change == WhatIf::Change::kMemory) << ToString(what_if.change);
}

// L (100 us) and U (10 us) share gpu1; V (100 us) on gpu2 waits for U. U is ready at 20 and L at 30: all ends at 130.
// With gpu0 twice as fast L is ready at 15 and goes first: U ends at 125, V at 225.
TEST(WhatIf, AFasterDeviceCanTakeLonger) {
  World world;
  for (int i = 0; i < 3; ++i) world.Gpu();
  const OpIndex a = world.Add(0, 30, {0}), p = world.Add(2, 20, {0});
  world.Add(1, 100, {}, {{a, 0}});
  const OpIndex u = world.Add(1, 10, {0}, {{p, 0}});
  world.Add(2, 100, {}, {{u, 0}});
  const Answers answers = AnswersOf(world);
  EXPECT_EQ(answers.at("memory"), 130);
  EXPECT_EQ(answers.at("device 0"), 225);
}

// The published rules have no links, latency, dispatch or memory to change. The channel, which rests for 25 us after
// 1 MB at 7600 B/us, is the last to be free, whatever gpu1 does meanwhile.
TEST(WhatIf, OnlyDevicesUnderThePublishedRules) {
  OneTransfer world;
  world.cluster.rules = Rules::kPublished;
  const Answers answers = AnswersOf(world);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_NEAR(answers.at("device 0"), 5 + 1e6 / 7600 + 25, 1e-3);
  EXPECT_NEAR(answers.at("device 1"), 10 + 1e6 / 7600 + 25, 1e-3);
}

// An answer is what the changed cluster gives when it is simulated on its own.
TEST(WhatIf, AnswersAreThoseOfTheChangedMachine) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase base = MakeRandomCase(seed);
    const Problem problem(base.graph, base.cluster, base.costs);
    const std::vector<WhatIf> answers = AskAll(problem, base.placement, 2);
    const auto of = [&](WhatIf::Change change) {
      return std::find_if(answers.begin(), answers.end(),
                          [&](const WhatIf& one) { return one.change == change; });
    };
    RandomCase changed = MakeRandomCase(seed);
    if (of(WhatIf::Change::kDispatch) != answers.end()) {
      changed.cluster.dispatch.cost = 0;
      changed.cluster.dispatch.automatic = false;
      const Problem free(changed.graph, changed.cluster, changed.costs);
      EXPECT_EQ(MakeSimulator(free)->Run(base.placement).runtime, of(WhatIf::Change::kDispatch)->runtime);
    }
    changed = MakeRandomCase(seed);
    for (std::size_t i = 0; i < changed.costs.picos.size(); i += changed.cluster.devices.size())
      changed.costs.picos[i] = (changed.costs.picos[i] + 1) / 2;
    const Problem quick(changed.graph, changed.cluster, changed.costs);
    const auto answer = std::find_if(answers.begin(), answers.end(), [](const WhatIf& one) {
      return one.change == WhatIf::Change::kDevice && one.index == 0;
    });
    EXPECT_EQ(MakeSimulator(quick)->Run(base.placement).runtime, answer->runtime);
  }
}

}  // namespace
}  // namespace stowplan::sim
