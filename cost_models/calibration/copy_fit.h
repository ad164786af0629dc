// The time of a lone copy as a curve over bytes, from copies measured alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

struct CopySample {
  sim::Bytes bytes = 0;
  double us = 0;      // median of the repeats
  double spread = 0;  // of the repeats, relative
};

// Latency and bandwidth alone: what the curve is compared with.
struct AlphaBeta {
  double alpha_us = 0;
  double us_per_byte = 0;
  double Micros(sim::Bytes bytes) const { return alpha_us + us_per_byte * static_cast<double>(bytes); }
};

// Least squares of relative errors, each weighted with 1 / its size, so that the median counts and not the worst.
AlphaBeta FitAlphaBeta(const std::vector<CopySample>& samples);

struct CopyPoint {
  CopySample sample;
  bool outlier = false;  // a spike over both neighbours: its place in the curve is theirs
  double fitted_us = 0;
  double held_out_us = 0;    // by knots that have not seen it; the outermost sizes are never left out
  double alpha_beta_us = 0;  // by latency and bandwidth that have not seen it
};

struct CopyFit {
  std::vector<CopyPoint> points;  // by bytes
  AlphaBeta alpha_beta;
  LinkParameters link;  // kind as given; `both` is left to the caller
};

// 8 to 16 knots where there are as many sizes, else one for each: as few as are within 1 %, or twice the repeats'
// spread, of every size; between them linear in bytes. Spikes are left out, times never fall with size, T(0) is the line through the two smallest
// sizes. Sizes may stand in any order; of one size the median counts. Throws InputError naming `kind` for fewer than
// two sizes or a time that is not positive.
CopyFit FitCopies(const std::string& kind, std::vector<CopySample> samples);

// Linear between knots, the last slope beyond.
double CopyMicros(const std::vector<LinkParameters::Knot>& knots, sim::Bytes bytes);

}  // namespace stowplan::cost_models
