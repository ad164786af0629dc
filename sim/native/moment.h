// When something happens in a run: an instant, and the pass of the instant (docs/model.md section 6).
// Internal to sim/native/.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "sim/base/exact.h"
#include "sim/base/units.h"

namespace stowplan::sim {

// A moment is one integer: the time, then the pass from 0. 64 bits hold most runs; where many things that
// take no time and a long run come together, 128 bits hold any.
template <typename Moment>
class Moments {
 public:
  // No instant has more passes than one for each thing that ends when it starts, and one.
  explicit Moments(std::int64_t without_duration)
      : bits_(std::bit_width(static_cast<std::uint64_t>(without_duration))),
        mask_((Moment{1} << bits_) - 1) {}

  static constexpr Moment kNone = ~Moment{0};
  // A moment from this one on may have been computed from times that a moment cannot hold.
  static constexpr Moment kTooLate = Moment{1} << (8 * sizeof(Moment) - 2);
  // The longest duration that may be added to a moment before kTooLate.
  Picos longest() const {
    const Moment most = kTooLate >> (bits_ + 1);
    constexpr Moment kMost{static_cast<std::uint64_t>(std::numeric_limits<Picos>::max())};
    return static_cast<Picos>(most < kMost ? most : kMost);
  }

  // The first pass of an instant.
  Moment At(Picos time) const {
    const auto wide = static_cast<Moment>(time);
    return wide >= kTooLate >> bits_ ? kTooLate : wide << bits_;
  }
  Picos TimeOf(Moment moment) const { return static_cast<Picos>(moment >> bits_); }
  // The pass in which what is due at `time` is due, if that is known at `now`: at the same instant the next.
  Moment Due(Picos time, Moment now) const { return time == TimeOf(now) ? now + 1 : At(time); }
  // When what starts at `start` ends: what takes no time does in the next pass.
  Moment End(Moment start, Picos duration) const {
    return duration == 0 ? start + 1 : Later(start, duration);
  }
  // When a thread that begins to issue at `start` has issued: at once if that takes no time.
  Moment Issued(Moment start, Picos duration) const { return duration == 0 ? start : Later(start, duration); }

 private:
  Moment Later(Moment start, Picos duration) const {
    const Moment later = (start & ~mask_) + (static_cast<Moment>(duration) << bits_);
    return later < kTooLate ? later : kTooLate;
  }

  int bits_;
  Moment mask_;
};

}  // namespace stowplan::sim
