// Native runs in which every time is known in advance. Internal to sim/.
//
// Where each device has its own thread that issues from a list, and runs one op at a time at a fixed rate, an
// op's issue, start and end follow from those of the op before it in the list and from when its inputs arrive.
// Where transfers can be booked (bookings.h) so do their times from the end of their producer. Thus the only
// events are ends of ops, and each edge is looked at twice: when its producer has ended, and when its consumer's
// end is known, until which that may hold a storage. Storages are accounted for after the run (peaks.h).
#pragma once

#include <memory>
#include <span>

#include "sim/simulator.h"

namespace berth::sim {

class ListSimulator {
 public:
  virtual ~ListSimulator() = default;

  // Issues in the order of `list`, of all ops; records nothing. nullptr if it takes longer than moments can hold.
  virtual const Outcome* Run(const Placement& placement, std::span<const OpIndex> list) = 0;
};

// Whether runs from lists are of this kind, in `fifo`.
bool CanRunLists(const Problem& problem);
std::unique_ptr<ListSimulator> MakeListSimulator(const Problem& problem);

}  // namespace berth::sim
