#include <ATen/ATen.h>

#include "agents/rl/features/grouper_features.h"
#include "agents/rl/hierarchical_policy.h"
#include "tests/agents/rl/gradient_check.h"
#include "tests/agents/rl/test_task.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

// 0 -> 1 -> 3, 0 -> 2 -> 3 and 4, 5 that read nothing: 4 -> 3.
std::unique_ptr<TestTask> SmallTask() {
  return MakeTestTask(
      {{10, 8, {}}, {10, 8, {0}}, {10, 8, {0}}, {10, 8, {}}, {10, 8, {1, 2, 3}}, {10, 8, {}}});
}

TEST(GrouperFeatures, BreadthFirstFromTheSources) {
  // Sources 0, 3 and 5 first, then what 0 leads to, then what 3 and they lead to.
  EXPECT_EQ(BreadthFirstNumbers(SmallTask()->task), (std::vector<std::int64_t>{0, 3, 4, 1, 5, 2}));
}

TEST(GrouperFeatures, NeighboursOfAUnitAsPartsOfAll) {
  const at::Tensor vectors = UnitVectors(SmallTask()->task);
  ASSERT_EQ(vectors.size(1), 36);
  // Unit 4 reads 1, 2 and 3, whose numbers are 3, 4 and 1 of 6; nothing reads it.
  const at::Tensor reads = at::tensor({3 / 6.0, 4 / 6.0, 1 / 6.0, -1.0, -1.0, -1.0}, at::kFloat);
  EXPECT_TRUE(vectors[4].slice(0, 24, 30).allclose(reads));
  EXPECT_TRUE(vectors[4].slice(0, 30, 36).equal(at::full({6}, -1.0F)));
}

TEST(GrouperFeatures, PlannerVectorsHoldPlainNumbers) {
  const auto made = SmallTask();
  made->graph.ops[1].outputs[0].shape = {64, 7};
  const TypeVocabulary vocabulary({&made->task});
  const at::Tensor vectors = PlannerUnitVectors(made->task, vocabulary);
  ASSERT_EQ(vectors.size(1), 46);
  EXPECT_EQ(vectors[1][0].item<float>(), 1) << "the only type there is";
  EXPECT_TRUE(vectors[1].slice(0, 1, 4).equal(at::tensor({64.0F, 7.0F, -1.0F})));
  // By depth and index: 0, 3, 5, 1, 2, 4. Unit 4, the sixth, reads unit 1, and unit 0 is read by it.
  EXPECT_TRUE(vectors[1].slice(0, 26, 31).equal(at::tensor({5.0F, 1.0F, 0.0F, -1.0F, 0.0F})));
}

using Clusters = std::vector<std::int64_t>;

Clusters ClustersIn(const TestTask& made, std::int64_t clusters) {
  return ClustersOf(made.task, GraphOf(made.task), clusters);
}

TEST(ClustersOf, FewUnitsAreClustersOfTheirOwnInOrder) {
  // Op 2 is a source, so it comes before op 1.
  const auto made = MakeTestTask({{10, 8, {}}, {10, 8, {0}}, {10, 8, {}}});
  EXPECT_EQ(ClustersIn(*made, 3), (Clusters{0, 2, 1}));
  EXPECT_EQ(ClustersIn(*made, 64), (Clusters{0, 2, 1}));
}

TEST(ClustersOf, HeavyEdgesStayInside) {
  // Pairs (0,1), (2,3), (4,5) exchange much, the pairs among themselves little.
  const auto made = MakeTestTask({{10, 1'000'000, {}},
                                  {10, 8, {0}},
                                  {10, 1'000'000, {1}},
                                  {10, 8, {2}},
                                  {10, 1'000'000, {3}},
                                  {10, 8, {4}}});
  EXPECT_EQ(ClustersIn(*made, 3), (Clusters{0, 0, 1, 1, 2, 2}));
}

