// What sgdp and encoder_placer are built of: graph_sage.h, segment_attention.h, segment_placer.h,
// node_features.h; and that the two learn. What every learner keeps is in learners_test.cpp.
#include <ATen/ATen.h>

#include "agents/rl/features/node_features.h"
#include "agents/rl/nn/graph_sage.h"
#include "agents/rl/nn/segment_attention.h"
#include "agents/rl/segment_placer.h"
#include "tests/agents/rl/gradient_check.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

TEST(NeighbourMax, TakesTheLargestOfTheNeighboursAndZeroWithoutAny) {
  const Neighbours neighbours{IndexTensor({0, 2, 2, 5}), IndexTensor({1, 2, 0, 1, 2})};
  const at::Tensor values = at::tensor({1., -5., 3., -7., 2., -6.}, at::kDouble).view({3, 2});
  const at::Tensor expected = at::tensor({3., -6., 0., 0., 3., -5.}, at::kDouble).view({3, 2});
  EXPECT_EQ(Difference(NeighbourMax(values, neighbours), expected), 0);
  EXPECT_EQ(Difference(NeighbourMax(values.to(at::kFloat), neighbours), expected), 0);
}

TEST(NeighbourMax, Gradient) {
  const auto made = MakeTestTask(RandomDag(12, 3));
  const Neighbourhood graph(GraphOf(made->task));
  const at::Tensor values = RandomTensor({12, 4}, 1).set_requires_grad(true);
  const at::Tensor weights = RandomTensor({12, 4}, 2);
  for (const Neighbours& side : {graph.sources, graph.targets})
    ExpectGradient([&] { return (NeighbourMax(values, side) * weights).sum(); }, {values}, 100);
}

// Each op reads up to two earlier ones; rows stand by (depth, index).
TEST(Neighbourhood, HoldsTheEdgesBothWays) {
  const auto made = MakeTestTask(RandomDag(20, 4));
  const UnitGraph graph = GraphOf(made->task);
  const Neighbourhood neighbourhood(graph);
  const auto pairs = [&](const Neighbours& side) {
    std::vector<std::pair<UnitIndex, UnitIndex>> found;
    for (std::int64_t row = 0; row < 20; ++row) {
      for (auto i = side.offsets[row].item<std::int64_t>(); i < side.offsets[row + 1].item<std::int64_t>();
           ++i) {
        const auto other = side.members[i].item<std::int64_t>();
        found.emplace_back(graph.order()[static_cast<std::size_t>(other)],
                           graph.order()[static_cast<std::size_t>(row)]);
      }
    }
    return found;
  };
  auto sources = pairs(neighbourhood.sources), targets = pairs(neighbourhood.targets);
  for (auto& [from, to] : targets) std::swap(from, to);
  std::sort(sources.begin(), sources.end());
  std::sort(targets.begin(), targets.end());
  EXPECT_EQ(sources, graph.edges());
  EXPECT_EQ(targets, graph.edges());
}

TEST(GraphSage, Gradient) {
  const auto made = MakeTestTask(RandomDag(9, 5));
  const Neighbourhood graph(GraphOf(made->task));
  Rng init(1, "init");
  const GraphSage encoder(3, 4, 2, at::kDouble, init);
  Shake(encoder.parameters());
  Tensors all = encoder.parameters();
  all.push_back(RandomTensor({9, 3}, 2).set_requires_grad(true));
  const at::Tensor weights = RandomTensor({9, 4}, 3);
  ExpectGradient([&] { return (encoder.Forward(all.back(), graph) * weights).sum(); }, all, 20);
}

// A node sees as far as there are layers, along the edges and against them.
TEST(GraphSage, ReachesOneEdgeFurtherWithEachLayer) {
  const auto made = MakeTestTask({{1, 1, {}}, {1, 1, {0}}, {1, 1, {1}}, {1, 1, {2}}, {1, 1, {3}}});
  const Neighbourhood graph(GraphOf(made->task));
  for (int layers = 1; layers <= 2; ++layers) {
    Rng init(1, "init");
    const GraphSage encoder(3, 8, layers, at::kDouble, init);
    const at::Tensor rows = RandomTensor({5, 3}, 2);
    at::Tensor moved = rows.clone();
    moved[2] += 1;
    const at::Tensor change = (encoder.Forward(rows, graph) - encoder.Forward(moved, graph)).abs().amax({1});
    for (std::int64_t row = 0; row < 5; ++row)
      EXPECT_EQ(change[row].item<double>() > 0, std::abs(row - 2) <= layers) << row;
  }
  Rng init(1, "init");
  const GraphSage encoder(3, 8, 2, at::kDouble, init);
  const at::Tensor rows = RandomTensor({5, 3}, 2);
  at::Tensor moved = rows.clone();
  moved[2] += 1;
  const at::Tensor blind = encoder.Forward(rows, Neighbourhood::Empty(5));
  EXPECT_EQ(
      Difference(blind.narrow(0, 0, 2), encoder.Forward(moved, Neighbourhood::Empty(5)).narrow(0, 0, 2)), 0);
}

