// Which devices or threads a pass has to look at. Internal to sim/native/.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/base/error.h"

namespace stowplan::sim {

// Numbers below a limit, visited in ascending order.
class IndexSet {
 public:
  explicit IndexSet(std::int32_t limit)
      : parts_(static_cast<std::size_t>((limit + kBits * kBits - 1) / (kBits * kBits))) {
    STOWPLAN_CHECK(limit <= kMost);
  }

  void Add(std::int32_t i) { AddIf(true, i); }
  void AddIf(bool wanted, std::int32_t i) {
    const std::int32_t word = i / kBits;
    words_[static_cast<std::size_t>(word)] |= std::uint64_t{wanted} << (i % kBits);
    in_use_[static_cast<std::size_t>(word / kBits)] |= std::uint64_t{wanted} << (word % kBits);
  }
  void Clear() {
    Drain([](std::int32_t) {});
  }
  // Calls visit(i) for each i and forgets it; visit() may add numbers above i, which are visited too.
  template <typename Visit>
  void Drain(const Visit& visit) {
    for (std::size_t part = 0; part < parts_; ++part) {
      std::uint64_t& in_use = in_use_[part];
      while (in_use != 0) {
        const int first = std::countr_zero(in_use);
        std::uint64_t& word = words_[kBits * part + static_cast<std::size_t>(first)];
        const auto base = kBits * (kBits * static_cast<std::int32_t>(part) + first);
        while (word != 0) {
          const std::int32_t i = base + std::countr_zero(word);
          word &= word - 1;
          visit(i);
        }
        in_use &= ~(std::uint64_t{1} << first);
      }
    }
  }

 private:
  static constexpr std::int32_t kBits = 64, kParts = 8, kMost = kBits * kBits * kParts;

  std::array<std::uint64_t, kBits* kParts> words_ = {};
  std::array<std::uint64_t, kParts> in_use_ = {};  // words with a bit
  std::size_t parts_;
};

}  // namespace stowplan::sim
