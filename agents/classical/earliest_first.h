// Earliest task first (Hwang, Chow, Anger, Lee, SIAM J. Comput. 1989) as Baechi uses it, with the rules of
// favourite children for m_sct.
#pragma once

#include <vector>

#include "agents/classical/list_schedule.h"

namespace stowplan::agents {

// Among all pairs of a ready op and a device with room for its unit, the one that can start first is next; of
// equal ones the first op in topological order, then the first device. Nothing is put into a gap. An op that
// no device has room for waits until one has; where all that is left waits (Baechi fails), the unit of the
// smallest goes where most memory is left.
//
// Transfers, as in Baechi's code: a tensor is sent once to each device; a device sends and receives one tensor
// at a time, both through one channel; a sender does not wait for a busy receiver. Control dependencies and
// empty tensors take the latency and no channel (docs/model.md).
//
// `favourite`: by op, -1 = none; empty = nobody has one. As in Baechi's code: while the last op of a device has
// a favourite child that is ready, has no device yet and could start nowhere earlier, the device is kept for
// it, and takes no other ops but those that have to run there and urgent ones, which could by then start on
// any device.
//
// Memory, as in Baechi's code: a unit's persistent bytes from its assignment on, an op's outputs from when it
// is scheduled until all that read them or a view of them are. Beyond it, copies count like the outputs, and
// `reserve` of each device's capacity is left free; below zero there are no limits. Ops whose unit has a device
// run there, whether there is room or not.
UnitPlacement PlaceEarliestFirst(ListSchedule& list, const std::vector<sim::OpIndex>& favourite,
                                 double reserve);

}  // namespace stowplan::agents
