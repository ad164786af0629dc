#include "cost_models/ops/op_work.h"

#include "cost_models/ops/op_types.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

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

TEST(WorkOf, TellsOperandsThatAreBroadcast) {
  const auto broadcasts = [](const std::vector<std::int64_t>& first,
                             const std::vector<std::int64_t>& second) {
    return Work({"Add", 0, {{first}, {second}}, {{first}}, {}}).broadcasts;
  };
  EXPECT_TRUE(broadcasts({8, 197, 768}, {1, 197, 768}));
  EXPECT_TRUE(broadcasts({8, 768}, {8, 1}));
  EXPECT_FALSE(broadcasts({8, 768}, {8, 768}));
  EXPECT_FALSE(broadcasts({8, 768}, {1}));
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

// Groups are products side by side: 4 of 8 of 32 channels each, as deep as 3 x 3 x 16 / 4.
TEST(WorkOf, GroupsAreProductsOfTheirOwn) {
  const double flops = 2.0 * 2 * 10 * 10 * 32 * 36;
  const OpWork work = Work({"Conv2D",
                            flops,
                            {{{2, 16, 10, 10}}, {{32, 4, 3, 3}}},
                            {{{2, 32, 10, 10}}},
                            {{"data_format", {"NCHW"}}, {"groups", {std::int64_t{4}}}}});
  EXPECT_EQ(work.product->count, 4);
  EXPECT_EQ(work.product->rows, 200);
  EXPECT_EQ(work.product->columns, 8);
  EXPECT_EQ(work.product->depth, 36);
}

// ---- the kernels of a convolution's backward pass

struct Geometry {
  std::vector<std::int64_t> image, filter, made;  // channels first
  std::int64_t groups = 1;
};

const Geometry kGeometries[] = {
    {{8, 128, 28, 28}, {128, 128, 3, 3}, {8, 128, 28, 28}, 1},
    {{2, 3, 224, 224}, {64, 3, 7, 7}, {2, 64, 112, 112}, 1},
    {{4, 16, 10, 10}, {32, 4, 3, 3}, {4, 32, 10, 10}, 4},
    {{1, 64, 56, 56}, {64, 1, 3, 3}, {1, 64, 56, 56}, 64},
    {{2, 8, 100}, {16, 8, 5}, {2, 16, 96}, 1},
    {{2, 8, 10, 12, 14}, {4, 8, 3, 3, 3}, {2, 4, 8, 10, 12}, 1},
};

// Of the forward op.
std::string TypeOf(const Geometry& of) {
  if (of.groups > 1 && of.filter[1] == 1) return "DepthwiseConv2dNative";
  return of.image.size() == 3 ? "Conv1D" : of.image.size() == 5 ? "Conv3D" : "Conv2D";
}

double ProductOf(const std::vector<std::int64_t>& shape, std::size_t from = 0) {
  double product = 1;
  for (std::size_t i = from; i < shape.size(); ++i) product *= static_cast<double>(shape[i]);
  return product;
}

sim::Attributes WindowOf(const Geometry& of, const std::vector<bool>& asked) {
  sim::Attribute::List mask;
  for (const bool one : asked) mask.push_back({one});
  return {{"data_format", {"NCHW"}}, {"groups", {of.groups}}, {"output_mask", {mask}}};
}

sim::OpGraph BackwardOf(const Geometry& of, const std::vector<bool>& asked) {
  const double each = 2 * ProductOf(of.made) * ProductOf(of.filter, 1);
  OpCase op{"ConvBackward", 0, {{of.made}, {of.image}, {of.filter}}, {}, WindowOf(of, asked)};
  const std::vector<std::int64_t> gradients[] = {of.image, of.filter, {of.filter[0]}};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!asked[i]) continue;
    op.outputs.push_back({gradients[i]});
    op.flops += i < 2 ? each : 0;
  }
  return GraphOf(op);
}

