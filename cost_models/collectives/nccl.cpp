// Collectives as NCCL does them: laws fitted to measured times inside a host, NCCL's own reckoning between hosts.
//
// GPUs that nobody measured have the law of those with the same chip, else of those whose links are most like theirs, by which its steps
// are made longer or shorter. A group of unequal GPUs is as fast as its slowest. Ranks on one device count once. CPUs send over rings
// of the cluster's links.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "cost_models/collectives/between_hosts.h"
#include "cost_models/collectives/collectives.h"
#include "cost_models/collectives/hosts.h"
#include "cost_models/collectives/law_choice.h"
#include "cost_models/collectives/laws.h"
#include "cost_models/collectives/rails.h"

namespace stowplan::cost_models {
namespace {

using sim::CollectiveType;
using sim::DeviceIndex;

constexpr double kInfiniband =
    19.1;  // [us] of a path over NDR InfiniBand (links.yaml), which NCCL's constants stand for

class NcclCollectives : public CollectiveModel {
 public:
  NcclCollectives(const sim::Cluster& cluster, const Catalogue& catalogue)
      : cluster_(cluster), hosts_(cluster, catalogue), network_(BuiltinCollectiveData().network) {
    const LawChooser chooser(BuiltinCollectiveData(), catalogue);
    std::map<std::tuple<std::string, double, double>, std::int32_t> seen;
    for (DeviceIndex d = 0; d < cluster.size(); ++d) {
      const std::string& kind = cluster.devices[static_cast<std::size_t>(d)].kind;
      const std::tuple key(kind, hosts_.all_nvlink(d), hosts_.pcie(d));
      const auto [found, is_new] = seen.emplace(key, static_cast<std::int32_t>(sorts_.size()));
      sort_of_.push_back(found->second);
      if (is_new) AddSort(chooser, kind, hosts_.all_nvlink(d), hosts_.pcie(d));
    }
  }

  sim::Picos TimeOf(const sim::CollectiveShape& collective) const override {
    return Rounded(Price(collective).us);
  }

  CollectivePrice Explain(const sim::CollectiveShape& collective) const override {
    const Found found = Price(collective);
    CollectivePrice price{Rounded(found.us), found.algorithm, found.hosts, found.evidence};
    if (found.choice != nullptr) price.evidence = found.choice->evidence;
    if (found.hosts > 1 && found.choice != nullptr)
      price.evidence = std::string(kBetween) + "; inside, " + price.evidence;
    return price;
  }

 private:
  using Choices = std::array<LawChoice, kCollectiveTypes>;
  // Devices of one kind with the same links.
  struct Sort {
    std::optional<Choices> nvlink, pcie;
  };
  struct Found {
    double us = 0;
    const char* algorithm = "";
    int hosts = 1;
    const LawChoice* choice = nullptr;  // of the slowest ranks of a host
    const char* evidence = "";
  };
  // The ranks of one host: whether NVLinks join them all, and of each sort the narrowest links [B/s].
  struct Inside {
    bool nvlink = true;
    std::vector<std::pair<std::int32_t, double>> sorts;
  };

  static constexpr const char* kBetween = "paper: NCCL's own reckoning";
  static constexpr const char* kRingOfLinks = "derived: a ring over the cluster's links";

  static sim::Picos Rounded(double us) { return sim::FromMicros(std::min(us, sim::kMaxMicros)); }

  void AddSort(const LawChooser& chooser, const std::string& kind, double nvlink, double pcie) {
    Sort& sort = sorts_.emplace_back();
    const auto choose = [&](bool on_nvlink, double bandwidth) {
      Choices choices;
      for (int type = 0; type < kCollectiveTypes; ++type)
        choices[static_cast<std::size_t>(type)] =
            chooser.Choose(kind, on_nvlink, bandwidth, static_cast<CollectiveType>(type));
      return choices;
    };
    if (nvlink > 0) sort.nvlink = choose(true, nvlink);
    if (pcie > 0) sort.pcie = choose(false, pcie);
  }

  Found Price(const sim::CollectiveShape& collective) const {
    const RankGroup group(collective.devices, hosts_);
    if (group.devices().size() < 2 || collective.bytes == 0 || cluster_.links.empty()) return {};
    const auto bytes = static_cast<double>(collective.bytes);
    const bool on_cpu = std::ranges::any_of(group.devices(), [this](DeviceIndex d) {
      return cluster_.devices[static_cast<std::size_t>(d)].device_class == sim::DeviceClass::kCpu;
    });
    if (on_cpu) return OverLinks(collective.type, collective.bytes, group);
    if (group.hosts() == 1) return InHost(collective.type, bytes, group.devices());
    return BetweenHosts(collective.type, bytes, group);
  }

  Inside LinksOf(std::span<const DeviceIndex> ranks) const {
    Inside inside;
    for (const DeviceIndex rank : ranks) inside.nvlink = inside.nvlink && hosts_.nvlink(rank, ranks) > 0;
    for (const DeviceIndex rank : ranks) {
      const double bandwidth = inside.nvlink ? hosts_.nvlink(rank, ranks) : hosts_.pcie(rank);
      const std::int32_t sort = sort_of_[static_cast<std::size_t>(rank)];
      const auto found = std::ranges::find(inside.sorts, sort, &std::pair<std::int32_t, double>::first);
      if (found == inside.sorts.end()) {
        inside.sorts.emplace_back(sort, bandwidth);
      } else {
        found->second = std::min(found->second, bandwidth);
      }
    }
    return inside;
  }

