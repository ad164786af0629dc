// What the ONNX library takes as it comes: sizes, attributes and values of a node that do not fit together.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/analysis/product_flops.h"
#include "tests/scenarios/onnx/rule_cases.h"
#include "tests/testing.h"

namespace stowplan::scenarios {

using Ints = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;
using Dims = std::vector<GraphMaker::Dim>;
using Attributes = std::vector<GraphMaker::Attribute>;

GraphMaker Node(const std::string& type, const std::vector<Shape>& shapes, const Attributes& attributes) {
  GraphMaker m;
  GraphMaker::Names names;
  for (const Shape& shape : shapes) {
    names.push_back("x" + std::to_string(names.size()));
    m.Input(names.back(), Dims(shape.begin(), shape.end()));
  }
  m.Node(type, names, {"y"}, attributes).Output("y");
  return m;
}

GraphMaker NodeWithInts(const std::string& type, const Shape& shape, const Ints& numbers,
                        const Attributes& attributes) {
  GraphMaker m;
  m.Input("x0", Dims(shape.begin(), shape.end())).Ints("n", numbers);
  m.Node(type, {"x0", "n"}, {"y"}, attributes).Output("y");
  return m;
}

void PrintTo(const RuleCase& row, std::ostream* out) {
  *out << row.name;
}

namespace {

class OnnxRules : public ::testing::TestWithParam<RuleCase> {};

TEST_P(OnnxRules, WhatFitsIsReadAndWhatDoesNotIsRefused) {
  const RuleCase& row = GetParam();
  EXPECT_EQ(RefusalOf(row.right, {}, row.opset), "no error");
  const std::string refusal = RefusalOf(row.wrong, {}, row.opset);
  EXPECT_THAT(refusal, AllOf(StartsWith("model.onnx: node "), HasSubstr("contradicts the rules of its op")));
  for (const std::string& text : row.says) EXPECT_THAT(refusal, HasSubstr(text));
}

// As it is and with a backward pass: what the importer counts is what shapes tell (sim/analysis/product_flops.h).
TEST_P(OnnxRules, ProductsHaveTheFlopsThatTheirShapesTell) {
  for (const char* training : {"", "sgd"}) {
    sim::OpGraph graph;
    try {
      graph = Import(GetParam().right, {.training = training}, GetParam().opset);
    } catch (const InputError&) {
      continue;  // has no gradient, or no weights to train
    }
    for (sim::OpIndex i = 0; i < graph.size(); ++i) {
      const sim::Op& op = graph.ops[static_cast<std::size_t>(i)];
      if (const auto flops = sim::ProductFlops(graph, i)) {
        EXPECT_DOUBLE_EQ(*flops, op.flops) << op.name << " " << op.type << " " << training;
      }
    }
  }
}

constexpr auto kName = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(Windows, OnnxRules, ::testing::ValuesIn(WindowRuleCases()), kName);
INSTANTIATE_TEST_SUITE_P(Layers, OnnxRules, ::testing::ValuesIn(LayerRuleCases()), kName);
INSTANTIATE_TEST_SUITE_P(Movement, OnnxRules, ::testing::ValuesIn(MovementRuleCases()), kName);
INSTANTIATE_TEST_SUITE_P(Broadcast, OnnxRules, ::testing::ValuesIn(BroadcastRuleCases()), kName);

RC_GTEST_PROP(OnnxRulesProperty, AConvolutionIsReadWhereChannelsAreGroupsTimesThoseOfItsFilter, ()) {
  const auto groups = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto filter = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto channels = *rc::gen::inRange<std::int64_t>(1, 10);
  const auto outputs = *rc::gen::inRange<std::int64_t>(1, 10);
  const GraphMaker m =
      Node("Conv", {{2, channels, 5, 5}, {outputs, filter, 3, 3}}, {{"group", std::int64_t{groups}}});
  const bool fits = channels == groups * filter && outputs % groups == 0;
  RC_ASSERT((RefusalOf(m) == "no error") == fits);
}

// What a window gives is at least one place, and as many as the standard counts.
RC_GTEST_PROP(OnnxRulesProperty, AWindowThatIsReadHasAPlaceInItsImage, ()) {
  const auto image = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto kernel = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto stride = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto dilation = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto pad = *rc::gen::inRange<std::int64_t>(0, 3);
  const GraphMaker m = Node("MaxPool", {{1, 1, image}},
                            {{"kernel_shape", Ints{kernel}},
                             {"strides", Ints{stride}},
                             {"dilations", Ints{dilation}},
                             {"pads", Ints{pad, pad}}});
  const std::int64_t spare = image + 2 * pad - ((kernel - 1) * dilation + 1);
  if (spare < 0 || pad > (kernel - 1) * dilation) {
    RC_ASSERT(RefusalOf(m) != "no error");
  } else {
    RC_ASSERT(ShapeText(Import(m), "y") == "f32[1,1," + std::to_string(spare / stride + 1) + "]");
  }
}

// Counted window by window, as PyTorch and ONNX define it: a place for each window that lies on the padded image, and where
// sizes are rounded up one that sticks out behind it, unless that begins behind the image and the pad before it.
std::int64_t CountedPlaces(std::int64_t image, std::int64_t before, std::int64_t behind, std::int64_t reach,
                           std::int64_t stride, bool ceil) {
  std::int64_t places = 0;
  for (std::int64_t begin = 0;; begin += stride) {
    const bool whole = begin + reach <= image + before + behind;
    if (whole) {
      ++places;
      continue;
    }
    // Rounding up adds one place at most, and only where the windows before it leave something over.
    const bool left_over = begin == 0 || begin - stride + reach < image + before + behind;
    if (ceil && left_over && begin < image + before) ++places;
    return places;
  }
}

TEST(OnnxRules, RoundedUpPoolsHaveThePlacesOfTheirWindows) {
  int ends_in_pad = 0;
  for (const char* type : {"MaxPool", "AveragePool"}) {
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (std::int64_t stride = 1; stride <= 5; ++stride) {
        for (std::int64_t before = 0; before < kernel; ++before) {
          for (std::int64_t behind = 0; behind < kernel; ++behind) {
            for (std::int64_t image = 1; image <= 9; ++image) {
              if (image + before + behind < kernel) continue;
              for (const bool ceil : {false, true}) {
                const GraphMaker m = Node(type, {{1, 1, image}},
                                          {{"kernel_shape", Ints{kernel}},
                                           {"strides", Ints{stride}},
                                           {"pads", Ints{before, behind}},
                                           {"ceil_mode", std::int64_t{ceil}}});
                const std::int64_t places = CountedPlaces(image, before, behind, kernel, stride, ceil);
                ASSERT_EQ(ShapeText(Import(m), "y"), "f32[1,1," + std::to_string(places) + "]")
                    << type << " kernel " << kernel << " stride " << stride << " pads " << before << " "
                    << behind << " image " << image << " ceil " << ceil;
                const std::int64_t spare = image + before + behind - kernel;
                ends_in_pad += ceil && (spare + stride - 1) / stride + 1 != places ? 1 : 0;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(ends_in_pad, 20) << "the rule is met";
}

}  // namespace
}  // namespace stowplan::scenarios
