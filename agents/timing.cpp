#include "agents/timing.h"

#include <algorithm>

namespace stowplan::agents {

sim::Picos LoneTransferTime(const sim::Cluster& cluster, sim::Bytes bytes, sim::DeviceIndex from,
                            sim::DeviceIndex to) {
  if (from == to) return 0;
  if (cluster.rules == sim::Rules::kPublished) {
    // bytes / 7600 us. In whole picoseconds, rounded down: bytes * 10^6 / 7600 = bytes * 2500
    // / 19.
    return bytes / 19 * 2500 + bytes % 19 * 2500 / 19;
  }
  // docs/model.md 4: L + M, the latencies of the route and the largest of its links' times for the bytes
  // alone.
  sim::Picos latency = 0;
  sim::Picos slowest = 0;
  for (const sim::Cluster::Hop& hop : cluster.route(from, to)) {
    const sim::Link& link = cluster.links[static_cast<std::size_t>(hop.link)];
    const sim::Picos empty = sim::LoneTime(link, 0);
    latency += empty;
    if (bytes > 0) slowest = std::max(slowest, sim::LoneTime(link, bytes) - empty);
  }
  return latency + slowest;
}

sim::Picos DispatchCost(const sim::Cluster& cluster, const sim::Op& op, sim::DeviceIndex device) {
  if (cluster.rules == sim::Rules::kPublished) return 0;
  const sim::Dispatch& dispatch = cluster.dispatch;
  const sim::Picos cost =
      dispatch.automatic ? cluster.devices[static_cast<std::size_t>(device)].launch_cost : dispatch.cost;
  return cost * op.DispatchUnits();
}

}  // namespace stowplan::agents
