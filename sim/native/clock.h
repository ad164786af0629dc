// What time it is in a run, and what is due next. A layer of a run (run.h).
#pragma once

#include "sim/compiled.h"
#include "sim/native/event_tree.h"
#include "sim/native/moment.h"

namespace stowplan::sim {

// The layer of a run (run.h) below all others.
template <typename Moment>
class Clock {
 protected:
  static constexpr Moment kNone = Moments<Moment>::kNone;
  using Id = Compiled::Id;

  Clock(const Compiled& compiled, const Moments<Moment>& moments)
      : c_(compiled), moments_(moments), events_(compiled.devices + 1) {}

  void Reset() {
    now_ = 0;
    events_.Clear();
  }
  Picos now_time() const { return moments_.TimeOf(now_); }
  // A device or a thread has something to do then. whose: the device, or behind them the process.
  void SetWake(std::int32_t whose, Moment moment) { events_.Set(whose, {moment, c_.ops + whose}); }

  const Compiled& c_;
  const Moments<Moment> moments_;
  Moment now_ = 0;
  // One to come at most of each device, and of the process. It has the number of the op that ends on a device that works
  // alone, or one behind those of the ops (SetWake).
  EventTree<Moment> events_;
};

}  // namespace stowplan::sim
