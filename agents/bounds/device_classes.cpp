#include "agents/bounds/device_classes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace stowplan::agents {
namespace {

using sim::DeviceIndex;

// By link: links of one number take the same times.
std::vector<std::int32_t> LinkKinds(const sim::Cluster& cluster) {
  using Times = std::tuple<std::int64_t, sim::Picos, std::vector<std::pair<sim::Bytes, sim::Picos>>>;
  std::map<Times, std::int32_t> known;
  std::vector<std::int32_t> kinds;
  for (const sim::Link& link : cluster.links) {
    const Times times(link.bandwidth, link.latency, link.curve);
    kinds.push_back(known.try_emplace(times, static_cast<std::int32_t>(known.size())).first->second);
  }
  return kinds;
}

// A number for each value, in the order in which they come.
template <typename Value>
class Numbers {
 public:
  std::int32_t Of(const Value& value) {
    return known_.try_emplace(value, static_cast<std::int32_t>(known_.size())).first->second;
  }
  std::size_t size() const { return known_.size(); }

 private:
  std::map<Value, std::int32_t> known_;
};

using Seen = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // colour, kind there, kind back

}  // namespace

RouteKinds::RouteKinds(const sim::Cluster& cluster, std::span<const DeviceIndex> devices)
    : devices_(devices.size()), kind_(devices.size() * devices.size(), -1) {
  const std::vector<std::int32_t> link_kinds = LinkKinds(cluster);
  const bool published = cluster.rules == sim::Rules::kPublished;  // knows no links
  Numbers<std::vector<std::int32_t>> numbers;
  std::vector<std::int32_t> route;
  for (std::size_t from = 0; from < devices_; ++from) {
    for (std::size_t to = 0; to < devices_; ++to) {
      if (from == to) continue;
      route.clear();
      if (!published) {
        for (const auto& hop : cluster.route(devices[from], devices[to]))
          route.push_back(link_kinds[static_cast<std::size_t>(hop.link)]);
      }
      std::ranges::sort(route);
      const std::int32_t kind = numbers.Of(route);
      if (numbers.size() > kinds_.size()) kinds_.push_back({devices[from], devices[to], 0});
      ++kinds_[static_cast<std::size_t>(kind)].pairs;
      kind_[from * devices_ + to] = kind;
    }
  }
}

// Colours are refined by what each device sees of the others until no more are told apart.
DeviceClasses::DeviceClasses(const RouteKinds& routes, std::vector<std::int32_t> colours) {
  const std::size_t devices = routes.devices();
  for (std::size_t before = 0, now = 1; before != now;) {
    before = now;
    Numbers<std::pair<std::int32_t, std::vector<Seen>>> numbers;
    std::vector<std::int32_t> refined;
    for (std::size_t d = 0; d < devices; ++d) {
      std::vector<Seen> seen;
      for (std::size_t other = 0; other < devices; ++other) {
        if (other != d) seen.emplace_back(colours[other], routes.Of(d, other), routes.Of(other, d));
      }
      std::ranges::sort(seen);
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
      refined.push_back(numbers.Of({colours[d], std::move(seen)}));
    }
    now = numbers.size();
    colours = std::move(refined);
  }
  for (std::size_t d = 0; d < devices; ++d) {
    const auto c = static_cast<std::size_t>(colours[d]);
    if (c == classes_.size()) classes_.push_back({d, 0});
    ++classes_[c].devices;
  }
  between_.resize(classes_.size() * classes_.size());
  for (std::size_t to = 0; to < classes_.size(); ++to) {
    const std::size_t d = classes_[to].first;
    for (std::size_t other = 0; other < devices; ++other) {
      if (other != d)
        between_[static_cast<std::size_t>(colours[other]) * classes_.size() + to].push_back(
            routes.Of(other, d));
    }
  }
  for (std::vector<std::int32_t>& kinds : between_) {
    std::ranges::sort(kinds);
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  }
}

}  // namespace stowplan::agents
