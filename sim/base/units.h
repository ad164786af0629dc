// The engine's units. Simulated time is an integer count of picoseconds and memory an integer count of bytes,
// so that equality is exact and results are the same bits on every machine.
#pragma once

#include <cmath>
#include <cstdint>

namespace stowplan::sim {

using Picos = std::int64_t;  // [ps]
using Bytes = std::int64_t;  // [B]

inline constexpr Picos kPicosPerMicro = 1'000'000;

// Limits that every reader enforces: beyond them sums could leave 64 bits.
inline constexpr Bytes kMaxBytes = Bytes{1} << 50;
inline constexpr double kMaxMicros = 1e12;
inline constexpr std::int64_t kMaxOps = std::int64_t{1} << 31;

// Rounds to the nearest picosecond. `micros` must be finite and within ±kMaxMicros.
inline Picos FromMicros(double micros) {
  return std::llround(micros * 1e6);
}
inline double ToMicros(Picos picos) {
  return static_cast<double>(picos) / 1e6;
}

// 26 days: no run may be longer (horizon.h); rates that are rounded down can make one four times as long.
inline constexpr Picos kHorizon = Picos{1} << 61;

}  // namespace stowplan::sim
