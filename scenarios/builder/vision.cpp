#include "scenarios/builder/vision.h"

namespace stowplan::scenarios {

Tensor ConvUnit(GraphBuilder& b, const std::string& name, Tensor x, const ConvSpec& spec) {
  const GraphBuilder::Scope scope(b, name);
  const std::int64_t inputs = b.shape(x)[3];
  const Tensor weights =
      b.Variable("weights", {spec.window.height, spec.window.width, inputs, spec.channels});
  Tensor y = Conv2D(b, "conv", x, weights, spec.window);
  if (spec.norm == Norm::kBias) {
    y = BiasAdd(b, "bias_add", y, b.Variable("bias", {spec.channels}));
  } else {
    y = BatchNorm(b, "batch_norm", y, spec.norm == Norm::kBatch);
  }
  return spec.relu ? Relu(b, "relu", y) : y;
}

Batch ImageBatch(GraphBuilder& b, std::int64_t images, std::int64_t size) {
  const Tensor pixels = b.Placeholder("images", {images, size, size, 3});
  return {pixels, b.Placeholder("labels", {images}, "i32")};
}

}  // namespace stowplan::scenarios
