// The oracle's links: lone times and max-min shares (docs/model.md, section 4), apart from the simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/cluster.h"

namespace stowplan::sim {

__extension__ using OracleWide = __int128;

// A link and 0 for forward, 1 for backward; a half-duplex link is always 0.
using OracleDirection = std::pair<std::int32_t, int>;
OracleDirection OracleDirectionOf(const Cluster& cluster, const Cluster::Hop& hop);

// T(b), written apart from sim::LoneTime so that the two check each other.
Picos OracleLoneTime(const Link& link, Bytes bytes);

struct OracleFlow {
  std::size_t number = 0;      // queue number
  std::int64_t bandwidth = 0;  // B, the narrowest of its route
  std::span<const Cluster::Hop> route;
};

// The rate of every flow [mB/s], by its number. In `fifo` each flow has its links to itself; otherwise they
// share.
std::map<std::size_t, OracleWide> OracleRates(const Cluster& cluster, const std::vector<OracleFlow>& flows);

}  // namespace stowplan::sim
