#include "scenarios/builder/cells.h"

namespace stowplan::scenarios {

Tensor Pointwise(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t filters) {
  const GraphBuilder::Scope scope(b, name);
  x = Relu(b, "relu", x);
  return ConvUnit(b, "conv", x, {.channels = filters, .window = {}, .relu = false});
}

Tensor Separable(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t kernel,
                 std::int64_t filters, std::int64_t stride) {
  const GraphBuilder::Scope scope(b, name);
  for (const char* half : {"first", "second"}) {
    const GraphBuilder::Scope inner(b, half);
    x = Relu(b, "relu", x);
    const Tensor weights = b.Variable("depthwise_weights", {kernel, kernel, b.shape(x)[3], 1});
    x = DepthwiseConv2D(b, "depthwise", x, weights, {kernel, kernel, stride});
    x = ConvUnit(b, "pointwise", x, {.channels = filters, .window = {}, .relu = false});
    stride = 1;
  }
  return x;
}

Tensor FactorizedReduction(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t filters) {
  const GraphBuilder::Scope scope(b, name);
  const auto half = [&](const std::string& path, Tensor from, std::int64_t channels) {
    const GraphBuilder::Scope inner(b, path);
    const Tensor sampled = AvgPool(b, "pool", from, {1, 1, 2, false});
    const Tensor weights = b.Variable("weights", {1, 1, b.shape(sampled)[3], channels});
    return Conv2D(b, "conv", sampled, weights, {});
  };
  x = Relu(b, "relu", x);
  const Tensor even = half("path0", x, filters / 2);
  const Shape image = b.shape(x);
  const Tensor padded = Pad(b, "pad", x, {image[0], image[1] + 1, image[2] + 1, image[3]});
  const Tensor shifted = Slice(b, "shift", padded, image);
  const Tensor odd = half("path1", shifted, filters - filters / 2);
  return BatchNorm(b, "batch_norm", Concat(b, "concat", {even, odd}, 3), true);
}

Tensor Widen(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t filters) {
  if (b.shape(x)[3] == filters) return x;
  return ConvUnit(b, name, x, {.channels = filters, .window = {}, .relu = false});
}

Tensor Adjust(GraphBuilder& b, Tensor previous, Tensor x, std::int64_t filters) {
  if (previous.op < 0) return x;
  if (b.shape(previous)[1] != b.shape(x)[1]) return FactorizedReduction(b, "adjust", previous, filters);
  if (b.shape(previous)[3] == filters) return previous;
  return Pointwise(b, "adjust", previous, filters);
}

namespace {

// The two last cells.
struct Pair {
  Tensor x;
  Tensor previous;
  void Advance(Tensor next) {
    previous = x;
    x = next;
  }
};

}  // namespace

Tensor StackCells(GraphBuilder& b, Stages& stages, const CellSkeleton& skeleton, Tensor images,
                  const Cell& normal, const Cell& reduction) {
  const auto add = [&](const std::string& name, const Cell& cell, const Pair& last, std::int64_t filters) {
    stages.Next(name);
    const GraphBuilder::Scope scope(b, name);
    return cell(last.x, last.previous, filters);
  };
  stages.Next("stem");
  const Window first = skeleton.stem_cells ? Window{3, 3, 2, false} : Window{3, 3};
  Pair last;
  last.x = ConvUnit(b, "stem", images, {.channels = skeleton.stem, .window = first, .relu = false});
  if (skeleton.stem_cells) {
    last.Advance(add("stem_cell0", reduction, last, skeleton.filters / 4));
    last.Advance(add("stem_cell1", reduction, last, skeleton.filters / 2));
  }
  std::int64_t filters = skeleton.filters;
  int cells = 0;
  for (int group = 0; group < 3; ++group) {
    if (group > 0) {
      filters *= 2;
      const Tensor before = last.previous;
      last.Advance(add("reduction" + std::to_string(group - 1), reduction, last, filters));
      if (skeleton.skip_reduction) last.previous = before;
    }
    for (int cell = 0; cell < skeleton.cells_per_group; ++cell)
      last.Advance(add("cell" + std::to_string(cells++), normal, last, filters));
  }
  return last.x;
}

void ClassifyCells(GraphBuilder& b, Stages& stages, Tensor x, std::int64_t classes, Tensor labels) {
  stages.Next("head");
  x = SpatialMean(b, "pool", Relu(b, "relu", x));
  x = Dropout(b, "dropout", x);
  Predict(b, "loss", Dense(b, "logits", x, classes), labels);
}

}  // namespace stowplan::scenarios
