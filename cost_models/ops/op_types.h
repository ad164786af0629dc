// The table of op types behind ClassOf: class, how much of its tensors a type touches, and whether its output
// is a matrix product whose tile grid is known. Rows in op_types.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cost_models/cost_models.h"

namespace stowplan::cost_models {

// How the output of a contraction is cut into tiles.
enum class Grid : std::uint8_t {
  kNone,     // not a matrix product, or its rows cannot be told from its tensors
  kMatrix,   // all dimensions but the last are rows: a matrix, an image in NHWC, a filter
  kBatched,  // the last two dimensions are a matrix, the ones before count products
};

// Which bytes an op moves.
enum class Access : std::uint8_t {
  kAll,       // every input is read, every output written
  kSelected,  // only as much of the inputs is read as is written: slices, gathers
  kUpdate,    // an optimizer's update: `words` for each word of the gradient
  kRows,      // of the first input one row for each element of the second: bags of embeddings
  kInto,      // into its first input, in place: what the others bring; else as kAll
  kExperts,   // of the weights of experts, the second input, those that some token goes to
};

struct OpType {
  std::string_view type;
  OpClass op_class;
  Grid grid = Grid::kNone;
  Access access = Access::kAll;
  int words = 0;  // kUpdate: words read and written for each word of the gradient, itself included
};

// The backward pass of a convolution as PyTorch dispatches it, one op of up to two products; KernelsOf() (op_work.h).
inline constexpr std::string_view kConvolutionBackward = "ConvBackward";
// Rows of tokens [rows, depth], sorted by expert, each times the matrix of its expert [experts, depth, columns]; or a gradient of
// that.
inline constexpr std::string_view kGroupedProduct = "GroupedMatMul";

std::span<const OpType> OpTypes();
const OpType* FindOpType(std::string_view type);  // null if unknown

// That of an op of this row: recurrent and dilated ops have classes of their own.
OpClass ClassOf(const sim::Op& op, const OpType& row);

// Finer than the op class, since a CPU's arithmetic does not hide behind its memory: "transcendental", "pooling",
// "softmax"; what is neither is called as its class is, and recurrent products are "gemm".
std::string_view FamilyOf(std::string_view op_type, OpClass op_class);

}  // namespace stowplan::cost_models
