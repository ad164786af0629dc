// Collectives as NCCL does them: laws fitted to measured times inside a host, NCCL's own reckoning between hosts.
//
// GPUs that nobody measured have the law of those with the same chip, else of those whose links are most like theirs, by which its steps
// are made longer or shorter. A group of unequal GPUs is as fast as its slowest. Ranks on one device count once. CPUs send over rings
// of the cluster's links.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "cost_models/collectives/between_hosts.h"
#include "cost_models/collectives/collectives.h"
#include "cost_models/collectives/hosts.h"
#include "cost_models/collectives/laws.h"
#include "cost_models/ops/portable_math.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

using sim::CollectiveType;
using sim::DeviceIndex;

constexpr int kTypes = 6;

constexpr double kInfiniband =
    19.1;  // [us] of a path over NDR InfiniBand (links.yaml), which NCCL's constants stand for

struct Choice {
  HostLaw law;
  double bandwidth = 0;  // [B/s] of the links that it was measured on
  std::string evidence;
};

// A law of another type made from what was measured: an all-reduce is a reduce-scatter and an all-gather.
HostLaw Half(HostLaw law) {
  for (HostLaw::Knot& knot : law.knots) knot.start /= 2;
  law.in_switch.reset();
  return law;
}

// Laws by fabric and kind of GPU.
class LawChooser {
 public:
  LawChooser(const CollectiveData& data, const Catalogue& catalogue) : data_(data), catalogue_(catalogue) {}

  // `bandwidth`: [B/s] of the links of a GPU of this kind.
  Choice Choose(const std::string& kind, bool nvlink, double bandwidth, CollectiveType type) const {
    const std::string like = NearestGpu(kind, nvlink, bandwidth);
    const auto [law, derived] = LawOf(like, type);
    const double measured = LinkBandwidth(*law);
    std::string evidence = law->source;
    if (like != kind || derived) {
      evidence = fmt::format("derived: {} of {}", ToString(law->type), like);
      if (like != kind) evidence += fmt::format(", links {:.3g} times as wide", bandwidth / measured);
    }
    HostLaw chosen = derived && law->type == CollectiveType::kAllReduce ? Half(*law) : *law;
    chosen.type = type;
    return {std::move(chosen), measured, std::move(evidence)};
  }

 private:
  double LinkBandwidth(const HostLaw& law) const {
    const LinkSheet* const sheet = catalogue_.FindLinkSheet(law.link);
    return static_cast<double>(
        (sheet != nullptr ? sheet : BuiltinCatalogue().FindLinkSheet(law.link))->kind.bandwidth);
  }
  bool IsNvlink(const HostLaw& law) const { return law.link.starts_with("nv"); }

  // The kind itself, else one of its chip, else the one with the most similar links; the first of equals.
  std::string NearestGpu(const std::string& kind, bool nvlink, double bandwidth) const {
    const DeviceSheet* const sheet = catalogue_.FindSheet(kind);
    const HostLaw* nearest = nullptr;
    double least = 0;
    for (const HostLaw& law : data_.laws) {
      if (IsNvlink(law) != nvlink) continue;
      double distance = std::abs(PortableLog(bandwidth / LinkBandwidth(law)));
      const DeviceSheet* const measured = catalogue_.FindSheet(law.gpu);
      if (sheet != nullptr && measured != nullptr && !sheet->chip.empty() && sheet->chip == measured->chip)
        distance -= kMuch;
      if (law.gpu == kind) distance -= 2 * kMuch;
      if (nearest == nullptr || distance < least) {
        nearest = &law;
        least = distance;
      }
    }
    return nearest->gpu;
  }

  // And whether it is one of another type.
  std::pair<const HostLaw*, bool> LawOf(const std::string& gpu, CollectiveType type) const {
    static constexpr std::array<std::array<CollectiveType, 3>, kTypes> kFrom = {{
        {CollectiveType::kAllReduce, CollectiveType::kAllReduce, CollectiveType::kAllReduce},
        {CollectiveType::kReduceScatter, CollectiveType::kAllGather, CollectiveType::kAllReduce},
        {CollectiveType::kAllGather, CollectiveType::kReduceScatter, CollectiveType::kAllReduce},
        {CollectiveType::kAllToAll, CollectiveType::kAllGather, CollectiveType::kAllReduce},
        {CollectiveType::kBroadcast, CollectiveType::kAllGather, CollectiveType::kAllReduce},
        {CollectiveType::kReduce, CollectiveType::kReduceScatter, CollectiveType::kAllReduce},
    }};
    for (const CollectiveType from : kFrom[static_cast<std::size_t>(type)]) {
      for (const HostLaw& law : data_.laws)
        if (law.gpu == gpu && law.type == from) return {&law, from != type};
    }
    throw InputError("cost_models/data/collectives.yaml: has no all-reduce of " + gpu);
  }