TEST(ClustersOf, ChainsFallIntoContiguousPiecesOfEqualWork) {
  std::vector<TestOp> ops;
  for (int i = 0; i < 16; ++i)
    ops.push_back({10, 1000, i < 2 ? std::vector<int>{} : std::vector<int>{i - 2}});
  const Clusters clusters = ClustersIn(*MakeTestTask(ops), 4);
  for (std::size_t op = 2; op < 16; ++op) EXPECT_GE(clusters[op], clusters[op - 2]) << op;
  for (std::int64_t cluster = 0; cluster < 4; ++cluster) {
    EXPECT_GE(std::count(clusters.begin(), clusters.end(), cluster), 2);
    EXPECT_LE(std::count(clusters.begin(), clusters.end(), cluster), 6);
  }
}

// A source that all read must not swallow them.
TEST(ClustersOf, NoneIsMuchLargerThanAnEqualPart) {
  const auto made = MakeTestTask(Branches(64, 100, 1000));
  const Clusters clusters = ClustersIn(*made, 16);
  for (std::int64_t cluster = 0; cluster < 16; ++cluster) {
    EXPECT_GT(std::count(clusters.begin(), clusters.end(), cluster), 0);
    EXPECT_LE(std::count(clusters.begin(), clusters.end(), cluster), 20);
  }
}

// A fresh grouper draws the clusters, so that the placer learns what a group is.
TEST(HierarchicalPolicy, AFreshGrouperDrawsTheClusters) {
  const auto made = MakeTestTask(Branches(24, 100, 1000));
  Rng init(1, "init");
  HierarchicalOptions options;
  options.groups = 8;
  options.clusters = 12;
  options.sequence.placer.width = 8;
  HierarchicalPolicy policy("hierarchical", options, {&made->task}, init);
  const Draws draws = policy.Draw(0, 1, {}, nullptr);
  const at::Tensor expected = at::tensor(ClustersIn(*made, 8), at::kLong);
  EXPECT_TRUE(draws.kinds[0].actions[0].equal(expected)) << draws.kinds[0].actions[0] << expected;
}

TEST(GroupDescriber, CountsTypesAndEdges) {
  const auto made = SmallTask();
  const TypeVocabulary vocabulary({&made->task});
  const at::Tensor group = at::tensor({0, 0, 1, 1, 2, 2}, at::kLong);
  // Edges 0-1 (inside), 0-2, 1-4, 2-4, 3-4: from group 0 to 1 and 2 once each, from 1 to 2 twice.
  const at::Tensor plain = GroupDescriber(made->task, vocabulary, 4, false).Describe(group);
  EXPECT_EQ(plain.size(1), GroupDescriber::Columns(4, false));
  EXPECT_TRUE(plain[0].slice(0, 217, 221).equal(at::tensor({0.0F, 1.0F, 1.0F, 0.0F})));
  EXPECT_FLOAT_EQ(plain[1][1].item<float>(), std::log(3.0F));
  EXPECT_EQ(plain[3].abs().max().item<float>(), 0) << "an empty group";

  const at::Tensor planner = GroupDescriber(made->task, vocabulary, 4, true).Describe(group);
  EXPECT_EQ(planner.size(1), GroupDescriber::Columns(4, true));
  // Rows are divided by their maximum, 2 ops or 2 edges, plus 1.
  EXPECT_TRUE(planner[0].slice(0, 0, 4).allclose(at::tensor({1.0F, 1.0F, 1.0F, 0.0F}) / 3));
  EXPECT_TRUE(planner[2].slice(0, 4, 8).allclose(at::tensor({1.0F, 2.0F, 0.0F, 0.0F}) / 3));
}