// Each gradient is what the op that makes it alone is.
TEST(KernelsOf, ABackwardPassOfAConvolutionIsItsProducts) {
  for (const Geometry& of : kGeometries) {
    const double each = 2 * ProductOf(of.made) * ProductOf(of.filter, 1);
    const std::string base = TypeOf(of);
    const OpCase image{
        base + "BackpropInput", each, {{of.made}, {of.filter}}, {{of.image}}, WindowOf(of, {})};
    const OpCase filter{
        base + "BackpropFilter", each, {{of.image}, {of.made}}, {{of.filter}}, WindowOf(of, {})};
    for (const std::vector<bool>& asked : {std::vector<bool>{true, true, true},
                                           {true, false, false},
                                           {false, true, false},
                                           {false, true, true},
                                           {true, true, false}}) {
      const sim::OpGraph graph = BackwardOf(of, asked);
      const std::vector<OpWork> kernels = KernelsOf(graph, LastOp(graph));
      ASSERT_EQ(kernels.size(), static_cast<std::size_t>(std::ranges::count(asked, true)));
      std::size_t at = 0;
      double flops = 0;
      double bytes = 0;
      for (const OpWork& kernel : kernels) {
        flops += kernel.flops;
        bytes += kernel.bytes;
      }
      EXPECT_EQ(flops, graph.ops.back().flops);
      EXPECT_LE(bytes, kernels.size() * WorkOf(graph, LastOp(graph)).bytes);
      for (std::size_t i = 0; i < 2; ++i) {
        if (!asked[i]) continue;
        const sim::OpGraph alone_graph = GraphOf(i == 0 ? image : filter);
        const OpWork alone = WorkOf(alone_graph, LastOp(alone_graph));
        const OpWork& kernel = kernels[at++];
        EXPECT_EQ(kernel.type, alone.type);
        EXPECT_EQ(kernel.op_class, alone.op_class);
        EXPECT_EQ(kernel.family, alone.family);
        EXPECT_EQ(kernel.flops, alone.flops);
        EXPECT_EQ(kernel.bytes, alone.bytes);
        EXPECT_EQ(kernel.positions, alone.positions);
        ASSERT_EQ(kernel.product.has_value(), alone.product.has_value());
        if (!kernel.product) continue;
        EXPECT_EQ(kernel.product->count, alone.product->count);
        EXPECT_EQ(kernel.product->rows, alone.product->rows);
        EXPECT_EQ(kernel.product->columns, alone.product->columns);
        EXPECT_EQ(kernel.product->depth, alone.product->depth);
      }
    }
  }
}

// Two products of the forward's size cost about twice as much as it, on every GPU. Those of the first layer's image, of three
// channels, would not: its kernels leave most of a tile empty, and nobody asks for that gradient.
TEST(KernelsOf, BackwardTakesAboutTwiceAsLongAsForward) {
  const auto model = MakeCostModel("");
  for (const std::string& kind : BuiltinCatalogue().DeviceNames()) {
    if (!BuiltinCatalogue().FindSheet(kind)->HasRates()) continue;
    for (const Geometry& of : kGeometries) {
      const double each = 2 * ProductOf(of.made) * ProductOf(of.filter, 1);
      const std::string type = TypeOf(of);
      const sim::OpGraph forward =
          GraphOf({type, each, {{of.image}, {of.filter}}, {{of.made}}, WindowOf(of, {})});
      const sim::OpGraph backward = BackwardOf(of, {of.image[1] > 3, true, false});
      const double ratio = model->Predict(backward, LastOp(backward), testing::DeviceOf(kind))->us /
                           model->Predict(forward, LastOp(forward), testing::DeviceOf(kind))->us;
      EXPECT_GT(ratio, 0.5) << kind << " " << type;
      EXPECT_LT(ratio, 4.5) << kind << " " << type;
    }
  }
}

// ---- experts

