#include "cost_models/ops/op_work.h"

#include <gtest/gtest.h>

#include "tests/cost_models/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::GraphOf;
using testing::LastOp;
using testing::OpCase;

OpWork Work(const OpCase& op) {
  const sim::OpGraph graph = GraphOf(op);
  OpWork work = WorkOf(graph, LastOp(graph));
  work.dtype = {};  // points into the graph, which ends here
  return work;
}

std::string Sign(const OpCase& op) {
  const sim::OpGraph graph = GraphOf(op);
  return Signature(graph, LastOp(graph));
}

TEST(WorkOf, CountsInputsAndOutputs) {
  // 3 x 40 B read, 40 B written.
  EXPECT_EQ(Work({"AddN", 0, {{{10}}, {{10}}, {{10}}}, {{{10}}}, {}}).bytes, 160);
}

TEST(WorkOf, ATensorNamedTwiceIsReadOnce) {
  sim::OpGraph graph = GraphOf({"Mul", 0, {{{10}}}, {{{10}}}, {}});
  graph.ops[1].inputs.push_back(graph.ops[1].inputs.front());
  graph.Finish();
  EXPECT_EQ(WorkOf(graph, 1).bytes, 80);
}

TEST(WorkOf, InPlaceOutputsAreWritten) {
  sim::OpGraph graph = GraphOf({"Relu", 0, {{{10}}}, {{{10}}}, {}});
  graph.ops[1].outputs[0].storage = sim::Output::Storage::kInput;
  graph.ops[1].outputs[0].alias = {0, 0};
  graph.Finish();
  EXPECT_EQ(WorkOf(graph, 1).op_class, OpClass::kElementwise);
  EXPECT_EQ(WorkOf(graph, 1).bytes, 80);
}

TEST(WorkOf, ViewsAndSourcesDoNothing) {
  const OpWork view = Work({"Reshape", 0, {{{10}}}, {{{5, 2}}}, {}});
  EXPECT_EQ(view.op_class, OpClass::kNothing);
  EXPECT_EQ(view.bytes, 0);
  EXPECT_EQ(Work({"Variable", 0, {}, {{{1000}}}, {}}).op_class, OpClass::kNothing);
}

// An embedding of 4 rows of 8 out of a table of 1000 rows: 128 B of rows read, 128 B written, and not 32 kB.
TEST(WorkOf, GathersReadOnlyWhatTheyReturn) {
  EXPECT_EQ(Work({"Gather", 0, {{{1000, 8}, "f32", -1, "Variable"}, {{4}, "i32"}}, {{{4, 8}}}, {}}).bytes,
            256);
  EXPECT_EQ(Work({"Slice", 0, {{{1000}}}, {{{10}}}, {}}).bytes, 80);
}

// Bags of 12 rows of 32 B, summed into 4: 384 B read, 128 B written, and not the table's 32 kB.
TEST(WorkOf, BagsReadTheRowsThatTheySum) {
  sim::Attributes rows = {{"rows", sim::Attribute{std::int64_t{12}}}};
  const OpCase bag = {
      "EmbeddingBag", 0, {{{1000, 8}, "f32", -1, "Variable"}, {{12}, "i64"}, {{4}, "i64"}}, {{{4, 8}}}, rows};
  EXPECT_EQ(Work(bag).bytes, 128 + 12 * 32);
}

// Adam: weight, gradient and two slots read, weight and slots written: 7 words for each of the gradient's 10.
TEST(WorkOf, UpdatesCountSlotsByGradient) {
  const OpCase adam = {"ApplyAdam", 0, {{{10}, "f32", -1, "Variable"}, {{10}}}, {}, {}};
  EXPECT_EQ(Work(adam).bytes, 7 * 40);
  const OpCase sgd = {"ApplyGradientDescent", 0, {{{10}, "f32", -1, "Variable"}, {{10}}}, {}, {}};
  EXPECT_EQ(Work(sgd).bytes, 3 * 40);
  // A sparse gradient of 2 rows touches 2 rows, however large the variable.
  const OpCase sparse = {"ApplyAdam", 0, {{{1000}, "f32", -1, "Variable"}, {{2}}}, {}, {}};
  EXPECT_EQ(Work(sparse).bytes, 7 * 8);
}

// [6, 5] = [6, 7] x [7, 5]: 2 x 6 x 5 x 7 = 420 flops, so the depth is 7.
TEST(WorkOf, MatrixProduct) {
  const OpWork work = Work({"MatMul", 420, {{{6, 7}}, {{7, 5}}}, {{{6, 5}}}, {}});
  ASSERT_TRUE(work.product.has_value());
  EXPECT_EQ(work.product->count, 1);
  EXPECT_EQ(work.product->rows, 6);
  EXPECT_EQ(work.product->columns, 5);
  EXPECT_EQ(work.product->depth, 7);
}

