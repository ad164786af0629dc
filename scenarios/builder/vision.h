// What the convolutional workloads share.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/builder/layers.h"

namespace stowplan::scenarios {

enum class Norm : std::uint8_t {
  kBias,  // no normalisation: the convolution has a bias
  kBatchNoScale,
  kBatch,
};

// Convolution, normalisation (or bias) and, if `relu`, ReLU: 2 or 3 ops.
struct ConvSpec {
  std::int64_t channels;
  Window window;
  Norm norm = Norm::kBatch;
  bool relu = true;
};
Tensor ConvUnit(GraphBuilder& b, const std::string& name, Tensor x, const ConvSpec& spec);

// Blocks in a row, numbered as stages; inside a block parallel branches.
class Stages {
 public:
  explicit Stages(GraphBuilder& builder) : builder_(builder) {}
  void Next(std::string_view name) { builder_.SetLocation({++stage_, 0, std::string(name)}); }
  int count() const { return stage_ + 1; }

 private:
  GraphBuilder& builder_;
  int stage_ = -1;
};

struct Batch {
  Tensor images;  // [N, size, size, 3]
  Tensor labels;  // [N]
};
Batch ImageBatch(GraphBuilder& b, std::int64_t images, std::int64_t size);

}  // namespace stowplan::scenarios
