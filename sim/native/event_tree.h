// The next event of each of a few sources, and the earliest of them. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/exact.h"

namespace stowplan::sim {

// A tournament tree: setting the event of a source costs a climb without a branch that could be
// mispredicted, and the earliest of all, the lowest number at equal moments, is at the root.
template <typename Moment>
class EventTree {
 public:
  explicit EventTree(std::int32_t sources)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(std::max(sources, 2)))), keys_(2 * leaves_) {
    Clear();
  }

  static constexpr Moment kNone = ~Moment{0};
  struct Event {
    Moment moment;
    std::int32_t number;
  };

  void Clear() { std::fill(keys_.begin(), keys_.end(), Pack({kNone, -1})); }
  void Set(std::int32_t source, Event event) {
    Key* const keys = keys_.data();
    std::size_t node = leaves_ + static_cast<std::size_t>(source);
    Key key = Pack(event);
    keys[node] = key;
    for (; node > 1; node >>= 1) {
      const Key other = keys[node ^ 1];
      key = other < key ? other : key;
      keys[node >> 1] = key;
    }
  }
  void SetNone(std::int32_t source) { Set(source, {kNone, -1}); }
  // Its moment is kNone if no source has one.
  Event next() const { return Unpack(keys_[1]); }

 private:
  static constexpr bool kFits = sizeof(Moment) <= sizeof(std::uint64_t);
  using Key = std::conditional_t<kFits, UInt128, std::pair<Moment, std::uint32_t>>;

  static Key Pack(Event event) {
    if constexpr (kFits) {
      return UInt128{event.moment} << 64 | static_cast<std::uint32_t>(event.number);
    } else {
      return {event.moment, static_cast<std::uint32_t>(event.number)};
    }
  }
  static Event Unpack(const Key& key) {
    if constexpr (kFits) {
      return {static_cast<Moment>(key >> 64), static_cast<std::int32_t>(key)};
    } else {
      return {key.first, static_cast<std::int32_t>(key.second)};
    }
  }

  std::size_t leaves_;
  std::vector<Key> keys_;  // the children of node n are 2n and 2n + 1
};

}  // namespace stowplan::sim
