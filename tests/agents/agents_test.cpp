// What single agents promise beyond the contract that conformance_test.cpp checks.
#include "agents/agent.h"
#include "agents/placements.h"
#include "agents/search/moves.h"
#include "agents/search/objective.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

sim::Attributes Place(std::int64_t stage, std::int64_t branch) {
  return {{"stage", sim::Attribute{stage}}, {"branch", sim::Attribute{branch}}};
}

TEST(Baselines, PlaceByTheirRule) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  EXPECT_THAT(Record("cpu_only", task), ElementsAre(ElementsAre(0, 0, 0)));
  EXPECT_THAT(Record("single_gpu", task), ElementsAre(ElementsAre(1, 1, 1)));
  EXPECT_THAT(Record("round_robin", task), ElementsAre(ElementsAre(0, 1, 2)));
  const Task gpus = MakeTask(*c->problem, "", {"gpu0", "gpu1"});
  EXPECT_THAT([&] { Record("cpu_only", gpus); }, ThrowsMessage<InputError>(HasSubstr("cpu_only needs a")));
}

// w feeds a (stage 0), a -> b (stage 1) -> c (no stage) -> d (stage 3): four stages.
std::unique_ptr<Case> Staged(const char* expert) {
  auto c = std::make_unique<Case>();
  c->Add("w", {0}).type = "Variable";
  c->Add("a", {10}, {0}).attributes = Place(0, 0);
  c->Add("b", {10}, {1}).attributes = Place(1, 3);
  c->Add("c", {10}, {2});
  c->Add("d", {10}, {3}).attributes = Place(3, 2);
  c->graph.attributes = {{"expert", sim::Attribute{std::string(expert)}}};
  c->UseGpus(2);
  c->Finish();
  return c;
}

TEST(Expert, FollowsTheRules) {
  const auto c = Staged("stage");
  const Task task = MakeTask(*c->problem, "");
  EXPECT_THAT(Record("expert", task),
              ElementsAre(ElementsAre(1, 1, 1, 1, 2)));  // stage * 2 / 4; c follows b, w feeds a
  EXPECT_THAT(Record("expert(rule=layers)", task), ElementsAre(ElementsAre(1, 1, 1, 1, 2)));
  EXPECT_THAT(Record("expert(rule=modulo)", task), ElementsAre(ElementsAre(1, 1, 2, 2, 2)));
  EXPECT_THAT(Record("expert(rule=branches)", task),
              ElementsAre(ElementsAre(1, 1, 2, 1, 1)));  // 3 and 2 mod 2; c is trunk
  EXPECT_THAT(Record("expert(rule=halves)", task),
              ElementsAre(ElementsAre(1, 1, 2, 2, 2)));  // the middle of stage 1 is the middle of all
  EXPECT_THAT(Record("expert(rule=one)", task), ElementsAre(Each(1)));
}

TEST(Expert, HalvesKeepForwardAndBackwardOfAStageTogether) {
  auto c = std::make_unique<Case>();
  c->Add("a", {10}).attributes = Place(0, 0);
  c->Add("b", {10}, {0}).attributes = Place(1, 0);
  c->Add("b_grad", {10}, {1}).attributes = Place(1, 0);
  c->Add("a_grad", {10}, {2}).attributes = Place(0, 0);
  c->UseGpus(2);
  c->Finish();
  const Task task = MakeTask(*c->problem, "");
  EXPECT_THAT(Record("expert(rule=halves)", task), ElementsAre(ElementsAre(1, 2, 2, 1)));
}

// Depth first from the first of two chains, each op of 40 bytes on GPUs of 80: two fill each, the fifth goes to the CPU.
TEST(Expert, FillsGpusInTurnAndLeavesTheRestToTheCpu) {
  auto c = std::make_unique<Case>();
  c->Add("a", {10}, {}, 4).persistent_bytes = 36;
  c->Add("b", {10}, {}, 4).persistent_bytes = 36;
  c->Add("a2", {10}, {0}, 4).persistent_bytes = 36;
  c->Add("b2", {10}, {1}, 4).persistent_bytes = 36;
  c->Add("a3", {10}, {2}, 4).persistent_bytes = 36;
  c->UseGpus(2);
  for (sim::Device& device : c->cluster.devices) {
    if (device.device_class == sim::DeviceClass::kGpu) device.memory = 80;
  }
  c->Finish();
  // Order a a2 a3 b b2: a and a2 on the first, a3 and b on the second.
  EXPECT_THAT(Record("expert(rule=fill)", MakeTask(*c->problem, "")),
              ElementsAre(ElementsAre(1, 2, 1, 0, 2)));
}

