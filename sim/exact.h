// Exact integer arithmetic on times, bytes and rates. No floating point takes part in a simulated time.
#pragma once

#include <cstdint>

#include "sim/units.h"

namespace berth::sim {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

inline constexpr Picos kPicosPerSecond = 1'000'000'000'000;

// Rounds a * b / c to the nearest integer; a, b >= 0, c > 0, the quotient must fit.
inline std::int64_t MulDivNearest(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(
      (static_cast<UInt128>(a) * static_cast<UInt128>(b) + static_cast<UInt128>(c / 2)) /
      static_cast<UInt128>(c));
}

// Rounds a / b up; a >= 0, b > 0, the quotient must fit.
inline std::int64_t DivCeil(Int128 a, std::int64_t b) {
  return static_cast<std::int64_t>((a + b - 1) / b);
}

inline Bytes RoundUp(Bytes bytes, Bytes granularity) {
  return (granularity & (granularity - 1)) == 0 ? (bytes + granularity - 1) & ~(granularity - 1)
                                                : (bytes + granularity - 1) / granularity * granularity;
}

}  // namespace berth::sim
