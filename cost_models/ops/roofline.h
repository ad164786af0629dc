// The structural model: the time of an op from its work and the device's data sheet. docs/calibration.md
// derives it.
//
//   accelerator   kernel + max(arithmetic, bytes / W + ramp)
//                 arithmetic = waves of output tiles where the grid is known, else flops / P + ramp
//   CPU           kernel + min(one core, all cores)
//                 one core  = max(flops / (P / cores), bytes / W1)
//                 all cores = max(flops / P, bytes / W) + ramp
//
// with P = peak of the number format x efficiency of the class, W = memory bandwidth x efficiency. The ramp
// is the saturating efficiency e(x) = e x / (x + x_half), x_half = ramp x rate, written as time. A wave is
// one tile on each multiprocessor; the last one is as long as the others however few tiles it has.
//
// Modelled: number format, arithmetic against memory, small kernels, ragged waves, split contractions. Not
// modelled: caches, sparsity, algorithms with fewer multiplications than counted (Winograd, FFT), bank
// conflicts, clocks that fall under load. What it is off by goes into the classes' efficiencies when they are
// fitted.
#pragma once

#include <array>

#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

// Share of the peak that each class reaches at large sizes.
using ClassEfficiency = std::array<double, kOpClasses>;

// What the catalogue says for a device class.
ClassEfficiency DefaultEfficiency(const Catalogue& catalogue, sim::DeviceClass device_class);

struct RooflineOptions {
  bool waves = true;  // count waves of tiles where the grid is known
  Tf32Classes tf32;   // contractions whose f32 ops use TF32 where the device has it and the work does not say
};

// Arithmetic of a number format [FLOP/s]; of f32 in TF32 where the device has it.
double PeakOf(const DeviceSheet& sheet, std::string_view dtype, bool tf32);

// [us]; finite, >= 0, non-decreasing in flops and bytes. The sheet must have rates (DeviceSheet::HasRates).
double RooflineMicros(const OpWork& work, const DeviceSheet& sheet, const ClassEfficiency& efficiency,
                      const std::vector<Tile>& tiles, const RooflineOptions& options);

}  // namespace stowplan::cost_models