TEST(GroupDescriber, TheEarlierGroupWithMostBytes) {
  const auto made = SmallTask();
  const TypeVocabulary vocabulary({&made->task});
  made->task.edges = {{0, 2, 10}, {0, 4, 30}, {2, 4, 20}, {5, 3, 15}};
  const GroupDescriber describer(made->task, vocabulary, 4, false);
  // Between groups 0 and 1: 10, 0 and 2: 30, 1 and 2: 20 + 15; group 3 is empty.
  const at::Tensor group = at::tensor({0, 0, 1, 1, 2, 2}, at::kLong);
  EXPECT_TRUE(describer.EarlierGroups(group).equal(at::tensor({4, 0, 1, 4}, at::kLong)));
}

TEST(GroupDescriber, WorkOfAllItsUnits) {
  const auto made = MakeTestTask({{1, 0, {}}, {2, 0, {}}, {4, 0, {}}, {8, 0, {}}, {16, 0, {}}, {32, 0, {}}});
  for (std::size_t on_second = 1; on_second < made->task.cost.size(); on_second += 2)
    made->task.cost[on_second] *= 100;
  const TypeVocabulary vocabulary({&made->task});
  const at::Tensor work =
      GroupDescriber(made->task, vocabulary, 4, false).WorkOf(IndexTensor({0, 0, 1, 0, 1, 3}));
  const at::Tensor micros = at::tensor({11., 20., 0., 32.}, at::kDouble);
  EXPECT_TRUE(work.equal(at::stack({micros, micros * 100}, 1) * sim::kPicosPerMicro)) << work;
}

HierarchicalOptions SmallOptions() {
  HierarchicalOptions options;
  options.groups = 4;
  options.placements = 2;
  options.sequence.placer.width = 8;
  return options;
}

double DriftOf(const Policy& policy, const Draws& draws) {
  double drift = 0;
  const std::vector<ActionTerms> terms = policy.Evaluate(0, draws);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const at::Tensor difference = terms[k].log_probability - draws.kinds[k].log_probability;
    drift = std::max(drift, difference.abs().max().item<double>());
  }
  return drift;
}

TEST(HierarchicalPolicy, LearnsFromWhatWasEvaluated) {
  const auto made = MakeTestTask(RandomDag(12, 2), 3);
  for (const auto& [noise, offers] : {std::pair(0.0, false), {0.5, false}, {0.0, true}}) {
    HierarchicalOptions options = SmallOptions();
    options.sequence.noise = noise;
    options.sequence.noise_updates = 10;
    options.sequence.placer.offers = offers;
    Rng init(1, "init"), rng(2, "draws");
    HierarchicalPolicy policy("test", options, {&made->task}, init);
    Shake(policy.parameters());
    const Draws draws = policy.Draw(0, 6, {}, &rng);
    EXPECT_LT(DriftOf(policy, draws), 1e-5);
    ASSERT_EQ(draws.kinds[0].actions.sizes(), (std::vector<std::int64_t>{3, 12}));
    ASSERT_EQ(draws.kinds[1].actions.sizes(), (std::vector<std::int64_t>{6, 4}));
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t unit = 0; unit < 12; ++unit) {
        const auto group = draws.kinds[0].actions[i / 2][unit].item<std::int64_t>();
        EXPECT_EQ(
            draws.placements[static_cast<std::size_t>(i)][static_cast<std::size_t>(unit)],
            made->task
                .devices[static_cast<std::size_t>(draws.kinds[1].actions[i][group].item<std::int64_t>())]);
      }
    }
    // A part of the batch is evaluated as in the whole.
    EXPECT_LT(DriftOf(policy, draws.Slice(2, 4)), 1e-5);
  }
}

