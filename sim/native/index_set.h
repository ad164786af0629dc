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
  explicit IndexSet(std::int32_t limit) { STOWPLAN_CHECK(limit <= kMost); }

  void Add(std::int32_t i) { AddIf(true, i); }
  void AddIf(bool wanted, std::int32_t i) {
    words_[static_cast<std::size_t>(i / kBits)] |= std::uint64_t{wanted} << (i % kBits);
    in_use_ |= std::uint64_t{wanted} << (i / kBits);
  }
  void Clear() {
    Drain([](std::int32_t) {});
  }
  // Calls visit(i) for each i and forgets it; visit() may add numbers above i, which are visited too.
  template <typename Visit>
  void Drain(const Visit& visit) {
    while (in_use_ != 0) {
      const int first = std::countr_zero(in_use_);
      std::uint64_t& word = words_[static_cast<std::size_t>(first)];
      while (word != 0) {
        const std::int32_t i = kBits * first + std::countr_zero(word);
        word &= word - 1;
        visit(i);
      }
      in_use_ &= ~(std::uint64_t{1} << first);
    }
  }

 private:
  static constexpr std::int32_t kBits = 64, kMost = kBits * kBits;

  std::array<std::uint64_t, kBits> words_ = {};
  std::uint64_t in_use_ = 0;  // words with a bit
};

}  // namespace stowplan::sim
