// How fast one op moved is evaluated again, beside a run from scratch: `berth speed --moves`.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/loaded_problem.h"

namespace berth::bench {

struct MoveSpeed {
  const char* base = "";  // "blocks" or "random"
  std::int64_t trials = 0;
  double base_us = 0;         // making a placement the base, median
  double scratch_us = 0;      // a moved placement from scratch, median
  double incremental_us = 0;  // the same by IncrementalSimulator::RunTrial(), median
  double ratio = 0;           // from scratch / incremental of each trial: median,
  double ratio_low = 0;       // tenth
  double ratio_high = 0;      // and ninetieth percentile
};

// For each kind of base placement, `bases` of them on all accelerators (all devices where there are none), and
// `moves` trials from each in which one random colocation set goes to another device. `blocks`: contiguous
// segments of the topological order, one to four for each device, on devices drawn at random; `random`: every
// set drawn by itself. The order of the two runs of a trial alternates. Aborts where their outcomes differ.
std::vector<MoveSpeed> MeasureMoves(const LoadedProblem& loaded, std::int64_t bases, std::int64_t moves,
                                    std::uint64_t seed);

}  // namespace berth::bench