  static constexpr double kMuch = 1e6;

  const CollectiveData& data_;
  const Catalogue& catalogue_;
};

// The distinct devices of one collective, host by host.
class Group {
 public:
  Group(std::span<const DeviceIndex> ranks, const HostMap& hosts) : devices_(ranks.begin(), ranks.end()) {
    const auto before = [&hosts](DeviceIndex a, DeviceIndex b) {
      return std::pair(hosts.host(a), a) < std::pair(hosts.host(b), b);
    };
    if (!std::ranges::is_sorted(devices_, before)) std::ranges::sort(devices_, before);
    devices_.erase(std::unique(devices_.begin(), devices_.end()), devices_.end());
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (i == 0 || hosts.host(devices_[i]) != hosts.host(devices_[i - 1])) begin_.push_back(i);
    begin_.push_back(devices_.size());
  }

  std::span<const DeviceIndex> devices() const { return devices_; }
  double ranks() const { return static_cast<double>(devices_.size()); }
  std::size_t hosts() const { return begin_.size() - 1; }
  std::span<const DeviceIndex> of_host(std::size_t host) const {
    return std::span(devices_).subspan(begin_[host], begin_[host + 1] - begin_[host]);
  }

 private:
  std::vector<DeviceIndex> devices_;
  std::vector<std::size_t> begin_;  // of each host, and the end
};

// What the NICs of a group's hosts can do together.
class Rails {
 public:
  Rails(const Group& group, const HostMap& hosts, double efficiency)
      : group_(group), hosts_(hosts), efficiency_(efficiency) {
    for (std::size_t host = 0; host < group.hosts(); ++host) AddHost(group.of_host(host));
  }

  bool own() const { return own_; }
  bool crosses() const { return crosses_; }
  double latency() const { return 2 * nic_latency_ + (crosses_ ? 2 * hosts_.uplink_latency() : 0); }

  // [B/us] of rings that cross each host by all NICs. Where several of them take the same uplink, they share it.
  double Ring() {
    if (hosts_.leaves() > 1) CountFlows();
    double rate = least_;
    for (std::int32_t leaf = 0; crosses_ && leaf < hosts_.leaves(); ++leaf) {
      const double flows =
          std::max(out_[static_cast<std::size_t>(leaf)], in_[static_cast<std::size_t>(leaf)]);
      if (flows > 0 && hosts_.uplink(leaf) > 0)
        rate = std::min(rate, hosts_.uplink(leaf) * efficiency_ * static_cast<double>(rails_) / flows);
    }
    return rate;
  }

  // [us] that it takes each byte of a tensor of which every rank sends every other one its part.
  double Exchange() const {
    const double ranks = group_.ranks();
    double longest = 0;
    std::vector<double> load(static_cast<std::size_t>(hosts_.leaves()));
    std::vector<double> members(load.size());
    for (std::size_t host = 0; host < group_.hosts(); ++host) {
      const auto inside = static_cast<double>(group_.of_host(host).size());
      const double out = inside * (ranks - inside) / ranks;
      longest = std::max(longest, out / rate_[host]);
      for (const Nic& nic : nics_[host])
        load[static_cast<std::size_t>(nic.leaf)] += out / static_cast<double>(nics_[host].size());
      for (const std::int32_t leaf : LeavesOf(nics_[host])) ++members[static_cast<std::size_t>(leaf)];
    }
    const auto hosts = static_cast<double>(group_.hosts());
    for (std::size_t leaf = 0; leaf < load.size(); ++leaf) {
      const double uplink = hosts_.uplink(static_cast<std::int32_t>(leaf)) * efficiency_;
      if (uplink > 0)
        longest = std::max(longest, load[leaf] * (hosts - members[leaf]) / (hosts - 1) / uplink);
    }
    return longest;
  }

