// The rules `published`: the simulator that Placeto (NeurIPS 2019) published, as docs/model.md section 8
// describes its behaviour.
//
// In short: no links, no dispatch, no memory limit, one stream per device; first in, first out everywhere; an
// op with a cost is followed by a pause of 5.7 us of its device; every device sends over one outgoing channel
// at 7600 bytes a microsecond with a pause of 25 us after each tensor, and one sending serves every device
// that reads the tensor.
#pragma once

#include <memory>

#include "sim/simulator.h"

namespace stowplan::sim {

// Keeps a reference to the problem. One per thread. Nothing is allocated in a run that records nothing.
//
// In the outcome: `links` is empty and `oom` never set; `busy` does not count the pauses; OpTimes::issue is
// the start; a sending is one entry of `transfers`, `to` being the device of its first remote consumer.
//
// Throws InputError if all ops and sendings one after the other would take more than the 2^63 ps (106 days)
// that a time can hold.
std::unique_ptr<Simulator> MakePublishedSimulator(const Problem& problem);

}  // namespace stowplan::sim
