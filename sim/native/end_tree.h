// Which of a few devices has the next end of an op. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "sim/compiled.h"
#include "sim/native/moment.h"

namespace berth::sim {

// A tournament tree: setting the next end of a device costs a climb without a branch that could be
// mispredicted, and the earliest of all, the lowest op at equal moments, is at the root.
class EndTree {
 public:
  explicit EndTree(DeviceIndex devices)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(std::max(devices, 2)))), keys_(2 * leaves_) {
    Clear();
  }

  static constexpr Moment kNone = ~Moment{0};
  struct End {
    Moment moment;
    OpIndex op;
  };

  void Clear() { std::fill(keys_.begin(), keys_.end(), ~UInt128{0}); }
  void Set(DeviceIndex device, End end) {
    SetKey(device, UInt128{end.moment} << 64 | static_cast<std::uint32_t>(end.op));
  }
  void SetNone(DeviceIndex device) { SetKey(device, ~UInt128{0}); }
  // kNone if no device has one.
  End next() const { return {static_cast<Moment>(keys_[1] >> 64), static_cast<OpIndex>(keys_[1])}; }

 private:
  void SetKey(DeviceIndex device, UInt128 key) {
    UInt128* const keys = keys_.data();
    std::size_t node = leaves_ + static_cast<std::size_t>(device);
    keys[node] = key;
    for (; node > 1; node >>= 1) {
      const UInt128 other = keys[node ^ 1];
      key = other < key ? other : key;
      keys[node >> 1] = key;
    }
  }

  std::size_t leaves_;
  std::vector<UInt128> keys_;  // the children of node n are 2n and 2n + 1
};

}  // namespace berth::sim
