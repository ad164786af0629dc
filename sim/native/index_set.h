// Numbers below a limit that is fixed at construction, visited in ascending order: which devices or threads a
// pass has to look at. Internal to sim/native/.
#pragma once

#include <bit>
#include <cstdint>

#include "sim/compiled.h"

namespace berth::sim {

class IndexSet {
 public:
  explicit IndexSet(std::int32_t limit) : words_(static_cast<std::size_t>(limit + 63) / 64) {}

  void Add(std::int32_t i) { words_[i >> 6] |= std::uint64_t{1} << (i & 63); }
  void Clear() { std::fill(words_.begin(), words_.end(), 0); }
  // Calls visit(i) for each i and forgets it; visit() may add numbers above i, which are visited too.
  template <typename Visit>
  void Drain(const Visit& visit) {
    const auto words = static_cast<std::int32_t>(words_.size());
    for (std::int32_t w = 0; w < words; ++w) {
      while (words_[w] != 0) {
        const std::int32_t bit = std::countr_zero(words_[w]);
        words_[w] &= words_[w] - 1;
        visit(w * 64 + bit);
      }
    }
  }

 private:
  ById<std::uint64_t> words_;
};

}  // namespace berth::sim
