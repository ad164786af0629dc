// How long an op takes on a CPU, in a few numbers for each family of ops: a line in what it computes and moves,
//
//   t = call + flops · c + elements · e + bytes · b + max(0, bytes − cache) · f
//
// none below 0. `bytes` are read and written (OpWork), `elements` written. `b` is the price of a byte that the core's
// cache holds and b + f that of one beyond it: tensors together larger than `cache` have been driven out, or drive
// others out. `e` is what an element costs that bytes do not tell: a window of a pooling, an exponential.
//
// No data sheet enters, so any CPU has such lines that was measured. What is not modelled: what an op finds in the
// cache of what others left there, kernels that change with the shape, several cores.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cost_models/ops/evidence.h"
#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

struct CpuLine {
  std::string family;  // FamilyOf()
  std::string dtype;   // of the op's output; empty = any
  double call_us = 0;
  double us_per_mflop = 0;
  double us_per_mega_elements = 0;
  double us_per_mb = 0;      // 1e6 bytes
  double far_us_per_mb = 0;  // of the bytes beyond the cache, on top
  double low_ratio = 1;      // 5 % and 95 % quantile of measured / predicted on held-out samples
  double high_ratio = 1;
  Evidence evidence;  // range in bytes
};

struct CpuLines {
  sim::Bytes cache_bytes = 0;
  std::vector<CpuLine> lines;  // at most one for each family and dtype

  // Null if absent: that of the dtype, else that for any.
  const CpuLine* Find(const OpWork& work) const;
};

// [us]
double LineMicros(const CpuLine& line, sim::Bytes cache_bytes, const OpWork& work);

}  // namespace stowplan::cost_models