TEST(Expert, AsksTheGraphForTheRule) {
  const auto c = Staged("branch");
  const Task task = MakeTask(*c->problem, "");
  EXPECT_EQ(Record("expert", task), Record("expert(rule=branches)", task));
}

TEST(Expert, CutsGraphsWithoutStages) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  EXPECT_EQ(Record("expert", task), Record("expert(rule=halves)", task));
  // 10, 20 and 30 us on the first GPU: b begins at a sixth, c at the half.
  EXPECT_THAT(Record("expert", task), ElementsAre(ElementsAre(1, 1, 2)));
}

TEST(Expert, TakesTheGivenPlacement) {
  const auto c = TinyCase();
  sim::Placement given;
  given.device = {2, 0, 1};
  EXPECT_THAT(Record("expert", MakeTask(*c->problem, "", {}, &given)), ElementsAre(ElementsAre(2, 0, 1)));
  const Task coarse = MakeTask(*c->problem, "neighbour(groups=1)", {}, &given);
  EXPECT_THAT([&] { Record("expert", coarse); }, ThrowsMessage<InputError>(HasSubstr("has a on gpu1 and")));
  const Task gpus = MakeTask(*c->problem, "", {"gpu0", "gpu1"}, &given);
  EXPECT_THAT([&] { Record("expert", gpus); }, ThrowsMessage<InputError>(HasSubstr("b on cpu0, which is")));
}

TEST(Random, BeginsWhereAllAgentsOfARowBegin) {
  const auto c = RandomCase(3, {.ops = 40});
  const Task task = MakeTask(*c->problem, "");
  const UnitPlacement start = StartPlacement(task, 7);
  for (const char* agent : {"random", "local_search", "annealing", "genetic", "cross_entropy"}) {
    EXPECT_EQ(Record(agent, task, 3, 7).front(), start) << agent;
  }
}

TEST(Random, DrawsGroupsAndBlocksWhole) {
  const auto c = RandomCase(3, {.ops = 60, .colocate = false});
  const Task task = MakeTask(*c->problem, "");
  const Units groups = MakeUnits("neighbour(groups=4)", *c->problem);
  for (const UnitPlacement& placement : Record("random(unit=group,grouper=neighbour(groups=4))", task, 100)) {
    for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
      const sim::OpIndex op = task.units.ops[static_cast<std::size_t>(unit)].front();
      const auto& group =
          groups.ops[static_cast<std::size_t>(groups.unit_of_op[static_cast<std::size_t>(op)])];
      const UnitIndex first = task.units.unit_of_op[static_cast<std::size_t>(group.front())];
      ASSERT_EQ(placement[static_cast<std::size_t>(unit)], placement[static_cast<std::size_t>(first)]);
    }
  }
  std::set<int> changes;
  for (const UnitPlacement& placement : Record("random(unit=block)", task, 300)) {
    int count = 0;
    for (std::size_t i = 1; i < placement.size(); ++i) count += placement[i] != placement[i - 1];
    changes.insert(count);
  }
  EXPECT_EQ(*changes.begin(), 0);
  EXPECT_GE(*changes.rbegin(), 5);
  EXPECT_LE(*changes.rbegin(), 11) << "at most 12 blocks on 3 devices";
}

TEST(BruteForce, TriesEveryAssignmentOnce) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  const std::vector<UnitPlacement> placements = Record("brute_force", task, 100);
  EXPECT_THAT(placements, SizeIs(27));
  EXPECT_THAT(std::set<UnitPlacement>(placements.begin(), placements.end()), SizeIs(27));
  EXPECT_THAT(placements[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(placements[1], ElementsAre(0, 0, 1));
}

TEST(BruteForce, RefusesWhatItCannotFinish) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  EXPECT_THAT([&] { Record("brute_force", task, 26); },
              ThrowsMessage<InputError>(HasSubstr("have 27 assignments, but only 26 samples are left")));
  EXPECT_THAT([&] { Record("brute_force(limit=26)", task, 100); },
              ThrowsMessage<InputError>(HasSubstr("more assignments than the limit of 26")));
}

