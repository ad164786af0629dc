// m_topo, m_etf and m_sct on cases worked by hand. 1 MB between two GPUs takes 110 us: two links of 5 us and
// 10 GB/s.
#include "agents/agent.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

constexpr sim::Bytes kMegabyte = 1'000'000;

// Devices: cpu0 = 0, gpu0 = 1, gpu1 = 2, ...
Task OnGpus(Case& c, int gpus) {
  c.UseGpus(gpus);
  return MakeTask(c.Finish(), "");
}

TEST(Topo, FillsDevicesUpToAnEqualShareAndTheLargestUnit) {
  Case c;
  for (const sim::Bytes bytes : {1000, 1000, 3000, 1000, 1000, 1000})
    c.Add("op" + std::to_string(c.graph.ops.size()), {10}, {}, bytes);
  // 8000 / 2 + 3000 = 7000: the first takes 1 + 1 + 3 + 1 + 1, the second what is left.
  EXPECT_THAT(Record("m_topo", OnGpus(c, 2)), ElementsAre(ElementsAre(1, 1, 1, 1, 1, 2)));
}

TEST(Topo, StopsWherePersistentBytesWouldNotFit) {
  Case c;
  for (int i = 0; i < 6; ++i) c.Add("op" + std::to_string(i), {10}, {}, 0).persistent_bytes = 1024;
  c.UseGpus(3);
  c.cluster.devices[1].memory = 2048;  // the cap is 6144 / 3 + 1024
  const Task task = MakeTask(c.Finish(), "");
  EXPECT_THAT(Record("m_topo", task), ElementsAre(ElementsAre(1, 1, 2, 2, 2, 3)));
}

TEST(Topo, PutsTheRestOnTheLastDeviceWhereNothingFits) {
  Case c;
  for (int i = 0; i < 4; ++i) c.Add("op" + std::to_string(i), {10}, {}, 0).persistent_bytes = 1024;
  c.UseGpus(2);
  c.cluster.devices[1].memory = c.cluster.devices[2].memory = 1024;
  const Task task = MakeTask(c.Finish(), "");
  EXPECT_THAT(Record("m_topo", task), ElementsAre(ElementsAre(1, 2, 2, 2)));
}

TEST(Etf, KeepsWithinMemory) {
  for (const char* agent : {"m_etf", "m_sct"}) {
    Case c;
    c.Add("a", {10}, {}, kMegabyte).persistent_bytes = 8 * kMegabyte;
    c.Add("b", {10}, {0}).persistent_bytes = 8 * kMegabyte;
    c.UseGpus(2);
    c.cluster.devices[1].memory = c.cluster.devices[2].memory = 12 * kMegabyte;
    const Task task = MakeTask(c.Finish(), "");
    EXPECT_THAT(Record(agent, task, 5), ElementsAre(ElementsAre(1, 2))) << agent;
    EXPECT_THAT(Record(std::string(agent) + "(memory=no)", task, 5), ElementsAre(ElementsAre(1, 1))) << agent;
  }
}

// a's and b's outputs of 4 MB wait on gpu0 for z, so c, which is ready there at 20, finds 2 of 10 MB left.
TEST(Etf, CountsOutputsThatWait) {
  Case c;
  c.Add("a", {10}, {}, 4 * kMegabyte);
  c.Add("b", {10}, {0}, 4 * kMegabyte);
  c.Add("c", {10}, {1}, 4 * kMegabyte);
  c.Add("z", {10}, {0, 2}, 0);
  c.UseGpus(2);
  c.cluster.devices[1].memory = 10 * kMegabyte;
  const Task task = MakeTask(c.Finish(), "");
  EXPECT_EQ(Record("m_etf", task).at(0)[2], 2);
  EXPECT_EQ(Record("m_etf(memory=no)", task).at(0)[2], 1);
}

// In a chain only two outputs of 4 MB are there at a time.
TEST(Etf, OutputsThatWereReadTakeNoMemory) {
  Case c;
  c.Add("op0", {10}, {}, 4 * kMegabyte);
  for (int i = 1; i < 6; ++i) c.Add("op" + std::to_string(i), {10}, {i - 1}, 4 * kMegabyte);
  c.UseGpus(2);
  c.cluster.devices[1].memory = 9 * kMegabyte;
  EXPECT_THAT(Record("m_etf", MakeTask(c.Finish(), "")), ElementsAre(Each(1)));
}

// No device has room for c before b has read a's output; it waits for that, and does not go where most is left.
TEST(Etf, AnOpWaitsForMemory) {
  Case c;
  c.Add("a", {10}, {}, 8 * kMegabyte);
  c.Add("c", {10}, {}, 8 * kMegabyte);
  c.Add("b", {10}, {0}, 0);
  c.UseGpus(2);
  c.cluster.devices[1].memory = 12 * kMegabyte;
  c.cluster.devices[2].memory = 5 * kMegabyte;
  EXPECT_THAT(Record("m_etf", MakeTask(c.Finish(), "")), ElementsAre(Each(1)));
}

