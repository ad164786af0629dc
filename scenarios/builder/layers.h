// Typed ops for the builder: shapes and FLOPs worked out from the inputs. Each call adds one op (those that
// add more say so). Images are NHWC, convolution weights HWIO, matrices row-major with the batch first.
#pragma once

#include <string>
#include <vector>

#include "scenarios/builder/graph_builder.h"

namespace stowplan::scenarios {

// [..., k] x [k, n] -> [..., n]. `recurrent` marks the product of a recurrent cell: frameworks run it at
// another rate than a large one.
Tensor MatMul(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights, bool recurrent = false);
// [..., k] x [n, k] -> [..., n]: with a table that rows are looked up in as well (tied weights).
Tensor MatMulTransposed(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights);
// A product of batches of matrices or vectors, as an equation says ("bs,bsn->bn"); `contracted` = the length
// summed over.
Tensor BatchMatMul(GraphBuilder& b, const std::string& name, Tensor x, Tensor y, const std::string& equation,
                   const Shape& result, std::int64_t contracted);
Tensor BiasAdd(GraphBuilder& b, const std::string& name, Tensor x, Tensor bias);  // in place where it may be

// Element-wise, one input.
Tensor Relu(GraphBuilder& b, const std::string& name, Tensor x);  // in place where it may be
Tensor Sigmoid(GraphBuilder& b, const std::string& name, Tensor x);
Tensor Tanh(GraphBuilder& b, const std::string& name, Tensor x);
Tensor Softmax(GraphBuilder& b, const std::string& name, Tensor x);
Tensor Erf(GraphBuilder& b, const std::string& name, Tensor x);
Tensor Swish(GraphBuilder& b, const std::string& name, Tensor x);  // x * sigmoid(x)
// Times a number, and a number more; in place where they may be.
Tensor Scale(GraphBuilder& b, const std::string& name, Tensor x);
Tensor Shift(GraphBuilder& b, const std::string& name, Tensor x);
// Training: keeps a mask of numbers beside its output. Inference: no op, returns x.
Tensor Dropout(GraphBuilder& b, const std::string& name, Tensor x);

// Element-wise, two inputs; the shape is that of the one with more elements, the other is broadcast.
Tensor Add(GraphBuilder& b, const std::string& name, Tensor x, Tensor y);
Tensor Mul(GraphBuilder& b, const std::string& name, Tensor x, Tensor y);
Tensor Sub(GraphBuilder& b, const std::string& name, Tensor x, Tensor y);         // of one shape
Tensor AddMask(GraphBuilder& b, const std::string& name, Tensor x, Tensor mask);  // in place where it may be

// Moving and shaping.
Tensor Concat(GraphBuilder& b, const std::string& name, const std::vector<Tensor>& parts, int axis);
std::vector<Tensor> Split(GraphBuilder& b, const std::string& name, Tensor x, int axis, std::int64_t parts);
// [..] x T -> [.., T at `axis`, ..]
Tensor Pack(GraphBuilder& b, const std::string& name, const std::vector<Tensor>& parts, int axis);
// With zeros to a larger shape, and a part of a smaller one.
Tensor Pad(GraphBuilder& b, const std::string& name, Tensor x, const Shape& shape);
Tensor Slice(GraphBuilder& b, const std::string& name, Tensor x, const Shape& shape);
Tensor Reshape(GraphBuilder& b, const std::string& name, Tensor x, const Shape& shape);  // a view
// Axis i of the result is axis permutation[i] of x.
Tensor Transpose(GraphBuilder& b, const std::string& name, Tensor x, const std::vector<int>& permutation);
Tensor Gather(GraphBuilder& b, const std::string& name, Tensor table, Tensor ids);  // rows of [V, n]
Tensor Sum(GraphBuilder& b, const std::string& name, Tensor x, int axis);
Tensor SpatialMean(GraphBuilder& b, const std::string& name, Tensor x);  // NHWC -> NC

// Training: softmax cross-entropy of [B, C] logits, minimised; returns the loss [B]. Inference: the softmax.
Tensor Predict(GraphBuilder& b, const std::string& name, Tensor logits, Tensor labels);

// Convolution and pooling.
struct Window {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t stride = 1;
  bool same = true;           // padding: SAME, else VALID
  std::int64_t dilation = 1;  // from one element of the kernel to the next
};
Tensor Conv2D(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights, const Window& window);
// `weights`: [kh, kw, channels, 1]
Tensor DepthwiseConv2D(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights,
                       const Window& window);
Tensor MaxPool(GraphBuilder& b, const std::string& name, Tensor x, const Window& window);
Tensor AvgPool(GraphBuilder& b, const std::string& name, Tensor x, const Window& window);

// Adds the variables beta and, if `scale`, gamma, and the op. Statistics that are kept over steps are not
// modelled.
Tensor BatchNorm(GraphBuilder& b, const std::string& name, Tensor x, bool scale);

// Over the last axis. Add the variables gamma and, for LayerNorm, beta, and the op.
Tensor LayerNorm(GraphBuilder& b, const std::string& name, Tensor x);
Tensor RmsNorm(GraphBuilder& b, const std::string& name, Tensor x);

// Adds weights [k, n], bias [n], the product and the bias-add.
Tensor Dense(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t units);
// Adds weights [k, n] and the product.
Tensor DenseWithoutBias(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t units);

}  // namespace stowplan::scenarios
