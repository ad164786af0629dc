// When the devices of one run work and send, small enough for a row of rows.csv and fine enough for a
// drawing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/outcome.h"
#include "sim/placement.h"

namespace stowplan::tables {

inline constexpr std::size_t kTimelineParts = 120;  // of the runtime, equally long

// One device: the part of each slice with at least one op running, and with a transfer from it under way; 0
// to 1.
struct TimelineLane {
  std::string device;
  std::array<double, kTimelineParts> works{};
  std::array<double, kTimelineParts> sends{};
};

// "gpu0:<works>:<sends>" for each device, joined by blanks; a digit for each slice, tenths rounded up, 9 =
// nine or more. Needs Record::kTimeline.
std::string KeepTimeline(const sim::Outcome& outcome, const sim::Placement& placement,
                         const sim::Cluster& cluster);
// Throws InputError naming `where` for another text. Empty text = no lanes.
std::vector<TimelineLane> ReadTimeline(const std::string& text, const std::string& where);

}  // namespace stowplan::tables
