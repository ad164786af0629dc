// When something happens in a run: an instant, and the pass of the instant (docs/model.md section 6).
// Internal to sim/.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sim/units.h"

namespace berth::sim {

// The time, then the pass from 0, in one integer.
using Moment = std::uint64_t;

class Moments {
 public:
  // No instant has more passes than one for each thing that ends when it starts, and one.
  explicit Moments(std::int64_t without_duration)
      : bits_(std::bit_width(static_cast<std::uint64_t>(without_duration))),
        mask_((Moment{1} << bits_) - 1),
        longest_(static_cast<Picos>(kTooLate >> (bits_ + 1))) {}

  // A moment from this one on may have been computed from times that a moment cannot hold.
  static constexpr Moment kTooLate = Moment{1} << 62;
  // The longest duration that may be added to a moment before kTooLate.
  Picos longest() const { return longest_; }

  // The first pass of an instant.
  Moment At(Picos time) const {
    return time >= TimeOf(kTooLate) ? kTooLate : static_cast<Moment>(time) << bits_;
  }
  Picos TimeOf(Moment moment) const { return static_cast<Picos>(moment >> bits_); }
  std::int32_t PassOf(Moment moment) const { return static_cast<std::int32_t>(moment & mask_); }
  // When what starts at `start` ends: what takes no time does in the next pass.
  Moment End(Moment start, Picos duration) const {
    const Moment later = (start & ~mask_) + (static_cast<Moment>(duration) << bits_);
    return duration == 0 ? start + 1 : later;
  }
  // When a thread that begins to issue at `start` has issued: at once if that takes no time.
  Moment Issued(Moment start, Picos duration) const {
    const Moment later = (start & ~mask_) + (static_cast<Moment>(duration) << bits_);
    return duration == 0 ? start : later;
  }

 private:
  int bits_;
  Moment mask_;
  Picos longest_;
};

}  // namespace berth::sim