TEST(HierarchicalPolicy, FrozenDevicesAreThoseOfTheBatchBefore) {
  const auto made = MakeTestTask(RandomDag(12, 2), 3);
  HierarchicalOptions options = SmallOptions();
  options.freeze = 5;
  options.sequence.placer.offers = true;
  Rng init(1, "init"), rng(2, "draws");
  HierarchicalPolicy policy("test", options, {&made->task}, init);
  Shake(policy.parameters());
  const Draws before = policy.Draw(0, 6, {.update = 4}, &rng), after = policy.Draw(0, 6, {.update = 5}, &rng);
  EXPECT_TRUE(after.kinds[1].actions.equal(before.kinds[1].actions));
  EXPECT_FALSE(after.kinds[0].actions.equal(before.kinds[0].actions));
  EXPECT_LT(DriftOf(policy, after), 1e-5);

  // They meet what the new groups leave.
  const TypeVocabulary vocabulary({&made->task});
  const GroupDescriber describer(made->task, vocabulary, 4, false);
  const auto met = [&](const Draws& draws) {
    Tensors work;
    for (const at::Tensor& group : draws.kinds[0].actions.unbind(0)) work.push_back(describer.WorkOf(group));
    return Offers::MetBy({at::ones({3, 4}), {nullptr, at::stack(work)}}, draws.kinds[1].actions);
  };
  EXPECT_TRUE(before.kinds[1].delays.equal(met(before)));
  EXPECT_TRUE(after.kinds[1].delays.equal(met(after)));
  EXPECT_FALSE(after.kinds[1].delays.equal(before.kinds[1].delays));
}

// The shipped program's loss belongs to other actions, drawn again from a zero input.
TEST(HierarchicalPolicy, AsShippedLearnsFromFreshDraws) {
  const auto made = MakeTestTask(RandomDag(12, 2), 3);
  HierarchicalOptions options = SmallOptions();
  Rng init(1, "init"), same_init(1, "init"), rng(2, "draws"), same_rng(2, "draws");
  HierarchicalPolicy right("test", options, {&made->task}, init);
  options.as_shipped = true;
  HierarchicalPolicy shipped("test", options, {&made->task}, same_init);
  const Draws evaluated = right.Draw(0, 6, {}, &rng), learned = shipped.Draw(0, 6, {}, &same_rng);
  EXPECT_EQ(learned.placements, evaluated.placements);
  EXPECT_FALSE(learned.kinds[1].actions.equal(evaluated.kinds[1].actions));
  EXPECT_LT(DriftOf(shipped, learned), 1e-5);
}

// Its placer learns from the same zeros whatever the groups are.
TEST(HierarchicalPolicy, AsShippedIsBlindToGroups) {
  const auto made = MakeTestTask(RandomDag(12, 2), 3);
  HierarchicalOptions options = SmallOptions();
  options.as_shipped = options.sequence.placer.offers = true;
  options.sequence.placer.stay = 0.7;
  Rng init(1, "init"), rng(2, "draws");
  HierarchicalPolicy policy("test", options, {&made->task}, init);
  Shake(policy.parameters());
  Draws draws = policy.Draw(0, 6, {}, &rng);
  const at::Tensor devices = policy.Evaluate(0, draws)[1].log_probability;
  draws.kinds[0].actions = 3 - draws.kinds[0].actions;
  EXPECT_TRUE(policy.Evaluate(0, draws)[1].log_probability.equal(devices));
}

// TensorFlow's planner has about 4.33 M for 256 groups, 3 devices and 30 op types. Ours has room for 201
// types: their rows of the two encoders add 2 x 4 x 256 x 171 = 350,208 numbers.
TEST(HierarchicalPolicy, OpenPlannerHasThePublishedNumberOfParameters) {
  const auto made = MakeTestTask(RandomDag(12, 2), 3);
  HierarchicalOptions options;
  options.planner = true;
  options.groups = 256;
  options.sequence.placer.width = 512;
  options.sequence.placer.both_directions = true;
  options.sequence.placer.biases = false;
  Rng init(1, "init");
  const HierarchicalPolicy policy("test", options, {&made->task}, init);
  const std::int64_t ours = CountElements(policy.parameters()) - 350'208;
  EXPECT_NEAR(static_cast<double>(ours), 4.33e6, 0.005e6);
}

}  // namespace
}  // namespace stowplan::agents::rl
