// The devices of one collective by host, and what the NICs of these hosts carry together. Internal to cost_models/collectives/.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "cost_models/collectives/hosts.h"

namespace stowplan::cost_models {

// The distinct devices of one collective, host by host.
class RankGroup {
 public:
  RankGroup(std::span<const sim::DeviceIndex> ranks, const HostMap& hosts)
      : devices_(ranks.begin(), ranks.end()) {
    const auto before = [&hosts](sim::DeviceIndex a, sim::DeviceIndex b) {
      return std::pair(hosts.host(a), a) < std::pair(hosts.host(b), b);
    };
    if (!std::ranges::is_sorted(devices_, before)) std::ranges::sort(devices_, before);
    devices_.erase(std::unique(devices_.begin(), devices_.end()), devices_.end());
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (i == 0 || hosts.host(devices_[i]) != hosts.host(devices_[i - 1])) begin_.push_back(i);
    begin_.push_back(devices_.size());
  }

  std::span<const sim::DeviceIndex> devices() const { return devices_; }
  double ranks() const { return static_cast<double>(devices_.size()); }
  std::size_t hosts() const { return begin_.size() - 1; }
  std::span<const sim::DeviceIndex> of_host(std::size_t host) const {
    return std::span(devices_).subspan(begin_[host], begin_[host + 1] - begin_[host]);
  }

 private:
  std::vector<sim::DeviceIndex> devices_;
  std::vector<std::size_t> begin_;  // of each host, and the end
};

// What the NICs of a group's hosts can do together.
class Rails {
 public:
  Rails(const RankGroup& group, const HostMap& hosts, double efficiency)
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
  void AddHost(std::span<const sim::DeviceIndex> ranks) {
    std::vector<Nic> nics;
    for (const sim::DeviceIndex rank : ranks)
      nics.insert(nics.end(), hosts_.nics(rank).begin(), hosts_.nics(rank).end());
    double most = std::numeric_limits<double>::infinity();
    if (nics.empty()) {
      own_ = false;
      const auto all = hosts_.host_nics(hosts_.host(ranks.front()));
      nics.assign(all.begin(), all.end());
      most = 0;  // all goes over what joins the ranks to the host
      for (const sim::DeviceIndex rank : ranks) most += hosts_.pcie(rank) * kPerMicro;
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

  const RankGroup& group_;
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

}  // namespace stowplan::cost_models
