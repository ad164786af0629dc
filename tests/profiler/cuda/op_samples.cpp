#include "tests/profiler/cuda/op_samples.h"

#include <cstring>

namespace stowplan::profiler::testing {
namespace {

using Shape = std::vector<std::int64_t>;

struct Input {
  Shape shape;
  const char* dtype = "f32";
  int slots = -1;  // of a variable; -1: a placeholder
};

struct Row {
  const char* type;
  std::vector<Input> inputs;
  std::vector<Shape> outputs;
  sim::Attributes attributes = {};
  bool in_place = false;  // output 0 shares input 0
  const char* what = "";
};

sim::Output TensorOf(const Shape& shape, const char* dtype) {
  sim::Output output;
  output.dtype = dtype;
  output.shape = shape;
  output.bytes = 4;
  for (const std::int64_t axis : shape) output.bytes *= axis;
  return output;
}

OpSample SampleOf(const Row& row) {
  OpSample sample{.name = std::string(row.type) + row.what};
  sample.graph.name = "sample";
  sim::Op op;
  op.name = "op";
  op.type = row.type;
  op.attributes = row.attributes;
  for (const Input& input : row.inputs) {
    sim::Op source;
    source.name = "input" + std::to_string(sample.graph.ops.size());
    source.type = input.slots < 0 ? "Placeholder" : "Variable";
    source.outputs = {TensorOf(input.shape, input.dtype)};
    if (input.slots >= 0) {
      source.outputs[0].storage = sim::Output::Storage::kPersistent;
      source.persistent_bytes = source.outputs[0].bytes * (1 + input.slots);
    }
    op.inputs.push_back({sample.graph.size(), 0});
    sample.graph.ops.push_back(std::move(source));
  }
  for (const Shape& shape : row.outputs) op.outputs.push_back(TensorOf(shape, "f32"));
  if (row.in_place) {
    op.outputs[0].storage = sim::Output::Storage::kInput;
    op.outputs[0].alias = op.inputs[0];
  }
  sample.op = sample.graph.size();
  sample.graph.ops.push_back(std::move(op));
  sample.graph.Finish();
  return sample;
}

sim::Attributes Window(std::int64_t kernel, std::int64_t stride, const char* padding) {
  const auto both = [](std::int64_t n) { return sim::Attribute{sim::Attribute::List{{n}, {n}}}; };
  return {{"kernel", both(kernel)}, {"strides", both(stride)}, {"padding", {std::string(padding)}}};
}

// Convolutions of images [2, 7, 7, 3] by 3 x 3, in strides of 1 (even padding) and, on images of 8, of 2 (uneven).
void AddConvolutions(std::vector<Row>* rows) {
  struct Case {
    std::int64_t side, stride, out;
    const char* padding;
    const char* what;
  };
  for (const Case& c : {Case{7, 1, 7, "SAME", ""},
                        {8, 2, 4, "SAME", ", uneven padding"},
                        {7, 1, 5, "VALID", ", no padding"}}) {
    const sim::Attributes window = Window(3, c.stride, c.padding);
    const Shape images = {2, c.side, c.side, 3}, results = {2, c.out, c.out, 5}, filter = {3, 3, 3, 5};
    rows->push_back({"Conv2D", {{images}, {filter}}, {results}, window, false, c.what});
    rows->push_back({"Conv2DBackpropInput", {{results}, {filter}}, {images}, window, false, c.what});
    rows->push_back({"Conv2DBackpropFilter", {{images}, {results}}, {filter}, window, false, c.what});
    const Shape depth = {3, 3, 3, 1}, each = {2, c.out, c.out, 3};
    rows->push_back({"DepthwiseConv2dNative", {{images}, {depth}}, {each}, window, false, c.what});
    rows->push_back(
        {"DepthwiseConv2dNativeBackpropInput", {{each}, {depth}}, {images}, window, false, c.what});
    rows->push_back(
        {"DepthwiseConv2dNativeBackpropFilter", {{images}, {each}}, {depth}, window, false, c.what});
  }
}

void AddProductsAndNorms(std::vector<Row>* rows) {
  const Shape channels = {3}, images = {2, 5, 5, 3}, lines = {5, 67}, line = {67};
  rows->insert(
      rows->end(),
      {{"MatMul", {{{3, 5}}, {{5, 7}}}, {{3, 7}}},
       {"MatMul", {{{3, 5}}, {{7, 5}}}, {{3, 7}}, {}, false, ", b transposed"},
       {"MatMul", {{{5, 3}}, {{5, 7}}}, {{3, 7}}, {}, false, ", a transposed"},
       {"BatchMatMul", {{{2, 3, 5}}, {{2, 5, 7}}}, {{2, 3, 7}}},
       {"FusedBatchNorm", {{images}, {channels}, {channels}}, {images}},
       {"FusedBatchNorm", {{images}, {channels}}, {images}, {}, false, ", no scale"},
       {"FusedBatchNormGrad", {{images}, {images}, {channels}}, {images, channels, channels}},
       {"FusedBatchNormGrad", {{images}, {images}}, {images, channels}, {}, false, ", no scale"},
       {"LayerNorm", {{lines}, {line}, {line}}, {lines}},
       {"LayerNormGrad", {{lines}, {lines}, {line}}, {lines, line, line}},
       {"LayerNormGrad", {{{300, 67}}, {{300, 67}}, {line}}, {{300, 67}, line, line}, {}, false, ", deep"},
       {"Softmax", {{lines}}, {lines}},
       {"SoftmaxGrad", {{lines}, {lines}}, {lines}},
       {"SoftmaxCrossEntropyWithLogits", {{lines}, {{5}, "i32"}}, {{5}, lines}},
       {"SoftmaxCrossEntropyGrad", {{lines}, {{5}}}, {lines}},
       {"SoftmaxCrossEntropyGrad", {{lines}}, {lines}, {}, false, ", of the loss"}});
}

void AddElements(std::vector<Row>* rows) {
  const Shape small = {3, 67};
  for (const char* type : {"Relu", "Gelu", "Tanh", "Sigmoid", "Neg", "Scale", "Shift", "GatherGrad"})
    rows->push_back({type, {{small}}, {small}});
  for (const char* type : {"Add", "AddV2", "Sub", "Mul", "ReluGrad", "SigmoidGrad", "TanhGrad"})
    rows->push_back({type, {{small}, {small}}, {small}});
  rows->insert(rows->end(),
               {{"Add", {{{2, 5, 5, 3}}, {{2, 1, 1, 3}}}, {{2, 5, 5, 3}}, {}, false, ", broadcast"},
                {"Mul", {{{3}}, {{67, 3}}}, {{67, 3}}, {}, false, ", the smaller first"},
                {"BiasAdd", {{{5, 5}}, {{5}}}, {{5, 5}}},
                {"AddN", {{small}, {small}, {small}}, {small}},
                {"Dropout", {{small}}, {small, small}},
                {"Tile", {{{2, 3}}}, {{2, 5, 5, 3}}},
                {"BiasAddGrad", {{{67, 67}}}, {{67}}},
                {"BiasAddGrad", {{{3001, 3}}}, {{3}}, {}, false, ", in slices"},
                {"ReduceSum", {{small}}, {{3}}},
                {"ReduceSum", {{{10007}}}, {{1}}, {}, false, ", in slices"},
                {"Mean", {{{2, 5, 5, 3}}}, {{2, 3}}},
                {"MulSum", {{{5, 67}}, {{5, 67}}}, {{67}}},
                {"MulSum", {{{777, 33}}, {{777, 33}}}, {{33}}, {}, false, ", in slices"}});
}

void AddMovesAndUpdates(std::vector<Row>* rows) {
  const sim::Attributes axis = {{"axis", {std::int64_t{1}}}};
  const sim::Attributes window = Window(3, 2, "SAME");
  const Shape images = {2, 8, 8, 3}, pooled = {2, 4, 4, 3}, table = {11, 7}, weights = {13, 5};
  for (const char* type : {"ConcatV2", "Concat"})
    rows->push_back({type, {{{3, 2}}, {{3, 5}}}, {{3, 7}}, axis});
  rows->insert(rows->end(), {{"Pack", {{{1, 5}}, {{1, 5}}}, {{2, 5}}},
                             {"Split", {{{3, 7}}}, {{3, 2}, {3, 5}}, axis},
                             {"Unpack", {{{2, 5}}}, {{5}, {5}}},
                             {"Pad", {{{3, 5}}}, {{4, 7}}},
                             {"Slice", {{{4, 7}}}, {{3, 5}}},
                             {"MaxPool", {{images}}, {pooled}, window},
                             {"AvgPool", {{images}}, {pooled}, window},
                             {"MaxPoolGrad", {{images}, {pooled}, {pooled}}, {images}, window},
                             {"AvgPoolGrad", {{pooled}}, {images}, window}});
  for (const char* type : {"GatherV2", "Gather"}) rows->push_back({type, {{table}, {{5}, "i32"}}, {{5, 7}}});
  rows->push_back({"ScatterAdd", {{table, "f32", 0}, {{5}, "i32"}, {{5, 7}}}, {table}, {}, true});
  rows->insert(rows->end(), {{"ApplyGradientDescent", {{weights, "f32", 0}, {weights}}, {}},
                             {"ApplyMomentum", {{weights, "f32", 1}, {weights}}, {}},
                             {"ApplyAdam", {{weights, "f32", 2}, {weights}}, {}},
                             {"ApplyRMSProp", {{weights, "f32", 2}, {weights}}, {}}});
}

}  // namespace

std::vector<OpSample> OpSamples() {
  std::vector<Row> rows;
  AddConvolutions(&rows);
  AddProductsAndNorms(&rows);
  AddElements(&rows);
  AddMovesAndUpdates(&rows);
  std::vector<OpSample> samples;
  for (const Row& row : rows) samples.push_back(SampleOf(row));
  return samples;
}

Numbers SampleNumbers(sim::OpIndex number, const sim::Output& output, std::size_t words) {
  Numbers numbers(words);
  std::uint32_t state = 977U * static_cast<std::uint32_t>(number + 1);
  for (float& word : numbers) {
    state = state * 1664525U + 1013904223U;
    const auto whole = static_cast<std::int32_t>(state >> 16);
    word = static_cast<float>(state >> 8) * 0x1p-23F - 1.F;
    if (output.dtype == "i32") std::memcpy(&word, &whole, sizeof word);
  }
  return numbers;
}

}  // namespace stowplan::profiler::testing
