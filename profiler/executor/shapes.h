// Shapes that kernels of any device take: plain numbers, for device code too.
#pragma once

#include <array>
#include <cstdint>

namespace berth::profiler {

// A smaller tensor against a larger one whose middle axes it lacks: element (o, m, i) meets (o, i).
struct Spread {
  std::int64_t outer = 1;
  std::int64_t middle = 1;
  std::int64_t inner = 1;
  std::int64_t large() const { return outer * middle * inner; }
  std::int64_t small() const { return outer * inner; }
};

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

}  // namespace berth::profiler
