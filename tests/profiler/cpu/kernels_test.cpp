#include "profiler/cpu/cpu_kernels.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

// One op on placeholders, run by itself.
class KernelTest : public ::testing::Test {
 protected:
  using Shape = std::vector<std::int64_t>;
  using Numbers = std::vector<float>;

  std::vector<Numbers> Run(const std::string& type, const std::vector<Shape>& inputs,
                           std::vector<Numbers> values, const std::vector<Shape>& outputs,
                           sim::Attributes attributes = {}) {
    sim::OpGraph graph;
    graph.name = "kernel";
    const auto output = [](const Shape& shape) {
      sim::Output made;
      made.dtype = "f32";
      made.shape = shape;
      made.bytes = ElementsOf(shape) * 4;
      return made;
    };
    sim::Op op;
    op.name = "op";
    op.type = type;
    op.attributes = std::move(attributes);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      sim::Op source;
      source.name = "in" + std::to_string(i);
      source.type = "Placeholder";
      source.outputs = {output(inputs[i])};
      graph.ops.push_back(source);
      op.inputs.push_back({static_cast<sim::OpIndex>(i), 0});
    }
    for (const Shape& shape : outputs) op.outputs.push_back(output(shape));
    graph.ops.push_back(op);
    graph.Finish();
    MadeKernel made = MakeCpuKernel(graph, graph.size() - 1);
    EXPECT_FALSE(made.stand_in) << type;
    std::vector<Numbers> results;
    for (const Shape& shape : outputs)
      results.emplace_back(static_cast<std::size_t>(ElementsOf(shape)), -99.F);
    std::vector<void*> in, out;
    for (Numbers& numbers : values) in.push_back(numbers.data());
    for (Numbers& numbers : results) out.push_back(numbers.data());
    alignas(64) static char scratch[1 << 16];
    made.kernel->Run({.inputs = &in, .outputs = &out, .slots = nullptr, .scratch = scratch});
    return results;
  }

  static sim::Attribute List(std::int64_t a, std::int64_t b) { return {sim::Attribute::List{{a}, {b}}}; }
};

TEST_F(KernelTest, ProductsAndTheirGradientsTransposeByShape) {
  EXPECT_THAT(Run("MatMul", {{2, 3}, {3, 1}}, {{1, 2, 3, 4, 5, 6}, {1, 10, 100}}, {{2, 1}})[0],
              ElementsAre(321, 654));
  EXPECT_THAT(Run("MatMul", {{2, 1}, {3, 1}}, {{1, 2}, {1, 10, 100}}, {{2, 3}})[0],
              ElementsAre(1, 10, 100, 2, 20, 200));
  EXPECT_THAT(Run("MatMul", {{2, 3}, {2, 1}}, {{1, 2, 3, 4, 5, 6}, {1, 10}}, {{3, 1}})[0],
              ElementsAre(41, 52, 63));
  EXPECT_THAT(Run("BatchMatMul", {{2, 2}, {2, 2, 3}}, {{1, 10, 1, 0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0}},
                  {{2, 3}})[0],
              ElementsAre(41, 52, 63, 7, 8, 9));
}

TEST_F(KernelTest, ConvolutionIsTheOneByHand) {
  const sim::Attributes window = {
      {"kernel", List(2, 2)}, {"strides", List(1, 1)}, {"padding", {std::string("VALID")}}};
  EXPECT_THAT(Run("Conv2D", {{1, 2, 3, 1}, {2, 2, 1, 1}}, {{1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}},
                  {{1, 1, 2, 1}}, window)[0],
              ElementsAre(5421, 6532));
  EXPECT_THAT(Run("Conv2DBackpropFilter", {{1, 2, 3, 1}, {1, 1, 2, 1}}, {{1, 2, 3, 4, 5, 6}, {1, 10}},
                  {{2, 2, 1, 1}}, window)[0],
              ElementsAre(21, 32, 54, 65));
  EXPECT_THAT(Run("Conv2DBackpropInput", {{1, 1, 2, 1}, {2, 2, 1, 1}}, {{1, 2}, {1, 10, 100, 1000}},
                  {{1, 2, 3, 1}}, window)[0],
              ElementsAre(1, 12, 20, 100, 1200, 2000));
}

