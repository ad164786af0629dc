// Native runs in which every time is known in advance: on devices that work alone (solo_devices.h), from
// lists, where transfers can be booked (bookings.h). The only events are ends of ops, and each edge is looked
// at twice: when its producer has ended, and when its consumer's end is known, until which that may hold a
// storage. Internal to sim/.
#pragma once

#include <memory>
#include <span>

#include "sim/simulator.h"

namespace berth::sim {

class BookedSimulator {
 public:
  virtual ~BookedSimulator() = default;

  // Issues in the order of `list`, of all ops; records nothing. nullptr if it takes longer than moments can
  // hold.
  virtual const Outcome* Run(const Placement& placement, std::span<const OpIndex> list) = 0;
};

// For `fifo`, where no rate changes, and devices that work alone.
std::unique_ptr<BookedSimulator> MakeBookedSimulator(const Problem& problem);

}  // namespace berth::sim
