// How fast a core computes at this moment. Another guest's thread on the same physical core, or a lower clock,
// makes it slower, up to twice, for milliseconds or for hours, and no counter that a guest can read tells. Known work
// tells: what is measured at another pace is another machine's.
#pragma once

#include <cstdint>

#include "profiler/executor.h"

namespace stowplan::profiler {

// What two readings of the clock take with nothing between them [ns].
std::int64_t ClockCost();

// What a fixed product of matrices takes on this core now [ns], some thousand.
std::int64_t MeasurePace();

// The most common pace of these devices while all of them are busy, over some `milliseconds`: the middle of the
// shortest interval that holds half of the measurements.
Pace FindPace(const CoresByDevice& cores, int milliseconds);

// Of some `milliseconds`, all devices busy, the share that the work done in them takes at that pace, of the device that has
// the least of it: the rest went to other programs or to a slower pace. Where the pace was found on the same machine just
// before, what slows all of that time alike is not seen.
double QuietShare(const CoresByDevice& cores, const Pace& pace, int milliseconds);

// Of the elapsed time the share that so many products take at that pace, at most 1.
double ShareAtPace(std::int64_t products, const Pace& pace, std::int64_t elapsed_ns);

}  // namespace stowplan::profiler