// Attention of all rows over `memory` and all rows, in torch's own operations.
at::Tensor PlainAttention(const at::Tensor& queries, const at::Tensor& own, const at::Tensor& memory,
                          std::int64_t heads) {
  const std::int64_t width = queries.size(1), head = width / heads;
  const at::Tensor all = at::cat({memory, own}, 0);
  Tensors mixtures;
  for (std::int64_t h = 0; h < heads; ++h) {
    const at::Tensor keys = all.narrow(1, h * head, head), values = all.narrow(1, width + h * head, head);
    const at::Tensor scores =
        queries.narrow(1, h * head, head).matmul(keys.t()) / std::sqrt(static_cast<double>(head));
    mixtures.push_back(scores.softmax(-1).matmul(values));
  }
  return at::cat(mixtures, 1);
}

TEST(SegmentAttention, OneSegmentOverAllIsFullAttention) {
  for (const std::int64_t segment : {7, 100}) {
    const Tensors inputs = {RandomTensor({7, 6}, 1).set_requires_grad(true),
                            RandomTensor({7, 12}, 2).set_requires_grad(true)};
    const at::Tensor none = at::empty({MemoryRows(7, segment), 12}, at::kDouble);
    ASSERT_EQ(none.size(0), 0);
    const at::Tensor plain = PlainAttention(inputs[0], inputs[1], none, 3);
    const at::Tensor ours = SegmentAttention(inputs[0], inputs[1], none, 3, segment);
    EXPECT_LT(Difference(ours, plain), 1e-14);
    const at::Tensor weights = RandomTensor({7, 6}, 3);
    const Tensors expected = Gradients((plain * weights).sum(), inputs);
    const Tensors gradients = Gradients((ours * weights).sum(), inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_LT(Difference(gradients[i], expected[i]), 1e-14);
  }
}

TEST(SegmentAttention, EachSegmentSeesTheOneBefore) {
  const at::Tensor queries = RandomTensor({8, 6}, 1), own = RandomTensor({8, 12}, 2);
  const at::Tensor memory = RandomTensor({MemoryRows(8, 3), 12}, 3);
  ASSERT_EQ(memory.size(0), 6);
  const at::Tensor mixed = SegmentAttention(queries, own, memory, 2, 3);
  for (const auto& [first, size] : {std::pair{0, 3}, {3, 3}, {6, 2}}) {
    const at::Tensor before = memory.narrow(0, std::max(first - 3, 0), std::min(first, 3));
    EXPECT_LT(Difference(mixed.narrow(0, first, size), PlainAttention(queries.narrow(0, first, size),
                                                                      own.narrow(0, first, size), before, 2)),
              1e-14);
  }
}

TEST(SegmentAttention, Gradient) {
  const Tensors inputs = {RandomTensor({8, 6}, 1).set_requires_grad(true),
                          RandomTensor({8, 12}, 2).set_requires_grad(true),
                          RandomTensor({6, 12}, 3).set_requires_grad(true)};
  const at::Tensor weights = RandomTensor({8, 6}, 4);
  ExpectGradient([&] { return (SegmentAttention(inputs[0], inputs[1], inputs[2], 2, 3) * weights).sum(); },
                 inputs, 100);
}

SegmentPlacer MakePlacer(const SegmentPlacer::Sizes& sizes) {
  Rng init(1, "init");
  return {sizes, at::kDouble, init};
}

TEST(SegmentPlacer, Gradient) {
  for (const int passes : {1, 2}) {
    const SegmentPlacer placer =
        MakePlacer({.width = 6, .layers = 2, .heads = 2, .segment = 5, .choices = 3, .passes = passes});
    Shake(placer.parameters());
    Tensors all = placer.parameters();
    all.push_back(RandomTensor({5, 6}, 2).set_requires_grad(true));
    const at::Tensor weights = RandomTensor({5, 3}, 3);
    ExpectGradient([&] { return (placer.Logits(all.back()).log_softmax(-1) * weights).sum(); }, all, 6);
  }
}

// What a segment says depends on one segment more with each layer, but teaches only its own nodes.
TEST(SegmentPlacer, MemoryIsOneSegmentForEachLayerWithStoppedGradient) {
  for (std::int64_t layers = 1; layers <= 2; ++layers) {
    const SegmentPlacer placer =
        MakePlacer({.width = 6, .layers = layers, .heads = 2, .segment = 2, .superposition = false});
    const at::Tensor nodes = RandomTensor({8, 6}, 2).set_requires_grad(true);
    const at::Tensor last = placer.Logits(nodes).narrow(0, 6, 2);
    const at::Tensor gradient = Gradients(last.square().sum(), {nodes})[0].abs().amax({1});
    for (std::int64_t row = 0; row < 8; ++row) {
      at::Tensor moved = nodes.detach().clone();
      moved[row] += RandomTensor({6}, 3);
      EXPECT_EQ(Difference(placer.Logits(moved).narrow(0, 6, 2), last) > 0, row / 2 >= 3 - layers) << row;
      EXPECT_EQ(gradient[row].item<double>() > 0, row / 2 == 3) << row;
    }
  }
}

TEST(SegmentPlacer, GatesAtTheStartAreNoGates) {
  SegmentPlacer::Sizes sizes{.width = 6, .layers = 2, .heads = 2, .segment = 3, .superposition = true};
  const SegmentPlacer gated = MakePlacer(sizes);
  sizes.superposition = false;
  const SegmentPlacer plain = MakePlacer(sizes);
  EXPECT_GT(CountElements(gated.parameters()), CountElements(plain.parameters()));
  const at::Tensor nodes = RandomTensor({7, 6}, 2);
  EXPECT_EQ(Difference(gated.Logits(nodes), plain.Logits(nodes)), 0);
  {
    const at::NoGradGuard no_grad;
    for (const at::Tensor& parameter : gated.parameters()) {
      if (parameter.dim() == 2 && parameter.abs().max().item<double>() == 0) parameter.fill_(0.1);
    }
  }
  EXPECT_GT(Difference(gated.Logits(nodes), plain.Logits(nodes)), 1e-6);
}

TEST(NodeFeatures, AreLogarithmsStandardisedOverTheUnits) {
  const auto made = MakeTestTask({{10, 1000, {}, 500}, {20, 0, {0}}, {30, 50, {0, 1}}});
  const at::Tensor features = NodeFeatures(made->task, GraphOf(made->task));
  ASSERT_EQ(features.sizes(), (std::vector<std::int64_t>{3, kNodeFeatures}));
  const auto expect_column = [&](std::int64_t column, const std::vector<double>& raw) {
    const at::Tensor values = at::tensor(raw, at::kDouble);
    const at::Tensor centred = values - values.mean();
    EXPECT_LT(Difference(features.select(1, column), centred / centred.square().mean().sqrt()), 1e-6)
        << column;
  };
  expect_column(4, {std::log1p(1000), 0, std::log1p(50)});             // bytes put out
  expect_column(6, {std::log1p(500), 0, 0});                           // persistent bytes
  expect_column(7, {0, std::log1p(1), std::log1p(2)});                 // units read
  expect_column(8, {std::log1p(2), std::log1p(1), 0});                 // units that read
  expect_column(9, {std::log1p(10), std::log1p(20), std::log1p(30)});  // cost on a GPU
  expect_column(11, {0, 0.5, 1});                                      // depth
  for (const std::int64_t same : {0, 1, 2, 3, 5, 10})                  // no shapes, no flops, no CPU
    EXPECT_EQ(features.select(1, same).abs().max().item<double>(), 0) << same;
}

sim::Picos BestOfGreedy(const Agent& trained, const std::string& name, const Task& task) {
  const std::string path = InTemp("greedy.ckpt");
  dynamic_cast<const Transferable&>(trained).Save(path);
  const Samples applied = SearchOnce(*MakeAgent(name), task, 10, {.learn = false, .init = path});
  EXPECT_EQ(applied.counted, 1);
  return applied.runtimes.front();
}

// One set of weights, two graphs of different sizes, several segments: both come close to their optimum.
TEST(GraphPlacers, OnePolicyServesSeveralGraphs) {
  const auto small = MakeTestTask(RandomDag(6, 1)), large = MakeTestTask(RandomDag(9, 3));
  const std::string name = "sgdp(width=16,layers=1,stay=0,segment=4,lr=1e-3,entropy=0.1)";
  const auto agent = MakeAgent(name);
  Evaluator first(small->task, {.budget = 2000}), second(large->task, {.budget = 2000});
  dynamic_cast<Transferable&>(*agent).Train({&small->task, &large->task}, {&first, &second}, {});
  for (const auto* made : {small.get(), large.get()}) {
    const sim::Picos runtime = BestOfGreedy(*agent, name, made->task);
    const sim::Picos optimum = BruteForceOptimum(made->task);
    EXPECT_LT(runtime, made->task.reference_runtime);
    EXPECT_LT(runtime - optimum, (made->task.reference_runtime - optimum) / 2);
  }
}

TEST(GraphPlacers, RefuseWidthsThatHeadsCannotShare) {
  EXPECT_THROW(MakeAgent("sgdp(width=30,heads=4)"), InputError);
  EXPECT_THROW(MakeAgent("encoder_placer(superposition=yes)"), InputError);
}

}  // namespace
}  // namespace stowplan::agents::rl