// The example of the paper (Topcuoglu, Hariri, Wu, 2002, figure 2 and table 1): ten tasks on three unequal
// processors. Its figure 3 has n1, n3, n5, n7 on P3, n2 and n8 on P1, the rest on P2.
TEST(Heft, RepeatsTheExampleOfThePaper) {
  const std::vector<std::vector<double>> costs = {{14, 16, 9},  {13, 19, 18}, {11, 13, 19}, {13, 8, 17},
                                                  {12, 13, 10}, {13, 16, 9},  {7, 15, 11},  {5, 11, 14},
                                                  {18, 12, 20}, {21, 7, 16}};
  struct Edge {
    int from, to, cost;
  };
  const std::vector<Edge> edges = {{1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
                                   {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
                                   {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
  Case c;
  for (std::size_t i = 0; i < costs.size(); ++i) c.Add("n" + std::to_string(i + 1), costs[i]).outputs.clear();
  for (const Edge& edge : edges) {
    auto& outputs = c.graph.ops[static_cast<std::size_t>(edge.from - 1)].outputs;
    c.graph.ops[static_cast<std::size_t>(edge.to - 1)].inputs.push_back(
        {edge.from - 1, static_cast<std::int32_t>(outputs.size())});
    outputs.push_back({});
    outputs.back().bytes = edge.cost * 10'000;  // 10 GB/s
  }
  c.UseGpus(3, false);
  for (sim::Link& link : c.cluster.links) link.latency = 0;
  const Task task = MakeTask(c.Finish(), "");
  EXPECT_THAT(Record("heft", task, 5), ElementsAre(ElementsAre(2, 0, 2, 1, 2, 1, 2, 0, 1, 1)));
}

// Both ops want the GPU, whose memory takes one of them.
TEST(Heft, KeepsWithinMemory) {
  Case c;
  c.Add("a", {100, 1}, {}, 0).persistent_bytes = 800;
  c.Add("b", {100, 1}, {}, 0).persistent_bytes = 800;
  c.UseGpus(1);
  c.cluster.devices[1].memory = 1024;
  const Task task = MakeTask(c.Finish(), "");
  EXPECT_THAT(Record("heft", task, 5), ElementsAre(ElementsAre(1, 0)));
  EXPECT_THAT(Record("heft(memory=no)", task, 5), ElementsAre(ElementsAre(1, 1)));
}

// Forward f0..f3, backward b3..b0, each b with its f, whose output of 1000 bytes (1024 as allocated) waits
// for it. The GPU is 40 times faster but holds only three of the four: counting 3/4 of the outputs still
// seems to fit all.
TEST(Heft, CountsOutputsWhenTheFirstAttemptDoesNotFit) {
  Case c;
  for (int i = 0; i < 8; ++i) {
    std::vector<sim::OpIndex> inputs;
    if (i > 0) inputs.push_back(i - 1);
    if (i > 4) inputs.push_back(7 - i);
    const int layer = i < 4 ? i : 7 - i;
    c.Add("op" + std::to_string(i), {40, 1}, inputs, i < 4 ? 1000 : 100).colocate =
        "layer" + std::to_string(layer);
  }
  c.UseGpus(1);
  c.cluster.devices[1].memory = 3900;
  const Task task = MakeTask(c.Finish(), "");
  Evaluator evaluator(task, {.budget = 10});
  MakeAgent("heft")->Search(task, evaluator, {});
  EXPECT_TRUE(evaluator.has_best());
  EXPECT_EQ(evaluator.samples(), 5);
  EXPECT_EQ(std::count(evaluator.best().begin(), evaluator.best().end(), 1), 3);
}

TEST(Heft, SendsVariablesAlongWithTheirReaders) {
  Case c;
  sim::Op& w = c.Add("w", {0}, {}, 100'000'000);  // 10 ms to send
  w.type = "Variable";
  w.persistent_bytes = 100'000'000;
  c.Add("a", {50, 50, 10}, {0});
  c.UseGpus(2);
  EXPECT_THAT(Record("heft", MakeTask(c.Finish(), ""), 5), ElementsAre(ElementsAre(2, 2)));
}

TEST(Searchers, FindTheOptimumOfTinyProblems) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 6, .gpus = 1, .tight_memory = seed % 3 == 0});
    const Task task = MakeTask(*c->problem, "");
    Evaluator exact(task, {.budget = 1 << 10});
    MakeAgent("brute_force")->Search(task, exact, {});
    for (const char* agent : {"random", "local_search", "annealing(hot=0.5,cold=0.001)"}) {
      Evaluator evaluator(task, {.budget = 600});
      MakeAgent(agent)->Search(task, evaluator, {});
      EXPECT_EQ(evaluator.has_best(), exact.has_best()) << agent;
      EXPECT_EQ(evaluator.best_runtime(), exact.best_runtime()) << agent;
    }
  }
}

