// Numbers below a limit that is fixed at construction, visited in ascending order: which devices or threads a
// pass has to look at. Internal to sim/native/.
#pragma once

#include <bit>
#include <cstdint>

#include "sim/compiled.h"

namespace berth::sim {

class IndexSet {
 public:
  explicit IndexSet(std::int32_t limit)
      : words_(static_cast<std::size_t>(limit + 63) / 64), groups_((words_.size() + 63) / 64) {}

  void Add(std::int32_t i) {
    words_[i >> 6] |= Bit(i);
    groups_[i >> 12] |= Bit(i >> 6);
  }
  void Clear() {
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(groups_.begin(), groups_.end(), 0);
  }
  // Calls visit(i) for each i and forgets it; visit() may add numbers above i, which are visited too.
  template <typename Visit>
  void Drain(const Visit& visit) {
    for (std::int32_t g = 0; g < static_cast<std::int32_t>(groups_.size()); ++g) {
      while (groups_[g] != 0) {
        const std::int32_t w = g * 64 + std::countr_zero(groups_[g]);
        const std::int32_t i = w * 64 + std::countr_zero(words_[w]);
        words_[w] &= words_[w] - 1;
        if (words_[w] == 0) groups_[g] &= groups_[g] - 1;
        visit(i);
      }
    }
  }

 private:
  static std::uint64_t Bit(std::int32_t i) { return std::uint64_t{1} << (i & 63); }

  ById<std::uint64_t> words_;
  ById<std::uint64_t> groups_;  // which words are not 0
};

}  // namespace berth::sim