// 64 rows of 256, 128 experts of 256 x 512: 128 (1 - (127/128)^64) = 50.51 experts are read.
TEST(WorkOf, ExpertsThatNoTokenGoesToAreNotRead) {
  const double reached = 128 * (1 - std::pow(127.0 / 128, 64));
  const OpCase grouped{"GroupedMatMul",
                       2.0 * 64 * 256 * 512,
                       {{{64, 256}}, {{128, 256, 512}, "f32", -1, "Variable"}},
                       {{{64, 512}}},
                       {}};
  const OpWork work = Work(grouped);
  EXPECT_NEAR(work.bytes, 4.0 * (64 * 256 + 64 * 512 + reached * 256 * 512), 1e-6 * work.bytes);
  EXPECT_EQ(work.product->count, 51);  // whole experts
  EXPECT_EQ(work.product->columns, 512);
  EXPECT_EQ(work.product->depth, 256);
  // One row reaches one, many reach all.
  const auto bytes_of = [&](std::int64_t rows) {
    OpCase other = grouped;
    other.inputs[0].shape[0] = other.outputs[0].shape[0] = rows;
    return Work(other).bytes - 4.0 * static_cast<double>(rows) * (256 + 512);
  };
  EXPECT_NEAR(bytes_of(1), 4.0 * 256 * 512, 1);
  EXPECT_NEAR(bytes_of(100'000), 4.0 * 128 * 256 * 512, 1);
  EXPECT_EQ(bytes_of(0), 0);
}

// The gradient of the weights is a product for each expert, all of which are written.
TEST(WorkOf, GradientsOfExpertsAreAProductEach) {
  const OpWork work =
      Work({"GroupedMatMul", 2.0 * 64 * 256 * 512, {{{256, 64}}, {{64, 512}}}, {{{8, 256, 512}}}, {}});
  EXPECT_EQ(work.bytes, 4.0 * (256 * 64 + 64 * 512 + 8 * 256 * 512));
  EXPECT_EQ(work.product->count, 8);
  EXPECT_EQ(work.product->rows, 256);
  EXPECT_EQ(work.product->depth, 8);
}

// A bag of 10 rows of a table of a million: 10 x 20 rows of 64 are read.
TEST(WorkOf, BagsReadTheirRows) {
  const OpWork work = Work({"EmbeddingBag",
                            0,
                            {{{1'000'000, 64}, "f32", -1, "Variable"}, {{200}, "i64", 1600}},
                            {{{20, 64}}},
                            {}});
  EXPECT_EQ(work.bytes, 4.0 * 200 * 64 + 1600 + 4.0 * 20 * 64);
}

// One token into a cache of 131,072: what it brings is read and written, not the cache.
TEST(WorkOf, WritesInPlaceMoveWhatTheyBring) {
  sim::OpGraph graph = GraphOf({"ScatterND",
                                0,
                                {{{1, 8, 131072, 128}}, {{1}, "i64", 8}, {{1, 8, 1, 128}}},
                                {{{1, 8, 131072, 128}}},
                                {}});
  EXPECT_GT(WorkOf(graph, LastOp(graph)).bytes, 1e9) << "a copy with other rows";
  graph.ops.back().outputs[0].storage = sim::Output::Storage::kInput;
  graph.ops.back().outputs[0].alias = graph.ops.back().inputs[0];
  EXPECT_EQ(WorkOf(graph, LastOp(graph)).bytes, 2 * 4 * 8 * 128 + 8);
}

// Groups are of convolutions; another op may mean something else by the word.
TEST(WorkOf, GroupsOfOtherOpsAreTheirOwn) {
  EXPECT_EQ(
      Work({"MatMul", 420, {{{6, 7}}, {{7, 5}}}, {{{6, 5}}}, {{"groups", {std::int64_t{5}}}}}).product->count,
      1);
}

// Nothing moves more than its tensors, but an update, which reads and writes slots that are no tensors of the graph.
TEST(WorkOf, NothingMovesMoreThanItsTensors) {
  for (const OpType& row : OpTypes()) {
    if (row.access == Access::kUpdate) continue;
    const OpCase op{std::string(row.type),
                    1e6,
                    {{{16, 8, 8, 4}}, {{16, 8, 8, 4}}, {{16, 4, 3, 3}, "f32", -1, "Variable"}},
                    {{{16, 8, 8, 4}}, {{16, 4, 3, 3}}},
                    {}};
    const sim::OpGraph graph = GraphOf(op);
    double tensors = 0;
    for (const sim::Op& one : graph.ops)
      for (const sim::Output& output : one.outputs) tensors += static_cast<double>(output.bytes);
    EXPECT_LE(WorkOf(graph, LastOp(graph)).bytes, tensors) << row.type;
  }
}

// ---- TF32

TEST(WorkOf, TheOpSaysWhetherItRunsInTf32ElseTheGraph) {
  const OpCase product{"MatMul", 420, {{{6, 7}}, {{7, 5}}}, {{{6, 5}}}, {}};
  sim::OpGraph graph = GraphOf(product);
  EXPECT_EQ(WorkOf(graph, LastOp(graph)).tf32, std::nullopt);
  graph.attributes = {{"tf32", {true}}};
  EXPECT_EQ(WorkOf(graph, LastOp(graph)).tf32, true);
  for (const auto& [word, product_in_tf32] :
       {std::pair{"convolutions", false}, {"all", true}, {"none", false}}) {
    graph.attributes = {{"tf32", {word}}};
    EXPECT_EQ(WorkOf(graph, LastOp(graph)).tf32, product_in_tf32) << word;
  }
  graph.attributes = {{"tf32", {"some"}}};
  EXPECT_THROW(WorkOf(graph, LastOp(graph)), InputError);
  graph.ops.back().attributes = {{"tf32", {true}}};
  EXPECT_EQ(WorkOf(graph, LastOp(graph)).tf32, true);
  const sim::OpGraph sum = GraphOf({"Add", 0, {{{6}}}, {{{6}}}, {{"tf32", {true}}}});
  EXPECT_EQ(WorkOf(sum, LastOp(sum)).tf32, std::nullopt) << "no product";
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
