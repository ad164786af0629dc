// The oracle's collectives: places in the devices' communicator queues, apart from the simulation (docs/model.md, section 11).
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/cluster.h"
#include "sim/collective_prices.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::sim {

class OracleCollectives {
 public:
  static constexpr Picos kNever = std::numeric_limits<Picos>::max();

  OracleCollectives(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                    const CollectivePrices& prices);

  bool IsMember(OpIndex i) const { return of_.contains(i); }
  // Of the members on one device each and the one after it, in program order.
  std::vector<std::pair<OpIndex, OpIndex>> Turns() const;

  // A member that has been issued: its collective takes a place on its device.
  void Issue(OpIndex i);
  bool RunsOn(DeviceIndex d) const;
  // The members of what starts: first everywhere, and all of them `ready`.
  std::vector<OpIndex> Start(Picos now, const std::function<bool(OpIndex)>& ready);
  std::vector<OpIndex> End(Picos now);
  Picos next_end() const;

 private:
  struct Joined {
    std::set<OpIndex> members;
    std::set<DeviceIndex> devices;  // of the members
    Picos price = 0;
    Picos end = kNever;  // while it runs
    bool ended = false;
  };

  DeviceIndex Where(OpIndex i) const { return placement_.device[static_cast<std::size_t>(i)]; }

  const OpGraph& graph_;
  const Placement& placement_;
  std::vector<Joined> all_;
  std::map<OpIndex, std::size_t> of_;
  std::vector<std::vector<std::size_t>> queue_;  // by device, in the order of their places
};

}  // namespace stowplan::sim
