// Which devices or threads a pass has to look at. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace stowplan::sim {

// Numbers below a limit, visited in ascending order. One bit stands for one number up to a limit of 64, for
// several beyond: what is visited may then include numbers that were not added.
class IndexSet {
 public:
  explicit IndexSet(std::int32_t limit) : limit_(limit) {
    while ((limit - 1) >> shift_ >= 64) ++shift_;
  }

  void Add(std::int32_t i) { bits_ |= std::uint64_t{1} << (i >> shift_); }
  void AddIf(bool wanted, std::int32_t i) { bits_ |= std::uint64_t{wanted} << (i >> shift_); }
  void Clear() { bits_ = 0; }
  // Calls visit(i) for each i and forgets it; visit() may add numbers above i, which are visited too.
  template <typename Visit>
  void Drain(const Visit& visit) {
    while (bits_ != 0) {
      const std::int32_t first = std::countr_zero(bits_) << shift_;
      bits_ &= bits_ - 1;
      visit(first);
      if (shift_ == 0) continue;
      for (std::int32_t i = first + 1; i < std::min(first + (1 << shift_), limit_); ++i) visit(i);
    }
  }

 private:
  std::int32_t limit_;
  int shift_ = 0;
  std::uint64_t bits_ = 0;
};

}  // namespace stowplan::sim