  // Null where no link inside the host is known.
  const LawChoice* ChoiceOf(std::int32_t sort, bool nvlink, CollectiveType type) const {
    const auto& choices =
        nvlink ? sorts_[static_cast<std::size_t>(sort)].nvlink : sorts_[static_cast<std::size_t>(sort)].pcie;
    return choices ? &(*choices)[static_cast<std::size_t>(type)] : nullptr;
  }

  Found InHost(CollectiveType type, double bytes, std::span<const DeviceIndex> devices) const {
    const Inside inside = LinksOf(devices);
    const auto ranks = static_cast<double>(devices.size());
    Found slowest;
    for (const auto& [sort, bandwidth] : inside.sorts) {
      const LawChoice* const choice = ChoiceOf(sort, inside.nvlink, type);
      if (choice == nullptr) continue;
      const double slowness = choice->bandwidth / bandwidth;
      Found found{choice->law.Ring(ranks, bytes, slowness),
                  type == CollectiveType::kAllToAll ? "pairwise" : "ring", 1, choice};
      if (choice->law.in_switch) {
        const double in_switch = choice->law.InSwitchTime(ranks, bytes, slowness);
        if (in_switch < found.us) found = {in_switch, "in-switch", 1, choice};
      }
      if (found.us > slowest.us) slowest = found;
    }
    return slowest;
  }

  Found BetweenHosts(CollectiveType type, double bytes, const RankGroup& group) const {
    Rails rails(group, hosts_, network_.efficiency);
    HostGroup of{.ranks = group.ranks(), .hosts = static_cast<double>(group.hosts())};
    of.ring = rails.Ring();
    of.exchange = type == CollectiveType::kAllToAll ? rails.Exchange() : 0;
    of.latency = std::max(rails.latency() - kInfiniband, 0.0);
    of.has_own_nics = rails.own();
    of.has_nvlink = true;
    of.inside = std::numeric_limits<double>::infinity();
    Found found;
    double host_part = 0;
    for (std::size_t host = 0; host < group.hosts(); ++host) {
      const std::span<const DeviceIndex> devices = group.of_host(host);
      const auto inside = static_cast<double>(devices.size());
      of.ranks_per_host = std::max(of.ranks_per_host, inside);
      AddInside(type, devices, of, found);
      if (type == CollectiveType::kAllToAll && inside > 1)
        host_part = std::max(host_part, InHost(type, bytes * inside / of.ranks, devices).us);
    }
    const NetworkTime time = TimeBetweenHosts(network_, type, bytes, of, host_part);
    found.us = time.us;
    found.algorithm = time.algorithm;
    found.hosts = static_cast<int>(group.hosts());
    found.evidence = kBetween;
    return found;
  }

  // What the links inside one more host do to the group.
  void AddInside(CollectiveType type, std::span<const DeviceIndex> devices, HostGroup& of,
                 Found& found) const {
    if (devices.size() == 1) {
      of.has_nvlink = of.has_nvlink && hosts_.all_nvlink(devices.front()) > 0;
      return;
    }
    const Inside inside = LinksOf(devices);
    of.has_nvlink = of.has_nvlink && inside.nvlink;
    for (const auto& [sort, bandwidth] : inside.sorts) {
      const LawChoice* const choice = ChoiceOf(sort, inside.nvlink, type);
      if (choice == nullptr) continue;
      const double slowness = choice->bandwidth / bandwidth;
      const double rate = choice->law.Rate(static_cast<double>(devices.size()), slowness);
      if (found.choice != nullptr && rate >= of.inside) continue;
      of.inside = rate;
      of.slowness = slowness;
      of.in_switch = choice->law.in_switch ? &choice->law : nullptr;
      found.choice = choice;
    }
  }

  // Of ranks on CPUs: each step takes what the slowest of its sends takes alone.
  Found OverLinks(CollectiveType type, sim::Bytes bytes, const RankGroup& group) const {
    const auto devices = group.devices();
    const sim::Bytes chunk = bytes / static_cast<sim::Bytes>(devices.size());
    sim::Picos slowest = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      sim::Picos latency = 0, longest = 0;
      for (const auto& hop : cluster_.route(devices[i], devices[(i + 1) % devices.size()])) {
        const sim::Link& link = cluster_.links[static_cast<std::size_t>(hop.link)];
        latency += link.latency;
        longest = std::max(longest, sim::LoneTime(link, chunk) - link.latency);
      }
      slowest = std::max(slowest, latency + longest);
    }
    return {StepsOf(type, group.ranks()) * sim::ToMicros(slowest), "ring", static_cast<int>(group.hosts()),
            nullptr, kRingOfLinks};
  }

  const sim::Cluster& cluster_;
  const HostMap hosts_;
  const NetworkConstants& network_;
  std::vector<Sort> sorts_;
  std::vector<std::int32_t> sort_of_;  // by device
};

}  // namespace

std::unique_ptr<CollectiveModel> MakeNcclCollectives(const Settings& /*read*/, const sim::Cluster& cluster,
                                                     const Catalogue& catalogue) {
  return std::make_unique<NcclCollectives>(cluster, catalogue);
}

}  // namespace stowplan::cost_models
