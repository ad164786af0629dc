// How much longer an op takes than a data sheet allows, by its shape: what the prices of real GPUs are made of
// (docs/calibration.md#shapes).
//
//   t = bound · exp(log_ratio + Σ over steps  step.add[answers])
//   bound = kernel + max(flops / peak, bytes / bandwidth)      kernel: the shortest time of the rows, else the sheet's
//
// A step asks kQuestions yes-or-no questions, each whether a feature of the op is above a number, and adds what its
// table has for the answers: gradient boosting with one question for a whole level of a tree (as in CatBoost,
// Prokhorenkova et al., NeurIPS 2018). Beyond the shapes that were measured the answers stay as they are, so the ratio
// does too, and the time grows with the bound. Features are of the shape relative to the machine (waves of output tiles,
// time at the peak) so that tables of one GPU say something of another.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost_models/ops/evidence.h"
#include "cost_models/parameters/shape_families.h"

namespace stowplan::cost_models {

inline constexpr int kQuestions = 6;
inline constexpr double kRatioUnit = 1e-4;  // of ln(ratio), as tables hold it

struct RatioStep {
  struct Question {
    int feature = 0;  // index into FamilyOfShapes::features
    double above = 0;
  };
  std::array<Question, kQuestions> questions;
  std::array<std::int32_t, 1 << kQuestions>
      add;  // [kRatioUnit]; the first question's answer is the highest bit
};

struct RatioTables {
  std::string family;    // of shape_families.h
  std::string dtype;     // TableFormatOf()
  double kernel_us = 0;  // of the bound; 0 = the sheet's
  double log_ratio = 0;
  std::vector<RatioStep> steps;
  double low_ratio = 1;  // 5 % and 95 % quantile of measured / predicted on held-out rows
  double high_ratio = 1;
  double held_out_error = 0;  // mean of |predicted / measured - 1| on held-out rows
  Evidence evidence;          // range in flops of contractions, bytes of others
};

// ln(time / bound)
double LogRatio(const RatioTables& tables, std::span<const double> features);

// The bound that the ratio is of [us].
double BoundMicros(const RatioTables& tables, const OpWork& work, const DeviceSheet& sheet);

// [us]; same bits on every machine.
double TablesMicros(const RatioTables& tables, const OpWork& work, const DeviceSheet& sheet);

// Null where there are none.
const RatioTables* FindTables(std::span<const RatioTables> tables, std::string_view family,
                              std::string_view dtype);

}  // namespace stowplan::cost_models
