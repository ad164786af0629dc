// Layers of the encoder-placer designs: graph_sage.h, segment_placer.h.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "agents/rl/graph_sage.h"
#include "agents/rl/segment_placer.h"
#include "tests/agents/rl/gradient_check.h"

namespace berth::agents::rl {
namespace {

// 0 -> 1 -> 3, 0 -> 2 -> 3, 4 alone.
NeighbourLists Diamond() {
  return NeighbourLists(UnitGraph(5, {{0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 3, 1}}));
}

TEST(MaxOverNeighbours, TakesTheLargestOfEitherDirection) {
  const at::Tensor rows = at::tensor({-5.0, -1.0, -2.0, -3.0, 9.0}, at::kDouble).view({5, 1});
  const at::Tensor largest = MaxOverNeighbours(rows, Diamond());
  EXPECT_TRUE(largest.view({-1}).equal(at::tensor({-1.0, -3.0, -3.0, -1.0, 0.0}, at::kDouble)));
}

TEST(GraphSage, Gradient) {
  Rng init(1, "init");
  const GraphSage encoder(3, 4, 2, at::kDouble, init);
  Shake(encoder.parameters());
  const NeighbourLists diamond = Diamond();
  Tensors all = encoder.parameters();
  all.push_back(RandomTensor({5, 3}, 1).set_requires_grad(true));
  const at::Tensor weights = RandomTensor({5, 4}, 2);
  ExpectGradient([&] { return (encoder.Forward(all.back(), diamond) * weights).sum(); }, all, 30);
}

SegmentPlacer MakePlacer(std::int64_t segment, int layers = 2) {
  Rng init(1, "init");
  SegmentPlacer placer({.width = 4, .choices = 3, .layers = layers, .heads = 2, .segment = segment},
                       at::kDouble, init);
  Shake(placer.parameters());
  return placer;
}

// The gradient stops at the memory, so finite differences see more than it; with one segment there is none.
TEST(SegmentPlacer, GradientOfOneSegment) {
  const SegmentPlacer placer = MakePlacer(8);
  Tensors all = placer.parameters();
  all.push_back(RandomTensor({6, 4}, 1).set_requires_grad(true));
  const at::Tensor weights = RandomTensor({6, 3}, 2);
  ExpectGradient([&] { return (placer.Forward(all.back()) * weights).sum(); }, all, 20);
}

double Change(const SegmentPlacer& placer, std::int64_t moved, std::int64_t seen) {
  const at::Tensor items = RandomTensor({10, 4}, 1);
  at::Tensor other = items.clone();
  other[moved].add_(1);
  return (placer.Forward(items)[seen] - placer.Forward(other)[seen]).abs().max().item<double>();
}

// Segments of 4 items: {0..3}, {4..7}, {8, 9} with two of padding.
TEST(SegmentPlacer, SeesItsSegmentAndTheOneBefore) {
  const SegmentPlacer one = MakePlacer(4, 1);
  EXPECT_GT(Change(one, 0, 3), 1e-6);
  EXPECT_GT(Change(one, 3, 0), 1e-6) << "both ways within a segment";
  EXPECT_GT(Change(one, 0, 7), 1e-6) << "the previous segment";
  EXPECT_EQ(Change(one, 4, 3), 0) << "not the next one";
  EXPECT_EQ(Change(one, 0, 8), 0) << "not the last but one";
  EXPECT_GT(Change(MakePlacer(4, 2), 0, 8), 1e-9) << "through two layers it does";
}

TEST(SegmentPlacer, OneSegmentIsFullAttention) {
  const at::Tensor items = RandomTensor({10, 4}, 1);
  const at::Tensor exact = MakePlacer(10).Forward(items);
  EXPECT_TRUE(MakePlacer(1000).Forward(items).equal(exact));
  EXPECT_GT((MakePlacer(5).Forward(items) - exact).abs().max().item<double>(), 1e-6);
  // Without positions a reordering of the items is one of the logits.
  EXPECT_LT((MakePlacer(10).Forward(items.flip(0)).flip(0) - exact).abs().max().item<double>(), 1e-13);
}

}  // namespace
}  // namespace berth::agents::rl
