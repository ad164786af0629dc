#include "cost_models/parameters/shape_families.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "cost_models/ops/number_formats.h"
#include "cost_models/ops/portable_math.h"
#include "cost_models/ops/roofline.h"

namespace stowplan::cost_models {
namespace {

// Output tiles of the matrix kernels of vendors' libraries.
struct TileSize {
  double rows;
  double columns;
};
constexpr TileSize kTiles[] = {{128, 256}, {128, 128}, {128, 64}, {64, 128},
                               {64, 64},   {128, 32},  {32, 128}, {32, 32}};

constexpr std::string_view kContraction[] = {"intensity",
                                             "memory_us",
                                             "of_cache",
                                             "depth",
                                             "rows",
                                             "columns",
                                             "count",
                                             "arithmetic_us",
                                             "fill_128x256",
                                             "wave_128x256",
                                             "waves_128x256",
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

// Bytes of a number of the weights, or of the keys and values.
double WeightBytesOf(std::string_view format) {
  const auto* found = std::ranges::find(kNumberFormats, format, &NumberFormat::name);
  return found != std::end(kNumberFormats) ? found->weight_bytes : 4;
}

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

void DescribeContraction(const OpWork& work, const DeviceSheet& sheet, std::vector<double>* out) {
  const MatrixProduct& product = *work.product;
  const double arithmetic = ArithmeticMicros(work, sheet);
  std::vector<double>& features = *out;
  features = {Log(arithmetic / MemoryMicros(work, sheet)),
              Log(MemoryMicros(work, sheet)),
              Log(work.bytes / std::max(sheet.last_cache, 1e6)),
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
}

void DescribeRows(const OpWork& work, const DeviceSheet& sheet, std::vector<double>* features) {
  const double row = std::max(work.row, 1.0);
  const double elements = std::max(work.elements, 1.0);
  *features = {Log(MemoryMicros(work, sheet)),
               Log(work.bytes / sheet.multiprocessors),
               work.bytes / elements,
               Log(row),
               Log(elements / row / sheet.multiprocessors),
               IsMultiple(row, 4),
               FunctionOf(work)};
}

// ---- attention

constexpr std::string_view kAttention[] = {
    "batch",    "queries",      "keys",           "heads",         "key_heads",      "heads_a_key",
    "size",     "window_share", "causal",         "arithmetic_us", "memory_us",      "intensity",
    "scores",   "blocks_64",    "fill_64",        "blocks_128",    "fill_128",       "blocks_256",
    "fill_256", "packed_64",    "packed_fill_64", "packed_128",    "packed_use_128", "splits",
    "chain",    "packed_keys",  "tile_use",       "tiles",         "keys_us",        "sequence"};
constexpr double kTile = 128;  // queries and keys of a tile of scores
// Fewer queries a sequence leave the keys to be read, in as many splits as fill the machine.
constexpr double kQueriesOfDecode = 16;

// How many parts keys are cut into where few blocks of queries leave multiprocessors idle: the fewest that fill nearly as well
// as any (as FlashAttention does).
double SplitsOf(double blocks, double tiles_of_keys, double multiprocessors) {
  constexpr double kEnough = 0.8, kNearly = 0.85, kMost = 128;
  if (blocks >= kEnough * multiprocessors) return 1;
  const double most = std::min({kMost, multiprocessors, tiles_of_keys});
  const auto fill = [&](double splits) {
    const double waves = blocks * splits / multiprocessors;
    const bool smaller =
        splits == 1 || std::ceil(tiles_of_keys / splits) != std::ceil(tiles_of_keys / (splits - 1));
    return smaller ? waves / std::ceil(waves) : 0;
  };
  double best = 0;
  for (double splits = 1; splits <= most; ++splits) best = std::max(best, fill(splits));
  for (double splits = 1; splits <= most; ++splits)
    if (fill(splits) >= kNearly * best) return splits;
  return 1;
}

// Tiles of scores that hold a pair that counts, of one head of one sequence.
double TilesOf(const AttentionShape& of) {
  if (!of.is_causal)
    return std::ceil(of.queries / kTile) *
           std::ceil((of.window > 0 ? std::min(of.window, of.keys) : of.keys) / kTile);
  double tiles = 0;
  const double before = of.keys - of.queries;
  for (double first = 0; first < of.queries; first += kTile) {
    const double last = std::min(of.queries, first + kTile);
    const double least = of.window > 0 ? std::max(0.0, before + first + 1 - of.window) : 0;
    tiles += std::ceil((before + last) / kTile) - std::floor(least / kTile);
  }
  return tiles;
}

void DescribeAttention(const OpWork& work, const DeviceSheet& sheet, std::vector<double>* out) {
  const AttentionShape& of = *work.attention;
  const double machine = sheet.multiprocessors;
  const double arithmetic = ArithmeticMicros(work, sheet), memory = MemoryMicros(work, sheet);
  const double pairs = of.Pairs(), group = of.heads / of.key_heads;
  const double keys = of.ElementsOfKeys() / (of.batch * of.key_heads * (of.size + of.value_size));
  std::vector<double>& features = *out;
  features = {Log(of.batch),
              Log(of.queries),
              Log(keys),
              Log(of.heads),
              Log(of.key_heads),
              Log(group),
              Log(of.size),
              of.window > 0 ? Log(of.keys / of.window) : -9,
              of.is_causal ? 1.0 : 0.0,
              Log(arithmetic),
              Log(memory),
              Log(arithmetic / memory),
              Log(of.batch * of.heads * pairs / machine)};
  for (const double rows : {64.0, 128.0, 256.0}) {
    const double waves = std::ceil(of.queries / rows) * of.batch * of.heads / machine;
    features.insert(features.end(), {Log(waves), waves / std::ceil(waves)});
  }
  // Queries that share a key packed into one block.
  const double packed = of.queries * group;
  const double blocks_64 = std::ceil(packed / 64) * of.batch * of.key_heads,
               rows_128 = std::ceil(packed / 128);
  const double tiles_of_keys = std::ceil(keys / kTile), tiles = TilesOf(of);
  const double splits = packed <= 64 ? SplitsOf(blocks_64, tiles_of_keys, machine) : 1;
  features.insert(features.end(),
                  {Log(blocks_64 / machine), blocks_64 / machine / std::ceil(blocks_64 / machine),
                   Log(rows_128 * of.batch * of.key_heads / machine), packed / (rows_128 * 128), Log(splits),
                   Log(std::ceil(blocks_64 * splits / machine) * std::ceil(tiles_of_keys / splits)),
                   Log(rows_128 * of.batch * of.key_heads * tiles_of_keys / machine),
                   pairs / (tiles * kTile * kTile), Log(tiles * of.batch * of.heads / machine),
                   Log(of.ElementsOfKeys() * WeightBytesOf(work.dtype) / sheet.memory_bandwidth * 1e6),
                   Log(keys * of.size)});
}

// ---- experts

constexpr std::string_view kExperts[] = {
    "intensity", "arithmetic_us", "memory_us", "rows",    "rows_an_expert", "rows_a_reached", "experts",
    "depth",     "columns",       "skew",      "choices", "share",          "tokens"};

void DescribeExperts(const OpWork& work, const DeviceSheet& sheet, std::vector<double>* features) {
  const Experts& of = *work.experts;
  const double arithmetic = ArithmeticMicros(work, sheet), memory = MemoryMicros(work, sheet);
  *features = {Log(arithmetic / memory),
               Log(arithmetic),
               Log(memory),
               Log(of.rows),
               Log(of.rows / of.experts),
               Log(of.rows / std::max(1.0, of.Reached())),
               Log(of.experts),
               Log(work.product->depth),
               Log(work.product->columns),
               of.skew,
               of.choices,
               Log(of.experts / of.all_experts),
               Log(of.rows / of.choices * of.all_experts / of.experts)};
}

// ---- layers of recurrent cells

constexpr std::string_view kRecurrent[] = {"intensity", "arithmetic_us", "memory_us", "rows",
                                           "units",     "steps",         "gradient"};

void DescribeRecurrent(const OpWork& work, const DeviceSheet& sheet, std::vector<double>* features) {
  const double arithmetic = ArithmeticMicros(work, sheet) / work.steps,
               memory = MemoryMicros(work, sheet) / work.steps;
  *features = {Log(arithmetic / memory),
               Log(arithmetic),
               Log(memory),
               Log(work.product->rows),
               Log(work.product->columns),
               Log(work.steps),
               IsGradient(work.type) ? 1.0 : 0.0};
}

constexpr FamilyOfShapes kFamilies[] = {
    {"gemm", kContraction, DescribeContraction},
    {"batched_gemm", kContraction, DescribeContraction},
    {"convolution", kContraction, DescribeContraction},
    {"convolution_image", kContraction, DescribeContraction},
    {"convolution_filter", kContraction, DescribeContraction},
    {"attention", kAttention, DescribeAttention},
    {"decode", kAttention, DescribeAttention},
    {"experts", kExperts, DescribeExperts},
    {"recurrent", kRecurrent, DescribeRecurrent},
    {"recurrent_filter", kContraction, DescribeContraction},
    {"elementwise", kMemory, DescribeRows},
    {"softmax", kMemory, DescribeRows},
    {"layer_norm", kMemory, DescribeRows},
};

}  // namespace

std::span<const FamilyOfShapes> FamiliesOfShapes() {
  return kFamilies;
}

const FamilyOfShapes* FamilyNamed(std::string_view name) {
  const auto* found = std::ranges::find(kFamilies, name, &FamilyOfShapes::name);
  return found != std::end(kFamilies) ? found : nullptr;
}

ShapeFamily ShapeFamilyOf(const OpWork& work) {
  const auto of = [](std::string_view name, bool borrowed = false) {
    return ShapeFamily{FamilyNamed(name), borrowed};
  };
  switch (work.op_class) {
    case OpClass::kGemm:
      if (work.attention)
        return of(work.attention->queries < kQueriesOfDecode ? "decode" : "attention",
                  work.type != "Attention");
      if (work.experts && work.product) return of("experts", !work.type.empty());
      if (!work.product) return {};
      return of(work.product->count > 1 ? "batched_gemm" : "gemm");
    case OpClass::kConvolution:
      if (!work.product) return {};
      if (work.type.ends_with("BackpropInput")) return of("convolution_image");
      if (work.type.ends_with("BackpropFilter")) return of("convolution_filter");
      return of("convolution", IsGradient(work.type));
    case OpClass::kRecurrentGemm:
      if (!work.type.starts_with("LSTM") || !work.product) return {};
      return of(work.type == "LSTMWeights" ? "recurrent_filter" : "recurrent");
    case OpClass::kElementwise:
      return of("elementwise", !IsAmong(work.type, {"Add", "AddV2", "Div", "Gelu", "Mul", "Pow", "RealDiv",
                                                    "Relu", "Scale", "Shift", "Tanh"}));
    case OpClass::kDataMovement:
    case OpClass::kOptimizer:
    case OpClass::kReduction:
      return of("elementwise", true);
    case OpClass::kNormalisation:
      if (work.family == "softmax") return of("softmax", !IsAmong(work.type, {"Softmax"}));
      return of("layer_norm", !IsAmong(work.type, {"LayerNorm", "LayerNormalization"}));
    default:
      return {};
  }
}

std::vector<double> ShapeFeatures(const OpWork& work, const DeviceSheet& sheet) {
  std::vector<double> features;
  ShapeFamilyOf(work).family->describe(work, sheet, &features);
  return features;
}

double ArithmeticMicros(const OpWork& work, const DeviceSheet& sheet) {
  return work.flops / PeakOf(sheet, work.dtype, TableFormatOf(work, sheet) == "tf32") * 1e6;
}

double MemoryMicros(const OpWork& work, const DeviceSheet& sheet) {
  return work.bytes / sheet.memory_bandwidth * 1e6;
}

double BoundMicros(const OpWork& work, const DeviceSheet& sheet, double kernel_us) {
  const double arithmetic = IsContraction(work.op_class) ? ArithmeticMicros(work, sheet) : 0;
  return kernel_us * work.steps + std::max(arithmetic, MemoryMicros(work, sheet));
}

double ColdMicros(const OpWork& work, const DeviceSheet& sheet) {
  constexpr double kShare = 0.8;
  if (!work.product || work.op_class != OpClass::kGemm || work.experts) return 0;
  const double weights =
      work.product->count * work.product->depth * work.product->columns * WeightBytesOf(work.dtype);
  return sheet.kernel_us + weights / (kShare * sheet.memory_bandwidth) * 1e6;
}

std::string_view TableFormatOf(const OpWork& work, const DeviceSheet& sheet) {
  const bool could = work.dtype == "f32" && sheet.peak_tf32 > 0 && IsContraction(work.op_class);
  const bool rounded = could && work.tf32.value_or(Convolutions()[static_cast<std::size_t>(work.op_class)]);
  return rounded ? "tf32" : work.dtype;
}

}  // namespace stowplan::cost_models
