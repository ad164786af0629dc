#include "cost_models/collectives/hosts.h"

#include <algorithm>
#include <numeric>

namespace stowplan::cost_models {
namespace {

// Links whose kind the catalogue does not have, such as calibrated ones: no PCI Express of today is as wide.
constexpr double kWiderThanPcie = 70e9;  // [B/s]

std::int32_t Find(std::vector<std::int32_t>& root, std::int32_t node) {
  while (root[static_cast<std::size_t>(node)] != node) {
    auto& up = root[static_cast<std::size_t>(node)];
    up = root[static_cast<std::size_t>(up)];
    node = up;
  }
  return node;
}

bool IsNvlink(const sim::Link& link, const LinkSheet* sheet) {
  if (sheet != nullptr && sheet->fabric) return *sheet->fabric == Fabric::kNvlink;
  return static_cast<double>(link.bandwidth) >= kWiderThanPcie;
}

}  // namespace

HostMap::HostMap(const sim::Cluster& cluster, const Catalogue& catalogue) : devices_(cluster.size()) {
  const auto devices = static_cast<std::size_t>(devices_);
  root_.resize(devices + cluster.switches.size());
  std::iota(root_.begin(), root_.end(), 0);
  for (const sim::Device& device : cluster.devices)
    is_cpu_.push_back(device.device_class == sim::DeviceClass::kCpu);
  std::vector<const LinkSheet*> sheets;
  for (const sim::Link& link : cluster.links) {
    const LinkSheet* const sheet = catalogue.FindLinkSheet(link.kind);
    sheets.push_back(sheet);
    if (sheet != nullptr && sheet->fabric == Fabric::kNetwork) continue;
    root_[static_cast<std::size_t>(Find(root_, link.ends[0]))] = Find(root_, link.ends[1]);
  }
  NumberHosts();
  to_switches_.resize(devices);
  pcie_.resize(devices);
  peers_.resize(devices);
  nics_of_device_.resize(devices);
  std::vector<std::int32_t> leaf_of(root_.size(), -1);
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    if (sheets[i] != nullptr && sheets[i]->fabric == Fabric::kNetwork) {
      ReadNetwork(cluster.links[i], *sheets[i], leaf_of);
    } else {
      ReadInside(cluster.links[i], sheets[i]);
    }
  }
  ChooseHostNics();
}

// Those nearest to accelerators: of a CPU's only where there are no others.
void HostMap::ChooseHostNics() {
  std::vector<std::vector<Nic>> own(nics_of_host_.size());
  for (sim::DeviceIndex d = 0; d < devices_; ++d) {
    auto& nics = own[static_cast<std::size_t>(host(d))];
    nics.insert(nics.end(), this->nics(d).begin(), this->nics(d).end());
  }
  for (std::size_t host = 0; host < own.size(); ++host) {
    if (nics_of_host_[host].empty()) nics_of_host_[host] = std::move(nics_of_cpus_[host]);
    if (nics_of_host_[host].empty()) nics_of_host_[host] = std::move(own[host]);
  }
}

// Hosts are numbered by their first devices; what has none is the network.
void HostMap::NumberHosts() {
  std::vector<std::int32_t> number(root_.size(), -1);
  std::int32_t hosts = 0;
  for (sim::DeviceIndex d = 0; d < devices_; ++d) {
    auto& host = number[static_cast<std::size_t>(Find(root_, d))];
    if (host < 0) host = hosts++;
    host_.push_back(host);
  }
  for (std::size_t node = 0; node < root_.size(); ++node)
    host_of_node_.push_back(number[static_cast<std::size_t>(Find(root_, static_cast<std::int32_t>(node)))]);
  nics_of_host_.resize(static_cast<std::size_t>(hosts));
  nics_of_cpus_.resize(static_cast<std::size_t>(hosts));
}

void HostMap::ReadInside(const sim::Link& link, const LinkSheet* sheet) {
  const auto bandwidth = static_cast<double>(link.bandwidth);
  for (const int end : {0, 1}) {
    const std::int32_t device = link.ends[static_cast<std::size_t>(end)];
    const std::int32_t other = link.ends[static_cast<std::size_t>(1 - end)];
    if (device >= devices_) continue;
    const auto at = static_cast<std::size_t>(device);
    if (!IsNvlink(link, sheet)) {
      pcie_[at] = std::max(pcie_[at], bandwidth);
    } else if (other >= devices_) {
      to_switches_[at] += bandwidth;
    } else {
      peers_[at].push_back({other, bandwidth});
    }
  }
}

std::int32_t HostMap::LeafOf(std::int32_t node, std::vector<std::int32_t>& leaf_of) {
  auto& leaf = leaf_of[static_cast<std::size_t>(node)];
  if (leaf < 0) {
    leaf = static_cast<std::int32_t>(uplink_.size());
    uplink_.push_back(0);
  }
  return leaf;
}

void HostMap::ReadNetwork(const sim::Link& link, const LinkSheet& sheet, std::vector<std::int32_t>& leaf_of) {
  // A link that is wider or narrower than its kind has as much more or less of a line.
  const double share = static_cast<double>(link.bandwidth) / static_cast<double>(sheet.kind.bandwidth);
  const double line = sheet.line_rate > 0 ? sheet.line_rate : static_cast<double>(sheet.kind.bandwidth);
  const Nic nic{line * share * kPerMicro, sim::ToMicros(link.latency), -1};
  for (const int end : {0, 1}) {
    const std::int32_t node = link.ends[static_cast<std::size_t>(end)];
    const std::int32_t other = link.ends[static_cast<std::size_t>(1 - end)];
    const std::int32_t host = host_of_node_[static_cast<std::size_t>(node)];
    if (host < 0) {
      if (host_of_node_[static_cast<std::size_t>(other)] >= 0) continue;
      uplink_[static_cast<std::size_t>(LeafOf(node, leaf_of))] += nic.rate;
      uplink_latency_ = std::max(uplink_latency_, nic.latency);
      continue;
    }
    NicsAt(node, host).push_back({nic.rate, nic.latency, LeafOf(other, leaf_of)});
  }
}

std::vector<Nic>& HostMap::NicsAt(std::int32_t node, std::int32_t host) {
  if (node >= devices_) return nics_of_host_[static_cast<std::size_t>(host)];
  return is_cpu_[static_cast<std::size_t>(node)] ? nics_of_cpus_[static_cast<std::size_t>(host)]
                                                 : nics_of_device_[static_cast<std::size_t>(node)];
}

double HostMap::all_nvlink(sim::DeviceIndex device) const {
  double bandwidth = to_switches_[static_cast<std::size_t>(device)];
  for (const Peer& peer : peers_[static_cast<std::size_t>(device)]) bandwidth += peer.bandwidth;
  return bandwidth;
}

double HostMap::nvlink(sim::DeviceIndex device, std::span<const sim::DeviceIndex> group) const {
  double bandwidth = to_switches_[static_cast<std::size_t>(device)];
  for (const Peer& peer : peers_[static_cast<std::size_t>(device)])
    if (std::ranges::binary_search(group, peer.device)) bandwidth += peer.bandwidth;
  return bandwidth;
}

}  // namespace stowplan::cost_models
