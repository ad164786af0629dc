// Which accelerators of a cluster are on one host, and by what its hosts are joined.
//
// Devices that reach one another without a link of a network are on one host: an NVLink domain of 72 GPUs is one, two sockets are one.
// A network link with one end in a host is one of its NICs, and the switch at its other end is the NIC's leaf. What a leaf has of links
// to other switches of the network is its uplink. Switches above the leaves are taken to be no bottleneck.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost_models/cost_models.h"
#include "sim/cluster.h"

namespace stowplan::cost_models {

inline constexpr double kPerMicro = 1e-6;  // [B/s] in [B/us]

struct Nic {
  double rate = 0;     // [B/us] of its line
  double latency = 0;  // [us]
  std::int32_t leaf = 0;
};

// Immutable; any thread.
class HostMap {
 public:
  HostMap(const sim::Cluster& cluster, const Catalogue& catalogue);

  std::int32_t host(sim::DeviceIndex device) const { return host_[static_cast<std::size_t>(device)]; }
  // Its own ones.
  std::span<const Nic> nics(sim::DeviceIndex device) const {
    return nics_of_device_[static_cast<std::size_t>(device)];
  }
  // Those at its switches, else those of its CPUs, else those of its accelerators.
  std::span<const Nic> host_nics(std::int32_t host) const {
    return nics_of_host_[static_cast<std::size_t>(host)];
  }
  std::int32_t leaves() const { return static_cast<std::int32_t>(uplink_.size()); }
  double uplink(std::int32_t leaf) const {
    return uplink_[static_cast<std::size_t>(leaf)];
  }  // [B/us]; 0 = none

  // [B/s] of a device's NVLinks: to switches, and to the devices of `group`, which is sorted; and of the widest of its other links
  // inside the host.
  double nvlink(sim::DeviceIndex device, std::span<const sim::DeviceIndex> group) const;
  double all_nvlink(sim::DeviceIndex device) const;
  double pcie(sim::DeviceIndex device) const { return pcie_[static_cast<std::size_t>(device)]; }
  // [us] of a NIC's link to another leaf.
  double uplink_latency() const { return uplink_latency_; }

 private:
  struct Peer {
    sim::DeviceIndex device;
    double bandwidth;
  };

  void NumberHosts();
  void ChooseHostNics();
  std::vector<Nic>& NicsAt(std::int32_t node, std::int32_t host);
  void ReadInside(const sim::Link& link, const LinkSheet* sheet);
  void ReadNetwork(const sim::Link& link, const LinkSheet& sheet, std::vector<std::int32_t>& leaf_of);
  std::int32_t LeafOf(std::int32_t node, std::vector<std::int32_t>& leaf_of);

  const sim::DeviceIndex devices_;
  std::vector<std::int32_t> root_;          // by node: the node that stands for its host
  std::vector<std::int32_t> host_;          // by device
  std::vector<std::int32_t> host_of_node_;  // -1: of the network
  std::vector<bool> is_cpu_;                // by device
  std::vector<std::vector<Nic>> nics_of_device_, nics_of_host_, nics_of_cpus_;
  std::vector<double> to_switches_, pcie_;  // by device
  std::vector<std::vector<Peer>> peers_;    // by device
  std::vector<double> uplink_;              // by leaf
  double uplink_latency_ = 0;
};

}  // namespace stowplan::cost_models
