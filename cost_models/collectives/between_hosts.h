// How long a collective over several hosts takes alone, as NCCL itself reckons when it chooses between its algorithms: rings through
// all hosts that enter and leave each by all NICs, and trees between hosts with a chain or the sums of switches inside each. Its
// all-to-all is sends between all pairs.
//
// Not modelled: other collectives on the same lines, switches of the network that add up (SHARP of InfiniBand), congestion.
#pragma once

#include "cost_models/collectives/laws.h"
#include "sim/collective_prices.h"

namespace stowplan::cost_models {

// Bandwidths in bytes a us, of one host where nothing else is said.
struct HostGroup {
  double ranks = 0;
  double hosts = 0;
  double ranks_per_host = 0;  // of the host with most
  double inside = 0;          // a ring's, inside a host
  double ring = 0;            // of all NICs that the ranks use, less what rings lose at uplinks
  double exchange = 0;        // [us] that each byte of an all-to-all's tensors takes at the fullest line
  double latency = 0;         // [us] of a path between hosts beyond that of InfiniBand
  bool has_nvlink = false;
  bool has_own_nics = false;           // each GPU its own
  const HostLaw* in_switch = nullptr;  // of all-reduces where switches add up
  double slowness = 1;                 // of the links, for in_switch
};

struct NetworkTime {
  double us = 0;
  const char* algorithm = "ring";
};

// `host_part`: [us] that an all-to-all takes of what stays in each host.
NetworkTime TimeBetweenHosts(const NetworkConstants& network, sim::CollectiveType type, double bytes,
                             const HostGroup& group, double host_part);

}  // namespace stowplan::cost_models
