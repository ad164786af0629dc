// How fast a core computes at this moment. Another guest's thread on the same physical core, or a lower clock,
// makes it slower, up to twice, for milliseconds or for hours, and no counter that a guest can read tells. Known work
// tells: what is measured at another pace is another machine's.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::profiler {

// What a fixed product of matrices takes on this core now [ns], some thousand.
std::int64_t MeasurePace();

// The pace that measurements are to be taken at.
struct Pace {
  std::int64_t ns = 0;  // 0: any

  // Whether one is within a third of it: what the clock does before and after wide instructions, and a device that was
  // idle, makes up to a quarter; a neighbour makes half or more.
  bool Holds(std::int64_t measured) const {
    const std::int64_t away = measured > ns ? measured - ns : ns - measured;
    return ns == 0 || away * 3 <= ns;
  }
};

// The most common pace of these devices while all of them are busy, over some `milliseconds`: the middle of the
// shortest interval that holds half of the measurements.
Pace FindPace(const std::vector<std::vector<int>>& cores, int milliseconds);

}  // namespace berth::profiler