TEST(WorkOf, BatchedProduct) {
  const OpWork work = Work({"BatchMatMul", 420 * 12, {}, {{{3, 4, 6, 5}}}, {}});
  ASSERT_TRUE(work.product.has_value());
  EXPECT_EQ(work.product->count, 12);
  EXPECT_EQ(work.product->rows, 6);
  EXPECT_EQ(work.product->depth, 7);
}

// Images in NHWC: rows are pixels of all images. 2 x 16 x 16 x 8 outputs, 3 x 3 x 4 deep.
TEST(WorkOf, ConvolutionsAreProducts) {
  const double flops = 2.0 * 2 * 16 * 16 * 8 * 36;
  const OpWork nhwc = Work({"Conv2D", flops, {}, {{{2, 16, 16, 8}}}, {}});
  EXPECT_EQ(nhwc.product->rows, 512);
  EXPECT_EQ(nhwc.product->columns, 8);
  EXPECT_EQ(nhwc.product->depth, 36);
  const OpWork nchw =
      Work({"Conv2D", flops, {}, {{{2, 8, 16, 16}}}, {{"data_format", {std::string("NCHW")}}}});
  EXPECT_EQ(nchw.product->rows, 512);
  EXPECT_EQ(nchw.product->columns, 8);
  const OpWork onnx = Work({"Conv", flops, {}, {{{2, 8, 16, 16}}}, {}});
  EXPECT_EQ(onnx.product->columns, 8);
  // The filter's gradient [3, 3, 4, 8]: 36 rows, 8 columns, as deep as there are pixels.
  const OpWork filter = Work({"Conv2DBackpropFilter", flops, {}, {{{3, 3, 4, 8}}}, {}});
  EXPECT_EQ(filter.product->rows, 36);
  EXPECT_EQ(filter.product->columns, 8);
  EXPECT_EQ(filter.product->depth, 512);
  // The same one as [8, 4, 3, 3].
  const OpWork turned =
      Work({"Conv2DBackpropFilter", flops, {}, {{{8, 4, 3, 3}}}, {{"data_format", {"NCHW"}}}});
  EXPECT_EQ(turned.product->rows, 36);
  EXPECT_EQ(turned.product->columns, 8);
  EXPECT_EQ(turned.product->depth, 512);
}

TEST(WorkOf, NoGridWhereItCannotBeDerived) {
  EXPECT_FALSE(Work({"MatMul", 100, {}, {{{}, "", 400}}, {}}).product.has_value());  // no shape
  EXPECT_FALSE(Work({"MatMul", 0, {}, {{{6, 5}}}, {}}).product.has_value());         // no flops
  EXPECT_FALSE(Work({"MatMul", 100, {}, {{{0, 5}}}, {}}).product.has_value());       // no elements
  EXPECT_FALSE(Work({"MatMul", 100, {}, {}, {}}).product.has_value());               // no outputs
  EXPECT_FALSE(Work({"DepthwiseConv2D", 100, {}, {{{1, 4, 4, 8}}}, {}}).product.has_value());
  EXPECT_FALSE(Work({"MyGemm", 100, {}, {{{4, 8}}}, {}}).product.has_value());
}

TEST(WorkOf, NumberFormatOfTheOutputElseOfTheInput) {
  const sim::OpGraph half = GraphOf({"MatMul", 1, {{{2, 2}, "f32"}}, {{{2, 2}, "f16"}}, {}});
  EXPECT_EQ(WorkOf(half, 1).dtype, "f16");
  const sim::OpGraph input = GraphOf({"MatMul", 1, {{{2, 2}, "bf16"}}, {{{}, "", 4}}, {}});
  EXPECT_EQ(WorkOf(input, 1).dtype, "bf16");
  const sim::OpGraph none = GraphOf({"MatMul", 1, {}, {}, {}});
  EXPECT_EQ(WorkOf(none, 0).dtype, "");
}

TEST(Signature, TellsShapesTypesAndWorkAttributes) {
  const sim::Attribute::List strides = {{std::int64_t{2}}, {std::int64_t{2}}};
  EXPECT_EQ(Sign({"Conv2D",
                  1,
                  {{{64, 299, 299, 3}}, {{3, 3, 3, 32}}},
                  {{{64, 149, 149, 32}}},
                  {{"stage", {std::int64_t{3}}}, {"strides", {strides}}}}),
            "Conv2D(f32[64,299,299,3],f32[3,3,3,32])->f32[64,149,149,32]{strides=[2,2]}");
  EXPECT_EQ(Sign({"Mean", 0, {{{}, "", 4096}}, {{{}, "f32", 4}}, {}}), "Mean(4096B)->f32[]");
  EXPECT_EQ(Sign({"NoOp", 0, {}, {}, {}}), "NoOp()->");
}

}  // namespace
}  // namespace stowplan::cost_models
