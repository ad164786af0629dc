#include "cost_models/models/tensor_law.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

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
constexpr double kLawShortDepth = 33, kLawPaddingPower = 0.67, kLawMisaligned = 0.92, kLawNarrowGroup = 29;
// Shares of the bandwidth.
constexpr double kLawOfContraction = 0.97, kLawOfDepthwise = 0.50, kLawPlain = 0.97, kLawFunction = 0.56,
                 kLawShortRow = 125;
constexpr double kLawSoftmax = 0.97, kLawReduction = 0.78, kLawWindows = 0.20, kLawMoved = 0.71;
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
  if (is_convolution && channels <= 4) return 1 / kLawStem;
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

double GradientFactor(const OpWork& work) {
  const Gradients& of = work.taps > 1 ? kLawOfWindows : kLawOfPoints;
  if (work.type.ends_with("BackpropInput")) return of.image;
  return work.type.ends_with("BackpropFilter") ? of.filter : 1;
}

double BandwidthShare(const OpWork& work) {
  switch (work.op_class) {
    case OpClass::kDepthwise:
      return kLawOfDepthwise;
    case OpClass::kElementwise:
      return IsOneOf(work.type, {"Gelu", "GeluGrad", "Swish", "SwishGrad", "Tanh", "TanhGrad", "Erf", "Mish"})
                 ? kLawFunction
                 : kLawPlain;
    case OpClass::kReduction:
      return work.type.find("Pool") != work.type.npos ? kLawWindows : kLawReduction;
    case OpClass::kNormalisation:
      if (work.family == "softmax") return kLawSoftmax;
      return work.type.starts_with("LayerNorm") || work.type.starts_with("RMSNorm")
                 ? kLawPlain / (1 + kLawShortRow / std::max(work.row, 1.0))
                 : kLawPlain;
    case OpClass::kDataMovement:
      return work.type == "Resize" ? kLawWindows : kLawMoved;
    case OpClass::kOptimizer:
      return kLawPlain;
    default:
      return kLawOfContraction;
  }
}

}  // namespace

std::optional<double> TensorLawMicros(const OpWork& work, const DeviceSheet& sheet) {
  if (sheet.peak_tf32 <= 0 || sheet.multiprocessors == 0 || work.op_class == OpClass::kNothing)
    return std::nullopt;
  // HBM reaches less of its sheet than the GDDR that taught the law; what moves f32 has tables of cards with it.
  if (!IsContraction(work.op_class) && work.dtype == "f32" && sheet.has_hbm) return std::nullopt;
  double arithmetic = 0;
  if (IsContraction(work.op_class)) {
    const std::string_view units = UnitsOf(TableFormatOf(work, sheet));
    if (!IsOneOf(units, {"f16", "bf16", "tf32", "f8", "f4", "i8"}) || work.steps > 1 || work.flops <= 0)
      return std::nullopt;
    if (work.op_class == OpClass::kDepthwise) {
      arithmetic = work.flops / (sheet.peak_f32 * kLawDepthwise) * 1e6;
    } else if (work.attention) {
      arithmetic = ArithmeticMicros(work, sheet) * PaddedTo(work.attention->keys, 64) / kLawAttention;
    } else if (work.product && work.op_class != OpClass::kRecurrentGemm) {
      arithmetic = ArithmeticMicros(work, sheet) * ProductFactor(work, *work.product);
    } else {
      return std::nullopt;
    }
  }
  const double memory =
      MemoryMicros(work, sheet) * (1 + work.read_again / std::max(work.bytes, 1.0)) / BandwidthShare(work);
  return std::max(
      {sheet.kernel_us, ColdMicros(work, sheet), Root(arithmetic, memory) * GradientFactor(work)});
}

}  // namespace stowplan::cost_models
