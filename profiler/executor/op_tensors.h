// What the makers of kernels ask of an op's tensors, on whatever device: shapes, windows, matrices, parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/executor/shapes.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

// One op's tensors.
class OpTensors {
 public:
  OpTensors(const sim::OpGraph& graph, sim::OpIndex op)
      : graph_(graph), op_(graph.ops[static_cast<std::size_t>(op)]) {}
  const sim::Op& op() const { return op_; }
  std::size_t inputs() const { return op_.inputs.size(); }
  std::size_t outputs() const { return op_.outputs.size(); }
  const sim::Op& producer(std::size_t i) const {
    return graph_.ops[static_cast<std::size_t>(op_.inputs.at(i).op)];
  }
  const sim::Output& input(std::size_t i) const {
    return producer(i).outputs[static_cast<std::size_t>(op_.inputs.at(i).output)];
  }
  const sim::Output& output(std::size_t i) const { return op_.outputs.at(i); }
  const std::vector<std::int64_t>& in_shape(std::size_t i) const { return input(i).shape; }
  const std::vector<std::int64_t>& out_shape(std::size_t i) const { return output(i).shape; }

 private:
  const sim::OpGraph& graph_;
  const sim::Op& op_;
};

// Sources, and ops that rename what others computed.
bool DoesNothing(const OpTensors& tensors);
// The types of the latter.
const std::vector<std::string_view>& TypesThatDoNothing();

// Every tensor is of 4-byte numbers with a shape that fits its bytes: what the kernels are written for.
bool IsPlain(const OpTensors& tensors);

std::int64_t ElementsOf(const std::vector<std::int64_t>& shape);

// How the smaller of two tensors lies in the larger, by what the op's type says: a bias has the channels (the last axis,
// or the second where data_format is NCHW), arithmetic is broadcast from the last axis, a sum's or a mean's result lacks
// axes. Where equal sizes leave open which: of gradients of broadcasts the first, of images the two in the middle, else
// the last. False where what is lacking is not one piece.
bool FindSpread(const sim::Op& op, const std::vector<std::int64_t>& large,
                const std::vector<std::int64_t>& small, Spread* spread);

// Windows over images from the attributes kernel, strides and padding and from both shapes. False where attributes or
// shapes are missing or do not fit one another.
bool FindWindows(const sim::Op& op, const std::vector<std::int64_t>& large,
                 const std::vector<std::int64_t>& small, Windows* windows);

// Windows with a filter HWIO, whose last axis of a depthwise convolution counts results for each channel.
struct ConvolutionShape {
  Windows windows;
  bool depthwise = false;
  std::int64_t results = 0;  // channels of the results
};
std::optional<ConvolutionShape> FindConvolution(const sim::Op& op, const std::vector<std::int64_t>& images,
                                                const std::vector<std::int64_t>& filter,
                                                const std::vector<std::int64_t>& results);

// result[m, n] = a b, one of them perhaps transposed ('T', else 'N'), `count` times.
struct Product {
  std::int64_t count = 1, m = 0, n = 0, k = 0;
  char transpose_a = 'N', transpose_b = 'N';
};
// MatMul, forward and both gradients: all axes but the last are rows. Of a b, a bᵀ and aᵀ b the first whose
// sizes fit: equal sizes cost the same either way.
std::optional<Product> FindMatMul(const OpTensors& tensors);
// BatchMatMul: the first axes count products; of a tensor of two axes each row is one.
std::optional<Product> FindBatchMatMul(const OpTensors& tensors);

// How many words of each part stand together, and how often: the parts of a concatenation along an axis.
struct Parts {
  std::int64_t outer = 1;
  std::vector<std::int64_t> widths;
  std::int64_t total() const;
};
std::optional<Parts> FindJoin(const OpTensors& tensors);   // inputs into output 0
std::optional<Parts> FindSplit(const OpTensors& tensors);  // input 0 into outputs

// A stand-in's work: `products` products of square matrices of `side`, about as many FLOPs as the op's.
struct StandInWork {
  std::int64_t side = 0;
  std::int64_t products = 0;
};
StandInWork FindStandInWork(const sim::Op& op);

}  // namespace stowplan::profiler