// A view keeps what it shows: c finds b's output in memory, and a's too where the view holds it.
TEST(Etf, AViewKeepsWhatItShows) {
  for (const bool views : {false, true}) {
    Case c;
    c.Add("a", {10}, {}, 4 * kMegabyte);
    sim::Output& view = c.Add("view", {10}, {0}, 4 * kMegabyte).outputs[0];
    if (views) {
      view.storage = sim::Output::Storage::kInput;
      view.alias = {0, 0};
    } else {
      view.bytes = 0;
    }
    c.Add("b", {10}, {0}, 4 * kMegabyte);
    c.Add("c", {10}, {2}, 4 * kMegabyte);
    c.Add("z", {10}, {1, 3}, 0);
    c.UseGpus(2);
    c.cluster.devices[1].memory = 9 * kMegabyte;
    EXPECT_EQ(Record("m_etf", MakeTask(c.Finish(), "")).at(0)[3], views ? 2 : 1);
  }
}

// b finds room beside a's output on gpu0, but f, which has to run there as well, then does not. The second
// attempt leaves memory free.
TEST(Etf, LeavesMemoryFreeWhereAnAttemptDoesNotFit) {
  Case c;
  c.Add("a", {10}, {}, 4 * kMegabyte).colocate = "unit";
  c.Add("b", {10}, {0}, 3 * kMegabyte);
  c.Add("f", {10}, {0}, 4 * kMegabyte).colocate = "unit";
  c.Add("z", {10}, {1, 2, 0}, 0);
  c.UseGpus(2);
  c.cluster.devices[1].memory = 8 * kMegabyte;
  c.cluster.devices[2].memory = 16 * kMegabyte;
  const Task task = MakeTask(c.Finish(), "");
  EXPECT_THAT(Record("m_etf", task, 5), SizeIs(testing::Gt(1)));
}

TEST(Etf, AUnitThatFitsNowhereGoesWhereMostIsLeft) {
  Case c;
  c.Add("a", {10}, {}, 0).persistent_bytes = 4096;
  c.Add("b", {10}, {0}, 0);
  c.UseGpus(2);
  c.cluster.devices[1].memory = 1024;
  c.cluster.devices[2].memory = 2048;
  const Task task = MakeTask(c.Finish(), "");
  const std::vector<UnitPlacement> tried = Record("m_etf", task, 9);
  EXPECT_THAT(tried, SizeIs(5));
  for (const UnitPlacement& placement : tried) EXPECT_EQ(placement[0], 2);
}

// The favourite child of a is f, which begins the long path. o could start on gpu0 as soon, and stands first:
// m_etf takes it, and f waits for it until 110. m_sct keeps gpu0 for f at 10 and for g at 20, so that o starts
// on gpu1 at 120: all is done at 1020 in place of 1120.
TEST(Sct, KeepsTheDeviceForTheFavouriteChild) {
  Case c;
  c.Add("a", {10}, {}, kMegabyte);
  c.Add("o", {100}, {0});
  c.Add("f", {10}, {0}, kMegabyte);
  c.Add("g", {1000}, {2});
  const Task task = OnGpus(c, 2);
  EXPECT_THAT(Record("m_etf", task), ElementsAre(Each(1)));
  EXPECT_THAT(Record("m_sct", task), ElementsAre(ElementsAre(1, 2, 1, 1)));
}

// As before, but o reads nothing: at 10 it could run on any device, so it is urgent and does not wait for f.
TEST(Sct, UrgentOpsGoBeforeTheFavouriteChild) {
  Case c;
  c.Add("a", {10}, {}, kMegabyte);
  c.Add("x", {10}, {}, 0);
  c.Add("o", {100}, {}, 0);
  c.Add("f", {10}, {0}, kMegabyte);
  c.Add("g", {1000}, {3});
  const UnitPlacement placement = Record("m_sct", OnGpus(c, 2)).at(0);
  EXPECT_EQ(placement[2], 1);
}

// Tiny problems on equal devices without a limit of memory: how far from the best placement of all, in the
// geometric mean.
TEST(Etf, IsNotFarFromTheOptimumOfTinyProblems) {
  for (const char* agent : {"m_etf", "m_sct"}) {
    double logarithms = 0;
    int cases = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const auto c = RandomCase(seed, {.ops = 7, .gpus = 2, .colocate = false});
      sim::CostTable costs = c->problem->costs();
      for (std::size_t i = 0; i < costs.picos.size(); ++i) costs.picos[i] = costs.picos[i - i % 3];
      const sim::Problem alike(c->graph, c->cluster, costs);
      const Task task = MakeTask(alike, "", {"gpu0", "gpu1"});
      Evaluator exact(task, {.budget = 1 << 7});
      MakeAgent("brute_force")->Search(task, exact, {});
      Evaluator evaluator(task, {.budget = 1});
      MakeAgent(agent)->Search(task, evaluator, {});
      ASSERT_GE(evaluator.best_runtime(), exact.best_runtime());
      if (exact.best_runtime() == 0) continue;
      logarithms +=
          std::log(static_cast<double>(evaluator.best_runtime()) / static_cast<double>(exact.best_runtime()));
      ++cases;
    }
    EXPECT_GT(cases, 30);
    EXPECT_LT(std::exp(logarithms / cases), 1.25) << agent;
  }
}

}  // namespace
}  // namespace stowplan::agents
