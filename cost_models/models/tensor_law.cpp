#include "cost_models/models/tensor_law.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "cost_models/models/alignment.h"
#include "cost_models/ops/number_formats.h"
#include "cost_models/ops/portable_math.h"
#include "cost_models/ops/roofline.h"
#include "cost_models/parameters/shape_families.h"

namespace stowplan::cost_models {
namespace {

// Shares of the peak. Above 1: the card runs above the clock of its sheet.
constexpr double kLawProduct = 1.25, kLawBatchedProduct = 0.65, kLawAttention = 0.42;
constexpr double kLawPointwise = 1.02, kLawConvolution = 1.12, kLawStem = 0.17, kLawGrouped = 0.88;
constexpr double kLawDepthwise = 0.36;  // of the peak of f32
// FLOP/us of a multiprocessor: what kLawStem is on the card that taught it.
constexpr double kLawStemRate = 0.147e6, kChannelsOfStem = 4;
constexpr double kLawShortDepth = 33, kLawPaddingPower = 0.67, kLawMisaligned = 0.92, kLawNarrowGroup = 29;
// Shares of the bandwidth, of HBM only in formats of 16 bits and less.
struct Shares {
  double gddr, hbm;

  double Of(const DeviceSheet& sheet) const { return sheet.has_hbm ? hbm : gddr; }
};
constexpr Shares kLawOfContraction = {0.97, 0.93}, kLawOfDepthwise = {0.50, 0.50}, kLawPlain = {0.97, 0.93},
                 kLawFunction = {0.56, 0.68}, kLawSoftmax = {0.97, 0.65}, kLawReduction = {0.78, 0.78},
                 kLawWindows = {0.20, 0.20}, kLawMoved = {0.71, 0.40}, kLawGathered = {0.71, 0.16};
constexpr Shares kLawLayerNorm = {0.97, 0.66}, kLawShortRow = {125, 530};
// Elements a us a multiprocessor, of rows that a block computes and no warp.
constexpr double kLawOfSoftmaxBlocks = 1300, kLongestRowOfWarp = 1024;
constexpr double kLawOfSums = 1.5;  // us: the sums of a layer norm, which wait for each other
constexpr double kLawPower = 8;
// Gradients of a convolution over its forward pass.
struct Gradients {
  double image, filter;
};
constexpr Gradients kLawOfWindows = {1.17, 1.06}, kLawOfPoints = {1.28, 1.16};

bool IsOneOf(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

double PaddedTo(double size, double multiple) {
  return std::ceil(size / multiple) * multiple / size;
}

double Root(double a, double b) {
  const double most = std::max(a, b);
  if (most <= 0) return 0;
  const double share = std::min(a, b) / most;
  return share <= 0
             ? most
             : most * PortableExp(PortableLog(1 + PortableExp(kLawPower * PortableLog(share))) / kLawPower);
}

double Powered(double x, double power) {
  return PortableExp(power * PortableLog(x));
}

// How much longer than flops / peak the arithmetic of a product of matrices takes.
double ProductFactor(const OpWork& work, const MatrixProduct& product) {
  const bool is_convolution = work.op_class != OpClass::kGemm;
  const double taps = is_convolution ? std::max(1.0, work.taps) : 1;
  const double channels = std::max(1.0, product.depth / taps);
  const bool is_pointwise = is_convolution && taps == 1;
  if (is_convolution && product.count > 1) return (1 + kLawNarrowGroup / channels) / kLawGrouped;
  if (is_convolution && channels <= kChannelsOfStem) return 1 / kLawStem;
  const double padding = PaddedTo(product.columns, 64) * PaddedTo(channels, 32) *
                         (product.count > 1 ? PaddedTo(product.rows, 64) : 1);
  const bool misaligned = std::fmod(product.columns, 8) != 0 || std::fmod(channels, 8) != 0;
  const double share = is_pointwise        ? kLawPointwise
                       : is_convolution    ? kLawConvolution
                       : product.count > 1 ? kLawBatchedProduct
                                           : kLawProduct;
  return (1 + kLawShortDepth / product.depth) * Powered(padding, kLawPaddingPower) / share /
         (misaligned ? kLawMisaligned : 1);
}

double ProductMicros(const OpWork& work, const DeviceSheet& sheet) {
  return ArithmeticMicros(work, sheet) * ProductFactor(work, *work.product);
}

double GradientFactor(const OpWork& work) {
  const Gradients& of = work.taps > 1 ? kLawOfWindows : kLawOfPoints;
  if (work.type.ends_with("BackpropInput")) return of.image;
  return work.type.ends_with("BackpropFilter") ? of.filter : 1;
}

bool IsLayerNorm(const OpWork& work) {
  return work.type.starts_with("LayerNorm") || work.type.starts_with("RMSNorm");
}

const Shares& BandwidthShares(const OpWork& work, const DeviceSheet& sheet) {
  switch (work.op_class) {
    case OpClass::kDepthwise:
      return kLawOfDepthwise;
    case OpClass::kElementwise:
      if (work.broadcasts && sheet.has_hbm) return kLawMoved;
      return IsOneOf(work.type, {"Gelu", "GeluGrad", "Swish", "SwishGrad", "Tanh", "TanhGrad", "Erf", "Mish"})
                 ? kLawFunction
                 : kLawPlain;
    case OpClass::kReduction:
      return work.type.find("Pool") != work.type.npos ? kLawWindows : kLawReduction;
    case OpClass::kNormalisation:
      if (work.family == "softmax") return kLawSoftmax;
      return IsLayerNorm(work) ? kLawLayerNorm : kLawPlain;
    case OpClass::kDataMovement:
      if (work.type.starts_with("Gather") || work.type == "EmbeddingBag") return kLawGathered;
      return work.type == "Resize" ? kLawWindows : kLawMoved;
    case OpClass::kOptimizer:
      return kLawPlain;
    default:
      return kLawOfContraction;
  }
}

double BandwidthShare(const OpWork& work, const DeviceSheet& sheet) {
  const double share = BandwidthShares(work, sheet).Of(sheet);
  return IsLayerNorm(work) ? share / (1 + kLawShortRow.Of(sheet) / std::max(work.row, 1.0)) : share;
}

// Of softmax two sums over a row, which wait for each other.
double BlockMicros(const OpWork& work, const DeviceSheet& sheet) {
  return work.family == "softmax" && work.row > kLongestRowOfWarp
             ? work.elements / (kLawOfSoftmaxBlocks * sheet.multiprocessors)
             : 0;
}

// Pixels of 3 channels are no vectors either: as with odd rows (alignment.h), the peak does not help.
double StemMicros(const OpWork& work, const DeviceSheet& sheet) {
  const bool is_stem = work.op_class == OpClass::kConvolution && work.product->count == 1 &&
                       work.product->depth <= kChannelsOfStem * std::max(1.0, work.taps);
  return is_stem ? work.flops / (kLawStemRate * sheet.multiprocessors) : 0;
}

// Of a product as given and padded. Nothing for what is no product of the law's.
std::optional<double> LawArithmeticMicros(const OpWork& given, const OpWork& work, const DeviceSheet& sheet) {
  const std::string_view units = UnitsOf(TableFormatOf(work, sheet));
  if (!IsOneOf(units, {"f16", "bf16", "tf32", "f8", "f4", "i8"}) || work.steps > 1 || work.flops <= 0)
    return std::nullopt;
  if (work.op_class == OpClass::kDepthwise) return work.flops / (sheet.peak_f32 * kLawDepthwise) * 1e6;
  if (work.attention)
    return ArithmeticMicros(work, sheet) * PaddedTo(work.attention->keys, 64) / kLawAttention;
  if (!work.product || work.op_class == OpClass::kRecurrentGemm) return std::nullopt;
  return std::max({ProductMicros(given, sheet), ProductMicros(work, sheet), UnalignedMicros(given, sheet),
                   StemMicros(work, sheet)});
}

}  // namespace

std::optional<double> TensorLawMicros(const OpWork& given, const DeviceSheet& sheet) {
  const OpWork work = PaddedToVectors(given);
  if (sheet.peak_tf32 <= 0 || sheet.multiprocessors == 0 || work.op_class == OpClass::kNothing)
    return std::nullopt;
  // HBM reaches less of its sheet than the GDDR that taught the law; what moves f32 has tables of cards with it.
  if (!IsContraction(work.op_class) && work.dtype == "f32" && sheet.has_hbm) return std::nullopt;
  std::optional<double> arithmetic = BlockMicros(work, sheet);
  if (IsContraction(work.op_class)) arithmetic = LawArithmeticMicros(given, work, sheet);
  if (!arithmetic) return std::nullopt;
  const double memory = MemoryMicros(work, sheet) * (1 + work.read_again / std::max(work.bytes, 1.0)) /
                        BandwidthShare(work, sheet);
  const double least = sheet.kernel_us + (IsLayerNorm(work) ? kLawOfSums : 0);
  return std::max({least, ColdMicros(work, sheet), Root(*arithmetic, memory) * GradientFactor(work)});
}

}  // namespace stowplan::cost_models