TEST_F(KernelTest, MaximumGoesForthAndItsGradientBack) {
  const sim::Attributes window = {
      {"kernel", List(2, 2)}, {"strides", List(2, 2)}, {"padding", {std::string("SAME")}}};
  const Numbers x = {1, 5, 2, 3, 4, 6};
  EXPECT_THAT(Run("MaxPool", {{1, 2, 3, 1}}, {x}, {{1, 1, 2, 1}}, window)[0], ElementsAre(5, 6));
  EXPECT_THAT(Run("MaxPoolGrad", {{1, 2, 3, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}}, {x, {5, 6}, {7, 8}},
                  {{1, 2, 3, 1}}, window)[0],
              ElementsAre(0, 7, 0, 0, 0, 8));
}

TEST_F(KernelTest, SmallerInputsAreSpreadAndSummedBack) {
  EXPECT_THAT(Run("Add", {{2, 2, 1}, {2, 1, 1}}, {{1, 2, 3, 4}, {10, 20}}, {{2, 2, 1}})[0],
              ElementsAre(11, 12, 23, 24));
  EXPECT_THAT(Run("BiasAdd", {{2, 2}, {2}}, {{1, 2, 3, 4}, {10, 20}}, {{2, 2}})[0],
              ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(Run("BiasAddGrad", {{2, 2}}, {{1, 2, 3, 4}}, {{2}})[0], ElementsAre(4, 6));
  EXPECT_THAT(Run("ReduceSum", {{2, 3, 2}}, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, {{2, 2}})[0],
              ElementsAre(9, 12, 27, 30));
  EXPECT_THAT(Run("AddN", {{2}}, {{1, 2}}, {{2}})[0], ElementsAre(1, 2));
  EXPECT_THAT(Run("AddN", {{2}, {2}, {2}}, {{1, 2}, {10, 20}, {100, 200}}, {{2}})[0], ElementsAre(111, 222));
  EXPECT_THAT(Run("Tile", {{2}}, {{1, 2}}, {{3, 2}})[0], ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST_F(KernelTest, PartsAreJoinedAndSplitAlongTheirAxis) {
  const sim::Attributes axis = {{"axis", {std::int64_t{1}}}};
  EXPECT_THAT(Run("ConcatV2", {{2, 1}, {2, 2}}, {{1, 2}, {3, 4, 5, 6}}, {{2, 3}}, axis)[0],
              ElementsAre(1, 3, 4, 2, 5, 6));
  EXPECT_THAT(Run("Split", {{2, 2}}, {{1, 2, 3, 4}}, {{2, 1}, {2, 1}}, axis),
              ElementsAre(ElementsAre(1, 3), ElementsAre(2, 4)));
  EXPECT_THAT(Run("Pad", {{1, 2}}, {{1, 2}}, {{2, 3}})[0], ElementsAre(1, 2, 0, 0, 0, 0));
}

// Numbers between -1 and 1 that differ from one another.
std::vector<float> Some(std::size_t count, double step) {
  std::vector<float> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(static_cast<float>(std::sin(step * (1.0 + i))));
  return made;
}

::testing::Matcher<std::vector<float>> AreNear(const std::vector<double>& expected) {
  std::vector<::testing::Matcher<float>> each;
  for (const double number : expected)
    each.push_back(::testing::FloatNear(static_cast<float>(number), 2e-5F));
  return ::testing::ElementsAreArray(each);
}

// Rows that are no multiple of what is summed at once.
constexpr std::int64_t kRows = 3, kWidth = 37;
constexpr std::size_t kAll = kRows * kWidth;

TEST_F(KernelTest, RowsAreSummedAndFactorsOfRowsSpread) {
  const Numbers x = Some(kAll, 0.7), y = Some(kAll, 1.9), factor = {2, -3, 0.5};
  std::vector<double> sums(kRows), products(kRows), spread;
  for (std::size_t i = 0; i < kAll; ++i) {
    sums[i / kWidth] += x[i];
    products[i / kWidth] += double{x[i]} * y[i];
    spread.push_back(double{x[i]} * factor[i / kWidth]);
  }
  EXPECT_THAT(Run("ReduceSum", {{kRows, kWidth}}, {x}, {{kRows}})[0], AreNear(sums));
  EXPECT_THAT(Run("MulSum", {{kRows, kWidth}, {kRows, kWidth}}, {x, y}, {{kRows, 1}})[0], AreNear(products));
  EXPECT_THAT(Run("Mul", {{kRows, kWidth}, {kRows, 1}}, {x, factor}, {{kRows, kWidth}})[0], AreNear(spread));
  EXPECT_THAT(Run("Mul", {{kRows, 1}, {kRows, kWidth}}, {factor, x}, {{kRows, kWidth}})[0], AreNear(spread));
}

TEST_F(KernelTest, SoftmaxHasTheGradientOfItsDefinition) {
  const Numbers y = Some(kAll, 0.7), dy = Some(kAll, 1.9);
  std::vector<double> expected;
  for (std::size_t i = 0; i < kAll; ++i) {
    double dot = 0;
    for (std::size_t k = i / kWidth * kWidth; k < (i / kWidth + 1) * kWidth; ++k) dot += double{y[k]} * dy[k];
    expected.push_back(y[i] * (dy[i] - dot));
  }
  EXPECT_THAT(Run("SoftmaxGrad", {{kRows, kWidth}, {kRows, kWidth}}, {y, dy}, {{kRows, kWidth}})[0],
              AreNear(expected));
}

// The gradients against differences of the sum of dy · LayerNorm(x).
TEST_F(KernelTest, LayerNormHasTheGradientsOfItsDefinition) {
  const Numbers x = Some(kAll, 0.7), dy = Some(kAll, 1.9), scale = Some(kWidth, 0.3),
                offset = Some(kWidth, 2.3);
  const auto norm = [](const std::vector<double>& in, const std::vector<double>& s,
                       const std::vector<double>& o) {
    std::vector<double> out;
    for (std::size_t row = 0; row < kRows; ++row) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < kWidth; ++i) mean += in[row * kWidth + i] / kWidth;
      for (std::size_t i = 0; i < kWidth; ++i) variance += std::pow(in[row * kWidth + i] - mean, 2) / kWidth;
      for (std::size_t i = 0; i < kWidth; ++i)
        out.push_back((in[row * kWidth + i] - mean) / std::sqrt(variance + 1e-5) * s[i] + o[i]);
    }
    return out;
  };
  using Doubles = std::vector<double>;
  std::vector<Doubles> at = {
      {x.begin(), x.end()}, {scale.begin(), scale.end()}, {offset.begin(), offset.end()}};
  EXPECT_THAT(
      Run("LayerNorm", {{kRows, kWidth}, {kWidth}, {kWidth}}, {x, scale, offset}, {{kRows, kWidth}})[0],
      AreNear(norm(at[0], at[1], at[2])));
  std::vector<Doubles> gradients;
  for (Doubles& of : at) {
    Doubles& gradient = gradients.emplace_back();
    for (double& number : of) {
      constexpr double kStep = 1e-5;
      const double before = number;
      double difference = 0;
      for (const double sign : {1.0, -1.0}) {
        number = before + sign * kStep;
        const Doubles out = norm(at[0], at[1], at[2]);
        for (std::size_t i = 0; i < kAll; ++i) difference += sign * dy[i] * out[i];
      }
      number = before;
      gradient.push_back(difference / (2 * kStep));
    }
  }
  const auto found = Run("LayerNormGrad", {{kRows, kWidth}, {kRows, kWidth}, {kWidth}}, {dy, x, scale},
                         {{kRows, kWidth}, {kWidth}, {kWidth}});
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_THAT(found[i], AreNear(gradients[i])) << i;
}

}  // namespace
}  // namespace stowplan::profiler
