// The earliest of a fixed number of timers, each of which is pending once or not at all. Internal to
// sim/native/.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "sim/compiled.h"

namespace berth::sim {

inline constexpr Picos kNever = std::numeric_limits<Picos>::max();

// The same time on a timeline that is `shift` later.
inline Picos Later(Picos time, Picos shift) {
  return time == kNever ? kNever : time + shift;
}

// A tournament tree of keys (time, number of the timer), so that setting one costs a climb without a branch
// that could be mispredicted and the earliest, the lowest number at equal times, is at the root. A key holds
// the time since an epoch; times too far from it wait under the greatest key until the epoch is moved.
class EventTree {
 public:
  explicit EventTree(std::int32_t timers)
      : bits_(std::bit_width(static_cast<std::uint32_t>(std::max(timers - 1, 1)))),
        far_((~std::uint64_t{0} >> bits_)),
        leaves_(static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(std::max(timers, 2))))),
        times_(static_cast<std::size_t>(timers), kNever),
        keys_(2 * static_cast<std::size_t>(leaves_), ~std::uint64_t{0}) {
    Clear();
  }

  void Clear() {
    std::fill(times_.begin(), times_.end(), kNever);
    epoch_ = 0;
    Build();
  }
  // `time` must not be before the earliest time of any timer pending so far.
  void Set(std::int32_t timer, Picos time) {
    times_[timer] = time;
    std::uint64_t key = KeyOf(timer);
    std::int32_t node = leaves_ + timer;
    keys_[node] = key;
    for (; node > 1; node >>= 1) {
      key = std::min(key, keys_[node ^ 1]);
      keys_[node >> 1] = key;
    }
  }
  // The earliest time, kNever if nothing is pending.
  Picos time() {
    if (keys_[1] >> bits_ == far_) MoveEpoch();
    const std::uint64_t since = keys_[1] >> bits_;
    return since == far_ ? kNever : epoch_ + static_cast<Picos>(since);
  }
  void Shift(Picos shift) {
    for (Picos& time : times_) time = Later(time, shift);
    epoch_ += shift;
  }
  // Whether the same timers are pending, `shift` later than in the other.
  bool Equals(const EventTree& other, Picos shift) const {
    return std::equal(times_.begin(), times_.end(), other.times_.begin(),
                      [shift](Picos mine, Picos theirs) { return mine == Later(theirs, shift); });
  }
  // Whether another timer is due at the time of this one, which is first().
  bool Ties(std::int32_t timer) const {
    std::uint64_t next = ~std::uint64_t{0};
    for (std::int32_t node = leaves_ + timer; node > 1; node >>= 1) next = std::min(next, keys_[node ^ 1]);
    return next >> bits_ == keys_[1] >> bits_;
  }
  // The timer that is due at time(), which must not be kNever.
  std::int32_t first() const {
    return static_cast<std::int32_t>(keys_[1] & ((std::uint64_t{1} << bits_) - 1));
  }

 private:
  std::uint64_t KeyOf(std::int32_t timer) const {
    // Unsigned: a shift into the past makes the epoch negative, and kNever lies further from it than a Picos reaches.
    const std::uint64_t since =
        static_cast<std::uint64_t>(times_[timer]) - static_cast<std::uint64_t>(epoch_);
    return std::min(since, far_) << bits_ | static_cast<std::uint64_t>(timer);
  }
  void MoveEpoch() {
    const Picos earliest = *std::min_element(times_.begin(), times_.end());
    if (earliest == kNever) return;
    epoch_ = earliest;
    Build();
  }
  void Build() {
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(times_.size()); ++t) keys_[leaves_ + t] = KeyOf(t);
    for (std::int32_t node = leaves_ - 1; node > 0; --node)
      keys_[node] = std::min(keys_[2 * node], keys_[2 * node + 1]);
  }

  int bits_;
  std::uint64_t far_;  // the greatest time a key can hold
  std::int32_t leaves_;
  Picos epoch_ = 0;
  ById<Picos> times_;
  ById<std::uint64_t> keys_;  // the children of node n are 2n and 2n + 1
};

}  // namespace berth::sim
