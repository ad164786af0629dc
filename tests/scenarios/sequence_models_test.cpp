// Translation and transformer models against counts by hand: weights, multiply-adds, op counts, sums of
// outputs.
#include <gtest/gtest.h>

#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "sim/base/error.h"
#include "tests/scenarios/graph_counts.h"

namespace stowplan::scenarios {
namespace {

// Weights: two tables V n; encoder 2 (8 n^2 + 4 n) for both directions, 12 n^2 + 4 n for the layer after them,
// 8 n^2 + 4 n above; decoder 12 n^2 + 4 n a layer; attention 2 n^2 + n; the product n V without bias.
TEST(GnmtTest, WeightsAndMultiplyAdds) {
  const auto expected = [](std::int64_t layers) {
    constexpr std::int64_t n = 1024, v = 32'000;
    const std::int64_t narrow = 8 * n * n + 4 * n, wide = 12 * n * n + 4 * n;
    return 2 * v * n + 2 * narrow + wide + (layers - 2) * narrow + layers * wide + 2 * n * n + n + n * v;
  };
  for (const auto& [layers, millions, gmac] :
       {std::tuple(2, 154.9, 458), {4, 196.9, 673}, {8, 280.8, 1102}}) {
    const sim::OpGraph graph = LoadGraph("gnmt(batch=128,layers=" + std::to_string(layers) + ")");
    EXPECT_EQ(graph.totals().parameters, expected(layers));
    EXPECT_NEAR(static_cast<double>(graph.totals().parameters) / 1e6, millions, 0.05);
    EXPECT_NEAR(Gmac(graph), gmac, 0.5);
  }
  EXPECT_NEAR(LoadGraph("gnmt(batch=256,layers=4)").totals().flops / 1e12, 8.07, 0.01);
}

// F as by hand (3009, 5329, 9969): a step has 27 ops in both directions, 13 in the second encoder layer, 14
// in each above; 14 in each of the two lower decoder layers, 15 in each above; 7 of attention. 9 = 2 x
// (gather, unstack), pack, keys, stack, product, loss.
//
// B with more than 2 layers, T = 40 (by hand 4325, 7520, 14064: 3 to 4 % more, its rule for concatenations is
// not ours):
// - 2L + 1 cells a step of 16 ops (2 of the product, 1 bias, 1 concat, 1 split, 3 sigmoid, 2 tanh, 6 products of
//   two), less one in each of the L + 1 chains that start from nothing;
// - AddN of c: T for the L chains whose state is handed on, T - 1 for the others;
// - AddN of h: T a layer, but T - 1 forth and in the decoder's layers from the third on;
// - AddN of sums that the next layer reads twice: 2 (L - 3) T; of words, read in both directions: T; of what the
//   attention found: T;
// - splits of joined inputs: T (L + 1); attention: 10 a step and 5; embeddings 4; end 4; AddN of weights 4L + 4.
TEST(GnmtTest, OpCounts) {
  constexpr std::int64_t t = 40;
  const auto backward = [](std::int64_t l) {
    const std::int64_t cells = 16 * t * (2 * l + 1) - (l + 1) + l * t + (l + 1) * (t - 1);
    const std::int64_t outputs = (t - 1) + t * l + 2 * t + (l - 2) * (t - 1) + 2 * (l - 3) * t + 2 * t;
    return cells + outputs + t * (l + 1) + 10 * t + 5 + 4 + 4 + 4 * l + 4;
  };
  for (const std::int64_t layers : {2, 4, 8}) {
    const Counts counts = CountOps(LoadGraph("gnmt(layers=" + std::to_string(layers) + ")"));
    EXPECT_EQ(counts.forward, t * (29 * layers + 17) + 9);
    EXPECT_EQ(counts.backward, layers == 2 ? 4216 : backward(layers));
    EXPECT_EQ(counts.variables, 4 * layers + 8);
    EXPECT_EQ(counts.updates, 4 * layers + 8);
  }
}

// "Beyond 50,000 ops" is what SGDP says of its graph. Everything the templates know, nothing for the count.
TEST(GnmtTest, UnfusedGraphOfEightLayersHasMoreThanFiftyThousandOps) {
  EXPECT_GT(LoadGraph("gnmt(layers=8,granularity=unfused)").size(), 50'000);
}

// By hand 8.7 GB at n = 512 ("about 16" at 1024), without the probabilities that the gradient keeps.
TEST(GnmtTest, SumOfForwardOutputs) {
  const auto gigabytes = [](const std::string& name, std::int64_t vocabulary) {
    const std::int64_t probabilities = 4 * 40 * 256 * vocabulary;
    return static_cast<double>(SumOfForwardOutputs(LoadGraph(name)) - probabilities) / 1e9;
  };
  EXPECT_NEAR(gigabytes("gnmt(layers=4,batch=256,hidden=512,vocabulary=30000)", 30'000), 8.7, 0.05);
  EXPECT_NEAR(gigabytes("gnmt(layers=4,batch=256)", 32'000), 16, 0.25);
}

// By hand 109,482,240 for encoder and pooler, 1,538 more for two answers from 768 numbers, 848 GMAC. That
// SQuAD row has the pooler too, 768^2 + 768 weights, which nothing reads.
TEST(BertTest, WeightsAndMultiplyAdds) {
  constexpr std::int64_t pooler = 768 * 768 + 768, head = 2 * 768 + 2;
  EXPECT_EQ(LoadGraph("bert(head=classifier)").totals().parameters, 109'482'240 + head);
  EXPECT_EQ(LoadGraph("bert").totals().parameters, 109'482'240 + head - pooler);
  EXPECT_NEAR(Gmac(LoadGraph("bert")), 848, 0.5);
  EXPECT_NEAR(Gmac(LoadGraph("bert(batch=1,sequence=128)")), 11.2, 0.05);
  EXPECT_NEAR(LoadGraph("bert").totals().flops / 1e12, 5.09, 0.005);
}

// With GELU as one op F is 411 as by hand: 33 a layer, 8 of the embeddings (3 look-ups, 2 adds, norm,
// dropout, rows), 7 of the head where the count by hand has 4 of the pooler and 3.
TEST(BertTest, OpCounts) {
  const Counts counts = CountOps(LoadGraph("bert(gelu=one_op)"));
  EXPECT_EQ(counts.forward, 33 * 12 + 8 + 7);
  // A layer: 3 projections of 3 and their 6 views and transpositions; scores 2, scale, softmax, dropout, found 2,
  // back 2, output 3, dropout, norm; wide 3, GELU, narrow 3, dropout, norm; 2 AddN where the residual forks.
  // Embeddings 7 (rows, dropout, norm, positions summed and padded, 2 look-ups), head 8. By hand 494.
  EXPECT_EQ(counts.backward, 40 * 12 + 7 + 8);
  EXPECT_EQ(counts.variables, 201 - 2);  // the pooler's
  EXPECT_EQ(CountOps(LoadGraph("bert")).forward, counts.forward + 4 * 12);
}

// By hand 22.9 GB, without the four transpositions of a layer.
TEST(BertTest, SumOfForwardOutputs) {
  const sim::OpGraph graph = LoadGraph("bert(gelu=one_op)");
  const std::int64_t transposed = std::int64_t{4} * 12 * 4 * 24 * 384 * 768;
  EXPECT_NEAR(static_cast<double>(SumOfForwardOutputs(graph) - transposed) / 1e9, 22.9, 0.1);
}

TEST(TransformerXlTest, WeightsAndMultiplyAdds) {
  for (const auto& [layers, millions, tflop] :
       {std::tuple(2, 115.2, 1.57), {4, 120.3, 1.66}, {8, 130.6, 1.84}}) {
    const sim::OpGraph graph = LoadGraph("transformer_xl(layers=" + std::to_string(layers) + ")");
    EXPECT_NEAR(static_cast<double>(graph.totals().parameters) / 1e6, millions, 0.05);
    EXPECT_NEAR(graph.totals().flops / 1e12, tflop, 0.005);
  }
  // The published model.
  EXPECT_NEAR(static_cast<double>(LoadGraph("transformer_xl(layers=16)").totals().parameters) / 1e6, 151.1,
              0.05);
}

// By hand F = 33 a layer + 9, B = 39 a layer + 8, with products that turn their inputs themselves. Ours has 5
// views and 6 transpositions a layer more in F and in B. B beside those: seen 1, projection 2, parts 1, query
// cut 1, distance 1, biases 2, AddN of query 1, scores 4, shift 4, scale, softmax, dropout, found 2, output
// 2, dropout, norm; wide 3, relu, dropout, narrow 3, dropout, norm; 2 AddN of the residual. 10: loss, bias,
// product 2, rows, 2 dropouts, scale, look-up, AddN of the table.
TEST(TransformerXlTest, OpCounts) {
  for (const std::int64_t layers : {2, 4, 8, 16}) {
    const Counts counts = CountOps(LoadGraph("transformer_xl(layers=" + std::to_string(layers) + ")"));
    EXPECT_EQ(counts.forward, (33 + 11) * layers + 9);
    EXPECT_EQ(counts.backward, (38 + 11) * layers + 10);
    EXPECT_EQ(counts.variables, 13 * layers + 2);
  }
}

// The table is looked up in and multiplied with: one dense gradient of both, on the table's device.
TEST(TransformerXlTest, TableAndSoftmaxShareOneGradient) {
  const sim::OpGraph graph = LoadGraph("transformer_xl(batch=2)");
  const auto& sum = graph.ops.at(static_cast<std::size_t>(graph.Find("gradients/embedding/weights/sum")));
  EXPECT_EQ(sum.type, "AddN");
  EXPECT_EQ(sum.outputs.at(0).shape, (std::vector<std::int64_t>{267'735, 410}));
  EXPECT_EQ(sum.inputs.size(), 2u);
}

// The memory is cut out of what a layer sees and read by nothing in this step; no gradient enters it.
TEST(TransformerXlTest, MemoryRecursWithoutGradient) {
  const sim::OpGraph graph = LoadGraph("transformer_xl(batch=2,segment=100,memory=30)");
  const sim::OpIndex memory = graph.Find("layer1/attention/new_memory");
  ASSERT_GE(memory, 0);
  EXPECT_TRUE(graph.consumers(memory).empty());
  EXPECT_EQ(
      graph.ops[static_cast<std::size_t>(memory)].outputs.at(0).shape,
      graph.ops.at(static_cast<std::size_t>(graph.Find("layer1/attention/memory"))).outputs.at(0).shape);
}

TEST(TransformersTest, RefuseWidthsThatHeadsDoNotDivide) {
  for (const char* name : {"bert(hidden=770)", "transformer_xl(heads=7)"}) {
    try {
      LoadGraph(name);
      FAIL() << name;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("is no multiple of heads="), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace stowplan::scenarios
