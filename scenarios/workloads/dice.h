// Random numbers of workloads: the same on every platform.
#pragma once

#include <cstdint>
#include <random>

namespace stowplan::scenarios {

// The standard fixes the engine's numbers but not those of its distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // Uniform in [0, sides), by rejection.
  std::int64_t Roll(std::int64_t sides) {
    const auto n = static_cast<std::uint64_t>(sides);
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    std::uint64_t drawn = engine_();
    while (drawn >= limit) drawn = engine_();
    return static_cast<std::int64_t>(drawn % n);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace stowplan::scenarios
