// Which ops are priced alike, and what of an op's shape the prices of real GPUs ask (docs/calibration.md#shapes).
//
// Features are of the shape relative to the machine (waves of output tiles, time at the peak), so that tables of one GPU say
// something of another. They are logarithms, but for fill, wave, alignment and the like.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

struct FamilyOfShapes {
  std::string_view name;  // "gemm"
  std::span<const std::string_view> features;
  void (*describe)(const OpWork& work, const DeviceSheet& sheet, std::vector<double>* features) = nullptr;
};
std::span<const FamilyOfShapes> FamiliesOfShapes();
const FamilyOfShapes* FamilyNamed(std::string_view name);  // null if absent

struct ShapeFamily {
  const FamilyOfShapes* family = nullptr;  // null: no rows price such ops
  // No table of rows has such ops (most gradients, reductions, optimizers), and those of the family work much as they do.
  bool borrowed = false;

  std::string_view name() const { return family != nullptr ? family->name : std::string_view(); }
};
ShapeFamily ShapeFamilyOf(const OpWork& work);

// In the order of the family's features. The sheet must have rates and multiprocessors; the work a family.
std::vector<double> ShapeFeatures(const OpWork& work, const DeviceSheet& sheet);

// [us], positive. What no op can beat, plus the least time of a kernel (of each step).
double BoundMicros(const OpWork& work, const DeviceSheet& sheet, double kernel_us);

// What an op could at best take by arithmetic, and by bytes from memory [us].
double ArithmeticMicros(const OpWork& work, const DeviceSheet& sheet);
double MemoryMicros(const OpWork& work, const DeviceSheet& sheet);

// A product reads its weights from memory, whatever was warm when rows were timed: kernel + weights / (0.8 bandwidth) [us]. The
// share was found by fitting products that fit the last cache and predicting those that do not (AIConfigurator's rows on five
// GPUs: 8 to 11 % off, without it 9 to 30 %).
double ColdMicros(const OpWork& work, const DeviceSheet& sheet);

// Which tables of a family price it: the number format, "tf32" for products of f32 that run so on this device.
std::string_view TableFormatOf(const OpWork& work, const DeviceSheet& sheet);

}  // namespace stowplan::cost_models
