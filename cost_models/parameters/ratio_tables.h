// How much longer an op takes than a data sheet allows, by its shape: what the prices of real GPUs are made of
// (docs/calibration.md#shapes).
//
//   t = bound · exp(log_ratio + Σ over steps  step.add[answers])
//   bound = kernel + max(flops / peak, bytes / bandwidth)
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
#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

inline constexpr int kQuestions = 4;
inline constexpr double kRatioUnit = 1e-4;  // of ln(ratio), as tables hold it

struct RatioStep {
  struct Question {
    int feature = 0;  // index into ShapeFeatureNames()
    double above = 0;
  };
  std::array<Question, kQuestions> questions;
  std::array<std::int32_t, 1 << kQuestions>
      add;  // [kRatioUnit]; the first question's answer is the highest bit
};

struct RatioTables {
  std::string family;  // ShapeFamilyOf()
  std::string dtype;   // of the op's output
  double log_ratio = 0;
  std::vector<RatioStep> steps;
  double low_ratio = 1;  // 5 % and 95 % quantile of measured / predicted on held-out rows
  double high_ratio = 1;
  double held_out_error = 0;  // mean of |predicted / measured - 1| on held-out rows
  Evidence evidence;          // range in flops of contractions, bytes of others
};

// Which tables price an op: "gemm", "batched_gemm", "convolution", "elementwise", "softmax", "layer_norm"; empty where
// none do. `borrowed`: no table of rows has such ops (gradients but matrix products, element-wise ops but those of
// the rows, batch norm, reductions, optimizers), and
// those of the family work much as they do.
struct ShapeFamily {
  std::string_view name;
  bool borrowed = false;
};
ShapeFamily ShapeFamilyOf(const OpWork& work);

// Of contractions, which have a product, or of families that move bytes. `count` of a convolution is the positions of an
// image; logarithms, but for fill, wave, alignment and the like.
std::span<const std::string_view> ShapeFeatureNames(std::string_view family);

// In the order of the names. The sheet must have rates and multiprocessors; the work a family.
std::vector<double> ShapeFeatures(const OpWork& work, const DeviceSheet& sheet);

// [us], positive. What no op can beat, plus the sheet's kernel time.
double BoundMicros(const OpWork& work, const DeviceSheet& sheet);

// ln(time / bound)
double LogRatio(const RatioTables& tables, std::span<const double> features);

// [us]; same bits on every machine.
double TablesMicros(const RatioTables& tables, const OpWork& work, const DeviceSheet& sheet);

// Null where there are none.
const RatioTables* FindTables(std::span<const RatioTables> tables, const OpWork& work);

// What an op could at best take by arithmetic, and by bytes [us].
double ArithmeticMicros(const OpWork& work, const DeviceSheet& sheet);
double MemoryMicros(const OpWork& work, const DeviceSheet& sheet);

}  // namespace stowplan::cost_models
