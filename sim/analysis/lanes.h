// What a drawing of one run is made of: a lane for each host thread, device and link direction, with what it did when.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/simulator.h"

namespace stowplan::sim {

struct LaneSlice {
  Picos start = 0;
  Picos end = 0;
  std::int32_t index = 0;  // op in lanes of hosts and devices, else position in Outcome::transfers
  std::int32_t track = 0;  // slices of one track do not overlap
  bool again = false;      // a transfer that an earlier link of its route shows too
};

struct Lane {
  enum class Kind : std::uint8_t {
    kHost,     // issues ops; index = device, or -1 for the host thread of all
    kDevice,   // runs ops; index = device
    kLink,     // carries transfers; index = link
    kChannel,  // what a device sends to another, where there are no links (published rules); index = sender
  };
  Kind kind = Kind::kDevice;
  std::int32_t index = 0;
  bool backward = false;            // kLink, full duplex: from its second end to its first
  DeviceIndex to = -1;              // kChannel
  std::int32_t tracks = 0;          // as many as needed: several streams, shared links
  std::vector<LaneSlice> slices{};  // ascending by start, then end
};

// Hosts, devices, links, channels, each in cluster order. Lanes may be empty. Control dependencies and empty tensors
// hold no link and are in no lane; what takes no time has slices of no length. `outcome` must have been recorded with
// RunOptions::Record::kTimeline.
std::vector<Lane> MakeLanes(const Problem& problem, const Placement& placement, const Outcome& outcome);

}  // namespace stowplan::sim
