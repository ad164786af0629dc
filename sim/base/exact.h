// Exact integer arithmetic on times, bytes and rates. No floating point takes part in a simulated time.
#pragma once

#include <cstdint>
#include <limits>

#include "sim/base/units.h"

namespace stowplan::sim {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

inline constexpr Picos kNever = std::numeric_limits<Picos>::max();
inline constexpr Picos kPicosPerSecond = 1'000'000'000'000;

// Rounds a * b / c to the nearest integer; a, b >= 0, c > 0, the quotient must fit.
inline std::int64_t MulDivNearest(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(
      (static_cast<UInt128>(a) * static_cast<UInt128>(b) + static_cast<UInt128>(c / 2)) /
      static_cast<UInt128>(c));
}

// `now` + work / rate, rounded up; kNever where that is beyond a time. No run gets there (Problem), but while many share
// what they need, the end of one can look as far off.
inline Picos EndAfter(Picos now, Int128 work, std::int64_t rate) {
  const Int128 end = now + (work + rate - 1) / rate;
  return end < kNever ? static_cast<Picos>(end) : kNever;
}

inline Bytes RoundUp(Bytes bytes, Bytes granularity) {
  return (granularity & (granularity - 1)) == 0 ? (bytes + granularity - 1) & ~(granularity - 1)
                                                : (bytes + granularity - 1) / granularity * granularity;
}

}  // namespace stowplan::sim
