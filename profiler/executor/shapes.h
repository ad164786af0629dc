// Shapes that kernels of any device take: plain numbers, for device code too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stowplan::profiler {

// A smaller tensor against a larger one whose middle axes it lacks: element (o, m, i) meets (o, i).
struct Spread {
  std::int64_t outer = 1;
  std::int64_t middle = 1;
  std::int64_t inner = 1;
  std::int64_t large() const { return outer * middle * inner; }
  std::int64_t small() const { return outer * inner; }
};

// Into how many slices the middle axis of a sum is cut, each summed by itself and then the slices, so that narrow results
// of deep sums keep a large device busy: some 512 blocks of 32 columns, or of one row, a slice no less deep than 64 rows
// or 4096 numbers.
inline std::int64_t SumSlices(const Spread& spread) {
  const bool rows = spread.inner == 1;
  const std::int64_t blocks = spread.outer * (rows ? 1 : (spread.inner + 31) / 32);
  const std::int64_t wanted = (512 + blocks - 1) / blocks, most = spread.middle / (rows ? 4096 : 64);
  const std::int64_t slices = wanted < most ? wanted : most;
  return slices > 1 ? slices : 1;
}
// What keeps the slices' sums [bytes].
inline std::size_t PartialBytes(const Spread& spread) {
  const std::int64_t slices = SumSlices(spread);
  return slices == 1 ? 0 : static_cast<std::size_t>(slices * spread.small()) * sizeof(float);
}

// What updates of weights compute with, on every device. The rate is next to nothing: a weight after a million steps is
// still what it was.
struct UpdateRule {
  static constexpr float kRate = 1e-12F;
  static constexpr float kDecay = 0.9F;
  static constexpr float kEpsilon = 1e-6F;
};

// Sliding windows over images in NHWC.
struct Windows {
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;  // of what the windows slide over
  std::int64_t out_height = 0, out_width = 0;
  std::array<std::int64_t, 2> kernel{}, strides{}, before{}, after{};  // before, after: padding
};

}  // namespace stowplan::profiler
