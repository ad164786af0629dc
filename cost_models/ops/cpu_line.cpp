#include "cost_models/ops/cpu_line.h"

#include <algorithm>

namespace stowplan::cost_models {

const CpuLine* CpuLines::Find(const OpWork& work) const {
  const CpuLine* any = nullptr;
  for (const CpuLine& line : lines) {
    if (line.family != work.family) continue;
    if (line.dtype == work.dtype) return &line;
    if (line.dtype.empty()) any = &line;
  }
  return any;
}

double LineMicros(const CpuLine& line, sim::Bytes cache_bytes, const OpWork& work) {
  const double far = std::max(0.0, work.bytes - static_cast<double>(cache_bytes));
  return line.call_us + 1e-6 * (line.us_per_mflop * work.flops + line.us_per_mega_elements * work.elements +
                                line.us_per_mb * work.bytes + line.far_us_per_mb * far);
}

}  // namespace stowplan::cost_models
