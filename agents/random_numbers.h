// The agents' random numbers. Engine and distributions are written out here because those of the standard
// library differ between implementations, and a seed must mean the same placements everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/fnv.h"

namespace stowplan::agents {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): one step of a
// counter through a mixer; also the hash of this folder.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// xoshiro256++ (Blackman, Vigna: Scrambled linear pseudorandom number generators, 2019). Streams are told
// apart by name, so that one purpose drawing more numbers never changes another: Rng(seed, "start"),
// Rng(seed, "moves").
class Rng {
 public:
  using State = std::array<std::uint64_t, 4>;

  Rng(std::uint64_t seed, std::string_view stream) {
    std::uint64_t x = Mix(seed) ^ Fnv1a(stream);
    for (std::uint64_t& word : state_) word = Mix(x++);
  }
  explicit Rng(const State& state) : state_(state) {}

  // For checkpoints: Rng(rng.state()) goes on where rng stands.
  const State& state() const { return state_; }

  std::uint64_t Next() {
    const std::uint64_t result = Rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  // Uniform on [0, n), without bias; n must be positive.
  std::uint64_t Below(std::uint64_t n) {
    const std::uint64_t unfair =
        (0 - n) % n;  // 2^64 mod n: that many first values would be drawn once too often
    std::uint64_t x = Next();
    while (x < unfair) x = Next();
    return x % n;
  }

  // Uniform on [0, 1), all 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  template <typename T>
  const T& Pick(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(Below(items.size()))];
  }

  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(Below(i))]);
    }
  }

 private:
  static constexpr std::uint64_t Rotate(std::uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
  }

  State state_;
};

}  // namespace stowplan::agents