 private:
  void AddHost(std::span<const DeviceIndex> ranks) {
    std::vector<Nic> nics;
    for (const DeviceIndex rank : ranks)
      nics.insert(nics.end(), hosts_.nics(rank).begin(), hosts_.nics(rank).end());
    double most = std::numeric_limits<double>::infinity();
    if (nics.empty()) {
      own_ = false;
      const auto all = hosts_.host_nics(hosts_.host(ranks.front()));
      nics.assign(all.begin(), all.end());
      most = 0;  // all goes over what joins the ranks to the host
      for (const DeviceIndex rank : ranks) most += hosts_.pcie(rank) * kPerMicro;
    }
    double rate = 0;
    for (const Nic& nic : nics) {
      rate += nic.rate * efficiency_;
      nic_latency_ = std::max(nic_latency_, nic.latency);
    }
    rate_.push_back(std::min(rate, most > 0 ? most : rate));
    least_ = rate_.size() == 1 ? rate_.back() : std::min(least_, rate_.back());
    rails_ = rate_.size() == 1 ? nics.size() : std::min(rails_, nics.size());
    nics_.push_back(std::move(nics));
  }

  void CountFlows() {
    out_.assign(static_cast<std::size_t>(hosts_.leaves()), 0);
    in_ = out_;
    for (std::size_t host = 0; host < nics_.size(); ++host) {
      const auto& next = nics_[(host + 1) % nics_.size()];
      for (std::size_t rail = 0; rail < rails_; ++rail) {
        const std::int32_t from = nics_[host][rail].leaf, to = next[rail].leaf;
        if (from == to) continue;
        crosses_ = true;
        ++out_[static_cast<std::size_t>(from)];
        ++in_[static_cast<std::size_t>(to)];
      }
    }
  }

  static std::vector<std::int32_t> LeavesOf(const std::vector<Nic>& nics) {
    std::vector<std::int32_t> leaves;
    for (const Nic& nic : nics) leaves.push_back(nic.leaf);
    std::ranges::sort(leaves);
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    return leaves;
  }

  const Group& group_;
  const HostMap& hosts_;
  const double efficiency_;
  bool own_ = true, crosses_ = false;
  double nic_latency_ = 0;
  double least_ = 0;  // [B/us]
  std::size_t rails_ = 0;
  std::vector<double> rate_;            // by host [B/us]
  std::vector<std::vector<Nic>> nics_;  // by host
  std::vector<double> out_, in_;        // by leaf: rails that take its uplink
};

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
  using Choices = std::array<Choice, kTypes>;
  // Devices of one kind with the same links.
  struct Sort {
    std::optional<Choices> nvlink, pcie;
  };
  struct Found {
    double us = 0;
    const char* algorithm = "";
    int hosts = 1;
    const Choice* choice = nullptr;  // of the slowest ranks of a host
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
      for (int type = 0; type < kTypes; ++type)
        choices[static_cast<std::size_t>(type)] =
            chooser.Choose(kind, on_nvlink, bandwidth, static_cast<CollectiveType>(type));
      return choices;
    };
    if (nvlink > 0) sort.nvlink = choose(true, nvlink);
    if (pcie > 0) sort.pcie = choose(false, pcie);
  }

  Found Price(const sim::CollectiveShape& collective) const {
    const Group group(collective.devices, hosts_);
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
  const Choice* ChoiceOf(std::int32_t sort, bool nvlink, CollectiveType type) const {
    const auto& choices =
        nvlink ? sorts_[static_cast<std::size_t>(sort)].nvlink : sorts_[static_cast<std::size_t>(sort)].pcie;
    return choices ? &(*choices)[static_cast<std::size_t>(type)] : nullptr;
  }

  Found InHost(CollectiveType type, double bytes, std::span<const DeviceIndex> devices) const {
    const Inside inside = LinksOf(devices);
    const auto ranks = static_cast<double>(devices.size());
    Found slowest;
    for (const auto& [sort, bandwidth] : inside.sorts) {
      const Choice* const choice = ChoiceOf(sort, inside.nvlink, type);
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

  Found BetweenHosts(CollectiveType type, double bytes, const Group& group) const {
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
      const Choice* const choice = ChoiceOf(sort, inside.nvlink, type);
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
  Found OverLinks(CollectiveType type, sim::Bytes bytes, const Group& group) const {
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
