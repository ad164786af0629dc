// The mathematics of `fitted`: a non-decreasing curve from structural to measured time, piecewise linear in
// logarithms.
#pragma once

#include <vector>

#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

// One measured op of a class. Both times positive.
struct RatioSample {
  double structural_us = 0;
  double measured_us = 0;  // median of the repeats
  double work = 0;         // flops of contractions, bytes of other classes
  double spread = 0;       // of the repeats, relative
  int group = -1;          // samples of one group are held out together; -1 = a group of its own
};

// Samples are sorted by structural time and cut into at most max_knots groups of equal count. A knot is the
// group's median ratio at its mean logarithm; pooling adjacent violators then makes the curve non-decreasing,
// and the lines through the outermost knots are continued to the outermost samples. The interval and the fit
// error come from samples left out, as in HeldOutMicros(). Deterministic. Throws InputError where fewer than
// two different structural times are given.
RatioCurve FitRatioCurve(OpClass op_class, std::vector<RatioSample> samples, int max_knots = 12);

struct CurveAnswer {
  double us = 0;
  bool inside = false;  // between the outermost knots
};

// Beyond the outermost knots their ratio is kept. Same bits on every machine.
CurveAnswer EvaluateCurve(const RatioCurve& curve, double structural_us);

// For each sample, in the order given, what a curve says that has not seen the sample's group: every fifth group
// by structural time is left out at a time. 0 where the others do not make a curve.
std::vector<double> HeldOutMicros(const std::vector<RatioSample>& samples, int max_knots = 12);

}  // namespace stowplan::cost_models
