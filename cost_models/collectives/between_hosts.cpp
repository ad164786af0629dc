#include "cost_models/collectives/between_hosts.h"

#include <algorithm>
#include <limits>

namespace stowplan::cost_models {
namespace {

using sim::CollectiveType;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::size_t IndexOf(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

double Log2Down(double value) {
  double power = 0;
  for (; value >= 2; value /= 2) ++power;
  return power;
}

class Reckoning {
 public:
  Reckoning(const NetworkConstants& network, const HostGroup& group) : n_(network), g_(group) {}

  double Ring(CollectiveType type, double bytes, Protocol protocol) const {
    const double bandwidth = RingBandwidth(protocol);
    if (bandwidth == 0) return kInfinite;
    const auto p = IndexOf(protocol);
    const double hops = HopsOf(type, g_.ranks);
    const double between = type == CollectiveType::kAllReduce ? 2 * g_.hosts : g_.hosts - 1;
    const double posted = n_.post * (protocol == Protocol::kSimple ? 3 : 1);
    double latency = std::max(hops - between, 0.0) * std::max(Inside(n_.ring)[p], posted) +
                     std::min(hops, between) * (n_.ring.network[p] + g_.latency);
    if (protocol == Protocol::kSimple && type == CollectiveType::kAllReduce && bytes >= kPlateau * g_.ranks)
      latency *= n_.ring_plateau;
    return n_.ring.start[p] + latency + bytes * StepsOf(type, g_.ranks) / (g_.ranks * bandwidth);
  }

  double Tree(double bytes, Protocol protocol) const {
    const auto p = IndexOf(protocol);
    if (protocol == Protocol::kLl128 && !HasLl128()) return kInfinite;
    double bandwidth = std::min(g_.inside, g_.ring) * n_.tree_share[p];
    if (protocol == Protocol::kLl) bandwidth = std::min(bandwidth, LlMost());
    const auto& correction = n_.tree_correction[p];
    const auto power = static_cast<std::size_t>(Log2Down(std::max(bytes / 64, 1.0)));
    if (power < correction.size()) bandwidth *= correction[power];
    const double hops =
        (g_.ranks_per_host - 1) * Inside(n_.tree)[p] + Log2Down(g_.hosts) * (n_.tree.network[p] + g_.latency);
    return n_.tree.start[p] + 2 * hops + 2 * bytes / bandwidth;
  }

  // The sums of a host are made in its switches while those before go up and down a tree of hosts.
  double InSwitchTree(double bytes) const {
    const double lines = g_.ring * n_.switch_share / (g_.hosts > 2 ? 2 : 1);
    const double inside = g_.in_switch->InSwitchTime(g_.ranks_per_host, bytes, g_.slowness);
    const double start = g_.in_switch->InSwitchTime(g_.ranks_per_host, 0, g_.slowness);
    return std::max(inside, start + bytes / lines) +
           2 * Log2Down(g_.hosts) * (n_.switch_network + g_.latency);
  }

  double AllToAll(double bytes, double host_part) const {
    const double peers = g_.ranks - g_.ranks_per_host;
    const double lines = bytes * g_.exchange;
    return n_.ring.start[IndexOf(Protocol::kSimple)] + n_.ring.network[IndexOf(Protocol::kSimple)] +
           g_.latency + peers * n_.post + std::max(lines, host_part);
  }

 private:
  static constexpr double kPlateau = 64;  // bytes for each rank

  const ByProtocol& Inside(const NetworkConstants::Hops& hops) const {
    return g_.has_nvlink ? hops.nvlink : hops.pcie;
  }
  double LlMost() const { return g_.hosts <= 2 ? n_.ll_two_hosts : n_.ll_more_hosts; }
  // NCCL trusts it between hosts only where GPUs and their NICs are close.
  bool HasLl128() const { return g_.has_nvlink && g_.has_own_nics; }

  double RingBandwidth(Protocol protocol) const {
    const double bandwidth = std::min(g_.inside, g_.ring);
    if (protocol == Protocol::kSimple) return bandwidth;
    if (protocol == Protocol::kLl) return std::min(bandwidth * n_.ll_share, LlMost());
    if (!HasLl128()) return 0;
    return bandwidth * (g_.ranks_per_host < 2 ? n_.ll128_one_rank : n_.ll128_share);
  }

  const NetworkConstants& n_;
  const HostGroup& g_;
};

}  // namespace

NetworkTime TimeBetweenHosts(const NetworkConstants& network, CollectiveType type, double bytes,
                             const HostGroup& group, double host_part) {
  const Reckoning reckoning(network, group);
  if (type == CollectiveType::kAllToAll) return {reckoning.AllToAll(bytes, host_part), "pairwise"};
  NetworkTime best{kInfinite, "ring"};
  const auto offer = [&best](double us, const char* algorithm) {
    if (us < best.us) best = {us, algorithm};
  };
  for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
    offer(reckoning.Ring(type, bytes, protocol), "ring");
    if (type == CollectiveType::kAllReduce) offer(reckoning.Tree(bytes, protocol), "tree");
  }
  if (type == CollectiveType::kAllReduce && group.in_switch != nullptr && group.ranks_per_host > 1)
    offer(reckoning.InSwitchTree(bytes), "in-switch tree");
  return best;
}

}  // namespace stowplan::cost_models
