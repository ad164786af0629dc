// scotch, mincut and metis through the real libraries, on graphs whose best cut is known.
#include "agents/agent.h"
#include "agents/classical/partition_graph.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

// Two cliques of `size` ops, 100 KB on each edge inside, one edge of 1 KB between them. Costs 10 us on a GPU,
// 40 on the CPU.
std::unique_ptr<Case> TwoCliques(int size, int gpus) {
  auto c = std::make_unique<Case>();
  c->UseGpus(gpus);
  std::vector<double> costs = {40};
  costs.resize(static_cast<std::size_t>(gpus) + 1, 10);
  for (int i = 0; i < 2 * size; ++i) {
    std::vector<sim::OpIndex> inputs;
    for (int j = i / size * size; j < i; ++j) inputs.push_back(j);
    sim::Op& op = c->Add("op" + std::to_string(i), costs, inputs, 100'000);
    if (i == size) {
      c->graph.ops[0].outputs.push_back({});
      c->graph.ops[0].outputs[1].bytes = 1000;
      op.inputs.push_back({0, 1});
    }
  }
  c->Finish();
  return c;
}

UnitPlacement PlacementOf(const std::string& agent, const Task& task, std::uint64_t seed = 1) {
  return Record(agent, task, 1, seed).at(0);
}

void ExpectCliquesApart(const UnitPlacement& placement) {
  const auto half = static_cast<std::ptrdiff_t>(placement.size() / 2);
  EXPECT_THAT(std::vector<sim::DeviceIndex>(placement.begin(), placement.begin() + half),
              Each(placement.front()));
  EXPECT_THAT(std::vector<sim::DeviceIndex>(placement.begin() + half, placement.end()),
              Each(placement.back()));
  EXPECT_NE(placement.front(), placement.back());
}

TEST(Partitioners, CutTheWeakEdge) {
  const auto c = TwoCliques(8, 2);
  const Task gpus = MakeTask(*c->problem, "", {"gpu0", "gpu1"});
  for (const char* agent : {"scotch", "mincut", "metis", "metis(memory=yes)", "scotch(weights=equal)"}) {
    SCOPED_TRACE(agent);
    ExpectCliquesApart(PlacementOf(agent, gpus));
  }
}

TEST(Partitioners, TheCpuTakesPartOnlyInScotch) {
  const auto c = TwoCliques(20, 2);
  const Task task = MakeTask(*c->problem, "");
  for (const char* agent : {"mincut", "metis", "scotch(cpu=no)"}) {
    SCOPED_TRACE(agent);
    ExpectCliquesApart(PlacementOf(agent, task));
  }
  EXPECT_EQ(PlacementOf("scotch(cpu=no)", task), PlacementOf("mincut", task));
  // 40 units, speeds 1 : 4 : 4: the CPU's share is 4.4. A third of them where shares are equal.
  const auto on_cpu = [&](const char* agent) {
    const UnitPlacement placement = PlacementOf(agent, task);
    return std::count(placement.begin(), placement.end(), 0);
  };
  EXPECT_GE(on_cpu("scotch"), 3);
  EXPECT_LE(on_cpu("scotch"), 6);
  EXPECT_GE(on_cpu("scotch(weights=equal)"), 11);
  EXPECT_LE(on_cpu("scotch(weights=equal)"), 16);
}

// A chain of equal ops: every GPU gets its share, and the chain is cut about once for each further GPU.
TEST(Partitioners, CutAChainIntoEqualPartsOnTwoFourAndEightGpus) {
  for (const int gpus : {2, 4, 8}) {
    Case c;
    constexpr int kOps = 800;
    for (int i = 0; i < kOps; ++i)
      c.Add("op" + std::to_string(i), {10},
            i > 0 ? std::vector<sim::OpIndex>{i - 1} : std::vector<sim::OpIndex>{});
    c.UseGpus(gpus);
    const Task task = MakeTask(c.Finish(), "");
    for (const char* agent : {"mincut", "metis"}) {
      SCOPED_TRACE(testing::Message() << agent << " on " << gpus << " GPUs");
      const UnitPlacement placement = PlacementOf(agent, task);
      std::vector<int> ops(static_cast<std::size_t>(gpus) + 1, 0);
      int cuts = 0;
      for (std::size_t i = 0; i < placement.size(); ++i) {
        ++ops[static_cast<std::size_t>(placement[i])];
        cuts += i > 0 && placement[i] != placement[i - 1];
      }
      EXPECT_EQ(ops[0], 0) << "the CPU is no target";
      for (int gpu = 1; gpu <= gpus; ++gpu)
        EXPECT_NEAR(ops[static_cast<std::size_t>(gpu)], kOps / gpus, 0.1 * kOps / gpus);
      EXPECT_LE(cuts, 2 * gpus);
    }
  }
}

TEST(Partitioners, BalanceMemoryWhenAsked) {
  // 40 ops of equal cost in a chain; the first ten hold nine tenths of the bytes.
  Case c;
  for (int i = 0; i < 40; ++i) {
    sim::Op& op = c.Add("op" + std::to_string(i), {10},
                        i > 0 ? std::vector<sim::OpIndex>{i - 1} : std::vector<sim::OpIndex>{}, 1024);
    op.persistent_bytes = i < 10 ? 27 << 20 : 1 << 20;
  }
  c.UseGpus(2, false);
  const Task task = MakeTask(c.Finish(), "");
  const auto bytes_on_first = [&](const char* agent) {
    const UnitPlacement placement = PlacementOf(agent, task);
    double bytes = 0;
    for (std::size_t i = 0; i < placement.size(); ++i) {
      if (placement[i] == placement[0]) bytes += static_cast<double>(task.persistent[i]);
    }
    return bytes / std::accumulate(task.persistent.begin(), task.persistent.end(), 0.0);
  };
  EXPECT_GT(bytes_on_first("metis"), 0.9) << "one cut in the middle";
  EXPECT_NEAR(bytes_on_first("metis(memory=yes)"), 0.5, 0.1);
}

TEST(Partitioners, RepeatFromAnyThread) {
  const auto c = RandomCase(9, {.ops = 300, .gpus = 3, .colocate = false});
  const Task task = MakeTask(*c->problem, "");
  for (const char* agent : {"scotch", "mincut", "metis"}) {
    SCOPED_TRACE(agent);
    const UnitPlacement expected = PlacementOf(agent, task, 5);
    std::vector<UnitPlacement> found(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] { found[i] = PlacementOf(agent, task, 5); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(found, Each(expected));
    EXPECT_EQ(std::set<sim::DeviceIndex>(expected.begin(), expected.end()).size(), agent[0] == 's' ? 4u : 3u);
  }
}

TEST(PartitionGraph, HasIntegerWeightsInBothDirections) {
  Case c;
  c.Add("a", {1.26}, {}, 3 * 1024).persistent_bytes = 2048;
  c.Add("b", {0}, {0}, 100);
  c.Add("c", {2}, {0, 1}, 0);
  c.UseGpus(1);
  const Task task = MakeTask(c.Finish(), "");
  const PartitionGraph graph = MakePartitionGraph(task, 1);
  EXPECT_THAT(graph.offsets, ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(graph.targets, ElementsAre(1, 2, 0, 2, 0, 1));
  EXPECT_THAT(graph.edge_bytes, ElementsAre(3, 3, 3, 1, 3, 1));  // KiB, at least 1
  EXPECT_THAT(graph.unit_cost, ElementsAre(13, 1, 20));          // 0.1 us, at least 1
  EXPECT_THAT(graph.unit_memory, ElementsAre(5, 1, 1));
}

// 2,000 s of cost are 2 * 10^10 tenths of a microsecond: divided until the sum fits into 32 bits.
TEST(PartitionGraph, ScalesWhatWouldOverflow) {
  Case c;
  for (int i = 0; i < 20; ++i) c.Add("op" + std::to_string(i), {1e8});
  c.Add("small", {1});
  c.UseGpus(1);
  const PartitionGraph graph = MakePartitionGraph(MakeTask(c.Finish(), ""), 1);
  const auto sum = std::accumulate(graph.unit_cost.begin(), graph.unit_cost.end(), std::int64_t{0});
  EXPECT_LE(sum, std::int64_t{1} << 30);
  EXPECT_GT(sum, std::int64_t{1} << 29);
  EXPECT_EQ(graph.unit_cost.back(), 1);
}

}  // namespace
}  // namespace stowplan::agents