// 3^6 placements, twice as many samples: all are tried once, and the search ends of itself.
TEST(LocalSearch, TriesEachPlacementOfATinySpaceOnceAndFindsTheOptimum) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 6, .gpus = 2, .colocate = false, .tight_memory = seed % 2 == 0});
    const Task task = MakeTask(*c->problem, "");
    const auto space = static_cast<std::int64_t>(std::pow(task.devices.size(), task.units.size()));
    for (const char* agent :
         {"local_search", "local_search(kick=1,patience=1)", "local_search(start=trivial)"}) {
      const auto tried = Record(agent, task, 2 * space, seed);
      EXPECT_EQ(static_cast<std::int64_t>(tried.size()), space) << agent;
      EXPECT_EQ(std::set(tried.begin(), tried.end()).size(), tried.size()) << agent;
    }
    Evaluator exact(task, {.budget = space});
    MakeAgent("brute_force")->Search(task, exact, {});
    Evaluator evaluator(task, {.budget = space});
    MakeAgent("local_search")->Search(task, evaluator, {});
    EXPECT_EQ(evaluator.has_best(), exact.has_best());
    EXPECT_EQ(evaluator.best_runtime(), exact.best_runtime());
  }
}

TEST(LocalSearch, GoesOnFromTheBestTrivialPlacement) {
  const auto c = RandomCase(4, {.ops = 20, .gpus = 3, .cpu = false, .colocate = false});
  const Task task = MakeTask(*c->problem, "");
  const std::vector<UnitPlacement> starts = Moves(task).TrivialPlacements();
  const auto budget = static_cast<std::int64_t>(starts.size());
  for (const char* agent : {"local_search(start=trivial)", "annealing(start=trivial)",
                            "genetic(start=trivial)", "cross_entropy(start=trivial)"}) {
    EXPECT_EQ(Record(agent, task, budget), starts) << agent;
  }
  Evaluator simple(task, {.budget = budget});
  simple.EvaluateBatch(starts);
  // The first move is one run, at most half of the units, away from the best.
  const UnitPlacement next = Record("local_search(start=trivial)", task, budget + 1).back();
  int moved = 0;
  for (std::size_t unit = 0; unit < next.size(); ++unit) moved += next[unit] != simple.best()[unit];
  EXPECT_GE(moved, 1);
  EXPECT_LE(moved, 10);
}

TEST(LocalSearch, WastesNoSampleOnLargerSpacesEither) {
  const auto c = RandomCase(4, {.ops = 20, .gpus = 2, .colocate = false});
  const auto tried = Record("local_search", MakeTask(*c->problem, ""), 500);
  EXPECT_THAT(tried, SizeIs(500));
  EXPECT_EQ(std::set(tried.begin(), tried.end()).size(), 500u);
}

// 60 units with 30 that fit on each GPU: one in 10^17 placements fits. Overflow first, then runtime, leads
// there.
TEST(LocalSearch, WalksIntoTheFeasible) {
  Case c;
  for (int i = 0; i < 60; ++i) c.Add("op" + std::to_string(i), {10}, {}, 0).persistent_bytes = 1024;
  c.UseGpus(2, false);
  for (sim::Device& device : c.cluster.devices) device.memory = 30 * 1024;
  const Task task = MakeTask(c.Finish(), "");
  for (const char* agent : {"local_search", "annealing", "genetic", "cross_entropy"}) {
    Evaluator evaluator(task, {.budget = 1000});
    MakeAgent(agent)->Search(task, evaluator, {});
    ASSERT_TRUE(evaluator.has_best()) << agent;
    EXPECT_EQ(evaluator.best_runtime(), 300'000'000) << agent;
  }
}

// With one sample a batch and nothing of the old distribution kept, each draw is the best so far.
TEST(CrossEntropy, FollowsTheBestOfAllSamples) {
  const auto c = RandomCase(4, {.ops = 20, .gpus = 3, .colocate = false});
  const Task task = MakeTask(*c->problem, "");
  const auto tried = Record("cross_entropy(batch=1,elite=1,rate=1,explore=0)", task, 4);
  ASSERT_THAT(tried, SizeIs(4));
  Evaluator evaluator(task, {.budget = 2});
  evaluator.EvaluateBatch(std::vector<UnitPlacement>{tried[0], tried[1]});
  EXPECT_EQ(tried[2], evaluator.best());
  EXPECT_EQ(tried[3], evaluator.best());
}

TEST(Objective, PutsOverflowFirst) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  const sim::Bytes capacity = task.device(1).capacity();
  Evaluation fits{.runtime = 100, .feasible = true, .peak = {0, capacity, 0}};
  Evaluation overflows{.runtime = 1, .feasible = false, .peak = {0, capacity + 5, 7}};
  Evaluation stopped{.runtime = 1, .feasible = true, .stopped = true, .peak = {0, 0, 0}};
  EXPECT_EQ(ObjectiveOf(task, overflows).overflow, 5);
  EXPECT_LT(ObjectiveOf(task, fits), ObjectiveOf(task, overflows));
  EXPECT_LT(ObjectiveOf(task, overflows), ObjectiveOf(task, stopped));
}

}  // namespace
}  // namespace stowplan::agents
