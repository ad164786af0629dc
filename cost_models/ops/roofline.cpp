#include "cost_models/ops/roofline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "cost_models/ops/number_formats.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

// A contraction may be split along its depth so that more multiprocessors have a tile; the parts are then
// added.
constexpr double kSplits[] = {1, 2, 4, 8, 16, 32};
// A tile's loop over the depth costs at least this many steps, however short the depth.
constexpr double kLeastDepth = 32;
// Parts of a split contraction are written and read once, in f32.
constexpr double kBytesPerPart = 8;

double EfficiencyOf(const ClassEfficiency& efficiency, OpClass op_class) {
  return efficiency[static_cast<std::size_t>(op_class)];
}

// Rates in units of 1/us.
struct Rates {
  double flops = 0;
  double bytes = 0;
};

Rates RatesOf(const OpWork& work, const DeviceSheet& sheet, const ClassEfficiency& efficiency,
              const Tf32Classes& tf32) {
  // The other side of the roof: contractions stream their tensors like element-wise ops do, and the rare
  // flops of a memory-bound class run like a GEMM.
  const bool contraction = IsContraction(work.op_class);
  const OpClass arithmetic = contraction ? work.op_class : OpClass::kGemm;
  const OpClass memory = contraction ? OpClass::kElementwise : work.op_class;
  const bool rounded = work.tf32.value_or(tf32[static_cast<std::size_t>(arithmetic)]);
  return {PeakOf(sheet, work.dtype, rounded) * EfficiencyOf(efficiency, arithmetic) * 1e-6,
          sheet.memory_bandwidth * EfficiencyOf(efficiency, memory) * 1e-6};
}

// The fastest way to cut the products into tiles and splits. Each way is monotone in rows, columns and depth,
// so the fastest one is too.
double WavesMicros(const MatrixProduct& product, const Rates& rates, int multiprocessors,
                   const std::vector<Tile>& tiles) {
  double best = INFINITY;
  for (const Tile& tile : tiles) {
    const double grid =
        product.count * std::ceil(product.rows / tile.rows) * std::ceil(product.columns / tile.columns);
    const double rate = rates.flops * tile.share / multiprocessors;  // of one multiprocessor
    for (const double split : kSplits) {
      const double waves = std::ceil(grid * split / multiprocessors);
      const double depth = std::max(product.depth / split, kLeastDepth);
      const double parts =
          split > 1 ? split * product.count * product.rows * product.columns * kBytesPerPart : 0;
      best = std::min(best, waves * 2 * tile.rows * tile.columns * depth / rate + parts / rates.bytes);
    }
  }
  return best;
}

double AcceleratorMicros(const OpWork& work, const DeviceSheet& sheet, const Rates& rates,
                         const std::vector<Tile>& tiles, bool waves) {
  const double memory = work.bytes / rates.bytes + sheet.ramp_us;
  if (work.flops <= 0) return sheet.kernel_us + memory;
  const double arithmetic = waves && work.product && sheet.multiprocessors > 0
                                ? WavesMicros(*work.product, rates, sheet.multiprocessors, tiles)
                                : work.flops / rates.flops + sheet.ramp_us;
  return sheet.kernel_us + std::max(arithmetic, memory);
}

double CpuMicros(const OpWork& work, const DeviceSheet& sheet, const Rates& rates) {
  const double core_bytes = rates.bytes * (sheet.core_bandwidth / sheet.memory_bandwidth);
  const double one_core = std::max(work.flops * sheet.cores / rates.flops, work.bytes / core_bytes);
  const double all_cores = std::max(work.flops / rates.flops, work.bytes / rates.bytes) + sheet.ramp_us;
  return sheet.kernel_us + std::min(one_core, all_cores);
}

}  // namespace

double PeakOf(const DeviceSheet& sheet, std::string_view dtype, bool tf32) {
  const std::string_view units = UnitsOf(dtype);
  const double f8 = sheet.peak_f8 > 0 ? sheet.peak_f8 : sheet.peak_f16;
  const std::pair<std::string_view, double> peaks[] = {
      {"bf16", sheet.peak_bf16 > 0 ? sheet.peak_bf16 : sheet.peak_f16},
      {"f16", sheet.peak_f16},
      {"f8", f8},
      {"f4", sheet.peak_f4 > 0 ? sheet.peak_f4 : f8},
      {"i8", sheet.peak_i8 > 0 ? sheet.peak_i8 : sheet.peak_f16},
      {"u8", sheet.peak_i8 > 0 ? sheet.peak_i8 : sheet.peak_f16},
      {"f64", sheet.peak_f64}};
  const auto* found = std::ranges::find(peaks, units, [](const auto& one) { return one.first; });
  if (found != std::end(peaks) && found->second > 0) return found->second;
  return tf32 && sheet.peak_tf32 > 0 ? sheet.peak_tf32 : sheet.peak_f32;
}

ClassEfficiency DefaultEfficiency(const Catalogue& catalogue, sim::DeviceClass device_class) {
  ClassEfficiency efficiency{};
  for (int i = 0; i < kOpClasses; ++i) {
    efficiency[static_cast<std::size_t>(i)] = catalogue.Efficiency(static_cast<OpClass>(i), device_class);
  }
  return efficiency;
}

double RooflineMicros(const OpWork& work, const DeviceSheet& sheet, const ClassEfficiency& efficiency,
                      const std::vector<Tile>& tiles, const RooflineOptions& options) {
  STOWPLAN_CHECK(sheet.HasRates());
  if (work.op_class == OpClass::kNothing) return 0;
  const Rates rates = RatesOf(work, sheet, efficiency, options.tf32);
  return sheet.cores > 0 ? CpuMicros(work, sheet, rates)
                         : AcceleratorMicros(work, sheet, rates, tiles, options.waves);
}

}  // namespace stowplan::cost_models
