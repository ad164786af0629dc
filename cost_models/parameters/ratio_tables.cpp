#include "cost_models/parameters/ratio_tables.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "cost_models/ops/portable_math.h"
#include "cost_models/ops/roofline.h"

namespace stowplan::cost_models {
namespace {

// Output tiles of the matrix kernels of vendors' libraries.
struct TileSize {
  double rows;
  double columns;
};
constexpr TileSize kTiles[] = {{128, 128}, {128, 64}, {64, 128}, {64, 64}, {128, 32}, {32, 128}, {32, 32}};

constexpr std::string_view kContraction[] = {"intensity",
                                             "depth",
                                             "rows",
                                             "columns",
                                             "count",
                                             "arithmetic_us",
                                             "fill_128x128",
                                             "wave_128x128",
                                             "waves_128x128",
                                             "fill_128x64",
                                             "wave_128x64",
                                             "waves_128x64",
                                             "fill_64x128",
                                             "wave_64x128",
                                             "waves_64x128",
                                             "fill_64x64",
                                             "wave_64x64",
                                             "waves_64x64",
                                             "fill_128x32",
                                             "wave_128x32",
                                             "waves_128x32",
                                             "fill_32x128",
                                             "wave_32x128",
                                             "waves_32x128",
                                             "fill_32x32",
                                             "wave_32x32",
                                             "waves_32x32",
                                             "depth_alignment",
                                             "columns_alignment",
                                             "depth_of_32",
                                             "columns_of_32"};
constexpr std::string_view kMemory[] = {"memory_us",     "bytes_each", "tensors", "row",
                                        "rows_per_unit", "row_of_4",   "function"};

double Log(double x) {
  return PortableLog(std::max(x, 1e-9));
}

// log2 of the largest power of two, at most 8, that divides it.
double Alignment(double size) {
  return std::fmod(size, 8) == 0 ? 3 : std::fmod(size, 4) == 0 ? 2 : std::fmod(size, 2) == 0 ? 1 : 0;
}

double IsMultiple(double size, double of) {
  return std::fmod(size, of) == 0 ? 1 : 0;
}

// Ops of graphs that rows (calibration/measured_rows.h) are of; "" is a row.
bool IsAmong(std::string_view type, std::initializer_list<std::string_view> measured) {
  return type.empty() || std::ranges::find(measured, type) != measured.end();
}

// What an element-wise op computes, from least to most: sums and the like, tanh and others, GELU, powers. Small ops do not
// hide it behind their bytes.
double FunctionOf(const OpWork& work) {
  if (work.type == "Pow") return 3;
  if (work.type == "Gelu" || work.type == "GeluGrad") return 2;
  return work.family == "transcendental" ? 1 : 0;
}

bool IsGradient(std::string_view type) {
  return type.find("Grad") != type.npos || type.find("Backprop") != type.npos || type == "ConvTranspose";
}

std::vector<double> ContractionFeatures(const OpWork& work, const DeviceSheet& sheet) {
  const MatrixProduct& product = *work.product;
  const double arithmetic = ArithmeticMicros(work, sheet);
  std::vector<double> features = {Log(arithmetic / MemoryMicros(work, sheet)),
                                  Log(product.depth),
                                  Log(product.rows),
                                  Log(product.columns),
                                  Log(work.positions > 0 ? work.positions : product.count),
                                  Log(arithmetic)};
  for (const TileSize& tile : kTiles) {
    const double tiles =
        product.count * std::ceil(product.rows / tile.rows) * std::ceil(product.columns / tile.columns);
    const double waves = tiles / sheet.multiprocessors;
    features.push_back(product.count * product.rows * product.columns / (tiles * tile.rows * tile.columns));
    features.push_back(waves / std::ceil(waves));
    features.push_back(Log(waves));
  }
  features.insert(features.end(), {Alignment(product.depth), Alignment(product.columns),
                                   IsMultiple(product.depth, 32), IsMultiple(product.columns, 32)});
  return features;
}

std::vector<double> MemoryFeatures(const OpWork& work, const DeviceSheet& sheet) {
  const double row = std::max(work.row, 1.0);
  const double elements = std::max(work.elements, 1.0);
  return {Log(MemoryMicros(work, sheet)),
          Log(work.bytes / sheet.multiprocessors),
          work.bytes / elements,
          Log(row),
          Log(elements / row / sheet.multiprocessors),
          IsMultiple(row, 4),
          FunctionOf(work)};
}

bool IsFamilyOfContractions(const OpWork& work) {
  return IsContraction(work.op_class);
}

}  // namespace

ShapeFamily ShapeFamilyOf(const OpWork& work) {
  switch (work.op_class) {
    case OpClass::kGemm:
      if (!work.product) return {};
      return {work.product->count > 1 ? "batched_gemm" : "gemm"};
    case OpClass::kConvolution:
      return {work.product ? "convolution" : "", IsGradient(work.type)};
    case OpClass::kElementwise:
      return {"elementwise", !IsAmong(work.type, {"Add", "AddV2", "Div", "Gelu", "Mul", "Pow", "RealDiv",
                                                  "Relu", "Scale", "Shift", "Tanh"})};
    case OpClass::kDataMovement:
    case OpClass::kOptimizer:
    case OpClass::kReduction:
      return {"elementwise", true};
    case OpClass::kNormalisation:
      if (work.family == "softmax") return {"softmax", !IsAmong(work.type, {"Softmax"})};
      return {"layer_norm", !IsAmong(work.type, {"LayerNorm", "LayerNormalization"})};
    default:
      return {};
  }
}

std::span<const std::string_view> ShapeFeatureNames(std::string_view family) {
  const bool contraction = family == "gemm" || family == "batched_gemm" || family == "convolution";
  return contraction ? std::span<const std::string_view>(kContraction)
                     : std::span<const std::string_view>(kMemory);
}

std::vector<double> ShapeFeatures(const OpWork& work, const DeviceSheet& sheet) {
  return IsFamilyOfContractions(work) ? ContractionFeatures(work, sheet) : MemoryFeatures(work, sheet);
}

double ArithmeticMicros(const OpWork& work, const DeviceSheet& sheet) {
  return work.flops / PeakOf(sheet, work.dtype, false) * 1e6;
}

double MemoryMicros(const OpWork& work, const DeviceSheet& sheet) {
  return work.bytes / sheet.memory_bandwidth * 1e6;
}

double BoundMicros(const OpWork& work, const DeviceSheet& sheet) {
  const double arithmetic = IsFamilyOfContractions(work) ? ArithmeticMicros(work, sheet) : 0;
  return sheet.kernel_us + std::max(arithmetic, MemoryMicros(work, sheet));
}

double LogRatio(const RatioTables& tables, std::span<const double> features) {
  std::int64_t sum = 0;
  for (const RatioStep& step : tables.steps) {
    unsigned answers = 0;
    for (const RatioStep::Question& question : step.questions) {
      const bool above = features[static_cast<std::size_t>(question.feature)] > question.above;
      answers = answers * 2 + (above ? 1 : 0);
    }
    sum += step.add[answers];
  }
  return tables.log_ratio + static_cast<double>(sum) * kRatioUnit;
}

double TablesMicros(const RatioTables& tables, const OpWork& work, const DeviceSheet& sheet) {
  return BoundMicros(work, sheet) * PortableExp(LogRatio(tables, ShapeFeatures(work, sheet)));
}

const RatioTables* FindTables(std::span<const RatioTables> tables, const OpWork& work) {
  const ShapeFamily family = ShapeFamilyOf(work);
  const auto found = std::ranges::find_if(tables, [&](const RatioTables& one) {
    return !family.name.empty() && one.family == family.name && one.dtype == work.dtype;
  });
  return found != tables.end() ? &*found : nullptr;
}

}  // namespace stowplan::cost_models
