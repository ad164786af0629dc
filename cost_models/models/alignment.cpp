#include "cost_models/models/alignment.h"

#include <cmath>

#include "cost_models/ops/number_formats.h"

namespace stowplan::cost_models {
namespace {

constexpr double kVector = 8;              // elements of 16 bytes
constexpr double kUnalignedRate = 0.47e6;  // FLOP/us of a multiprocessor

bool IsProductOf16Bits(const OpWork& work) {
  const std::string_view units = UnitsOf(work.dtype);
  return work.op_class == OpClass::kGemm && work.product && !work.attention && !work.experts &&
         (units == "f16" || units == "bf16");
}

// Depths follow from flops: where a graph counts more than the product, they are no whole numbers and say nothing.
bool IsOdd(double size) {
  return std::fmod(size, 2) == 1;
}

double WholeVectors(double size) {
  return std::fmod(size, 1) == 0 ? std::ceil(size / kVector) * kVector : size;
}

double ElementsOf(const MatrixProduct& of) {
  return of.count * (of.rows * of.depth + of.depth * of.columns + of.rows * of.columns);
}

}  // namespace

OpWork PaddedToVectors(const OpWork& work) {
  OpWork padded = work;
  if (!IsProductOf16Bits(work)) return padded;
  MatrixProduct& product = *padded.product;
  product.columns = WholeVectors(product.columns);
  product.depth = WholeVectors(product.depth);
  padded.flops *= product.columns / work.product->columns * product.depth / work.product->depth;
  padded.bytes *= ElementsOf(product) / ElementsOf(*work.product);
  return padded;
}

double UnalignedMicros(const OpWork& work, const DeviceSheet& sheet) {
  if (!IsProductOf16Bits(work)) return 0;
  const MatrixProduct& of = *work.product;
  const bool odd_depth = IsOdd(of.depth) && (of.count > 1 || IsOdd(of.rows));
  if (!IsOdd(of.columns) && !odd_depth) return 0;
  return sheet.kernel_us + work.flops / (kUnalignedRate * sheet.multiprocessors);
}

}  // namespace stowplan::cost_models
