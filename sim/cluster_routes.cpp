#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/exact.h"
#include "sim/cluster.h"

namespace stowplan::sim {
namespace {

// A problem and a simulator have some 30 bytes for each of them: half a gigabyte.
constexpr std::size_t kMaxHops = std::size_t{1} << 24;

// The best path from one device to each other node of a cluster: least sum of latencies + 1 MiB /
// narrowest bandwidth, then fewest links, then file order of the links; switches and CPUs forward. Paths grow over these
// alone, and the last link to an accelerator is added when it is asked for.
class RouteSearch {
 public:
  explicit RouteSearch(const Cluster& cluster);  // devices, switches and links are checked

  void From(DeviceIndex from);
  std::vector<Cluster::Hop> To(DeviceIndex to) const;  // of the last From(); empty = cannot be reached

 private:
  // A path: one link more than another, its parent.
  struct Label {
    Picos cost;  // latency + 1 MiB / narrowest
    Picos latency;
    std::int64_t narrowest;  // [B/s]
    std::int32_t node;       // where it ends
    std::int32_t link;       // the last one; -1 for the path of no links
    std::int32_t parent;     // index into labels_
    std::int32_t length;     // in links
  };

  const Label& label(std::int32_t index) const { return labels_[static_cast<std::size_t>(index)]; }
  Label Extend(std::int32_t path, std::int32_t link) const;
  bool Visits(std::int32_t path, std::int32_t node) const;
  bool EarlierInFile(const Label& a, const Label& b) const;
  bool Better(const Label& a, const Label& b) const;
  bool Dominated(const Label& path) const;
  std::int32_t Add(const Label& path);
  void Reach(const Label& path);
  void Continue(std::int32_t path);

  // What a search needs of a link; a cluster's may change after this was made.
  struct Wire {
    std::array<std::int32_t, 2> ends;
    std::int64_t bandwidth;
    Picos latency;
  };
  const Wire& wire(std::int32_t index) const { return wires_[static_cast<std::size_t>(index)]; }
  static std::int32_t OtherEnd(const Wire& wire, std::int32_t node) {
    return wire.ends[0] == node ? wire.ends[1] : wire.ends[0];
  }

  std::vector<Wire> wires_;                          // by link
  std::vector<std::vector<std::int32_t>> links_of_;  // by node
  std::vector<bool> forwards_;                       // by node
  std::vector<Label> labels_;
  std::vector<std::int32_t> open_;  // heap of labels, the best on top
  std::vector<std::vector<std::int32_t>>
      kept_;  // by node that forwards: labels that no other there dominates, best first
  std::vector<std::int32_t> reached_;  // nodes of kept_
};

RouteSearch::RouteSearch(const Cluster& cluster) {
  const std::size_t nodes = cluster.devices.size() + cluster.switches.size();
  links_of_.resize(nodes);
  kept_.resize(nodes);
  for (std::size_t l = 0; l < cluster.links.size(); ++l) {
    wires_.push_back({cluster.links[l].ends, cluster.links[l].bandwidth, cluster.links[l].latency});
    for (const auto end : cluster.links[l].ends)
      links_of_[static_cast<std::size_t>(end)].push_back(static_cast<std::int32_t>(l));
  }
  for (const Device& device : cluster.devices) forwards_.push_back(device.device_class == DeviceClass::kCpu);
  forwards_.resize(nodes, true);
}

RouteSearch::Label RouteSearch::Extend(std::int32_t path, std::int32_t link_index) const {
  const Label& last = label(path);
  const Wire& link = wire(link_index);
  const Picos latency = last.latency + link.latency;
  const std::int64_t narrowest = std::min(last.narrowest, link.bandwidth);
  return {.cost = latency + MulDivNearest(Bytes{1} << 20, kPicosPerSecond, narrowest),
          .latency = latency,
          .narrowest = narrowest,
          .node = OtherEnd(link, last.node),
          .link = link_index,
          .parent = path,
          .length = last.length + 1};
}

bool RouteSearch::Visits(std::int32_t path, std::int32_t node) const {
  for (; path >= 0; path = label(path).parent) {
    if (label(path).node == node) return true;
  }
  return false;
}

// Of two paths of one length, whether the links of `a` come first where they first differ.
bool RouteSearch::EarlierInFile(const Label& a, const Label& b) const {
  bool earlier = a.link < b.link;
  std::int32_t of_a = a.parent, of_b = b.parent;
  for (; of_a != of_b; of_a = label(of_a).parent, of_b = label(of_b).parent) {
    if (label(of_a).link != label(of_b).link) earlier = label(of_a).link < label(of_b).link;
  }
  return earlier;
}

bool RouteSearch::Better(const Label& a, const Label& b) const {
  const std::tuple of_a(a.cost, a.length), of_b(b.cost, b.length);
  return of_a != of_b ? of_a < of_b : EarlierInFile(a, b);
}

// Whether no continuation of `path` can beat the same continuation of a path kept at the same node. Latency
// and width must both be compared: the cost of a path is not a sum over its links. A path that is slower
// stays costlier however it goes on; among equally slow ones the number of links and file order decide, which
// a continuation does not change.
bool RouteSearch::Dominated(const Label& path) const {
  const auto& kept = kept_[static_cast<std::size_t>(path.node)];
  return std::any_of(kept.begin(), kept.end(), [&](std::int32_t index) {
    const Label& other = label(index);
    if (other.latency > path.latency || other.narrowest < path.narrowest) return false;
    if (other.latency < path.latency) return true;
    return other.length != path.length ? other.length < path.length : !EarlierInFile(path, other);
  });
}

std::int32_t RouteSearch::Add(const Label& path) {
  labels_.push_back(path);
  return static_cast<std::int32_t>(labels_.size()) - 1;
}

// Offers a path to the node where it ends, which forwards.
void RouteSearch::Reach(const Label& path) {
  if (Dominated(path)) return;
  open_.push_back(Add(path));
  std::push_heap(open_.begin(), open_.end(), [&](auto a, auto b) { return Better(label(b), label(a)); });
}

// Extends a path by every link that leads on.
void RouteSearch::Continue(std::int32_t path) {
  for (const auto link : links_of_[static_cast<std::size_t>(label(path).node)]) {
    const std::int32_t next = OtherEnd(wire(link), label(path).node);
    if (forwards_[static_cast<std::size_t>(next)] && !Visits(path, next)) Reach(Extend(path, link));
  }
}

void RouteSearch::From(DeviceIndex from) {
  labels_.clear();
  for (const auto node : reached_) kept_[static_cast<std::size_t>(node)].clear();
  reached_.clear();
  Continue(Add({.cost = 0,
                .latency = 0,
                .narrowest = std::numeric_limits<std::int64_t>::max(),
                .node = from,
                .link = -1,
                .parent = -1,
                .length = 0}));
  while (!open_.empty()) {
    std::pop_heap(open_.begin(), open_.end(), [&](auto a, auto b) { return Better(label(b), label(a)); });
    const std::int32_t path = open_.back();
    open_.pop_back();
    if (Dominated(label(path))) continue;
    auto& kept = kept_[static_cast<std::size_t>(label(path).node)];
    if (kept.empty()) reached_.push_back(label(path).node);
    kept.push_back(path);
    Continue(path);
  }
}

std::vector<Cluster::Hop> RouteSearch::To(DeviceIndex to) const {
  std::optional<Label> best;
  const auto offer = [&](const Label& path) {
    if (!best || Better(path, *best)) best = path;
  };
  if (forwards_[static_cast<std::size_t>(to)]) {
    // Labels leave the heap best first, so the first kept one is the best.
    const auto& kept = kept_[static_cast<std::size_t>(to)];
    if (!kept.empty()) offer(label(kept.front()));
  } else {
    for (const auto link : links_of_[static_cast<std::size_t>(to)]) {
      const std::int32_t before = OtherEnd(wire(link), to);
      if (before == label(0).node) offer(Extend(0, link));
      for (const auto path : kept_[static_cast<std::size_t>(before)]) offer(Extend(path, link));
    }
  }
  std::vector<Cluster::Hop> hops;
  for (const Label* path = best ? &*best : nullptr; path != nullptr && path->link >= 0;
       path = &label(path->parent))
    hops.push_back({path->link, wire(path->link).ends[1] == path->node});
  std::reverse(hops.begin(), hops.end());
  return hops;
}

// Which devices reach one another: those with a link between them, and those that touch the same part of the nodes that
// forward.
class Reachability {
 public:
  explicit Reachability(const Cluster& cluster) : root_(cluster.devices.size() + cluster.switches.size()) {
    std::iota(root_.begin(), root_.end(), 0);
    const auto forwards = [&](std::int32_t node) {
      return node >= cluster.size() ||
             cluster.devices[static_cast<std::size_t>(node)].device_class == DeviceClass::kCpu;
    };
    for (const Link& link : cluster.links) {
      if (forwards(link.ends[0]) && forwards(link.ends[1]))
        root_[static_cast<std::size_t>(Find(link.ends[0]))] = Find(link.ends[1]);
    }
    parts_.resize(cluster.devices.size());
    for (DeviceIndex d = 0; d < cluster.size(); ++d)
      if (forwards(d)) parts_[static_cast<std::size_t>(d)].push_back(Find(d));
    for (const Link& link : cluster.links) {
      for (const int end : {0, 1}) {
        const std::int32_t device = link.ends[static_cast<std::size_t>(end)];
        const std::int32_t other = link.ends[static_cast<std::size_t>(1 - end)];
        if (device >= cluster.size() || forwards(device)) continue;
        if (forwards(other))
          parts_[static_cast<std::size_t>(device)].push_back(Find(other));
        else
          neighbours_.emplace(device, other);
      }
    }
  }

  bool AllTouchOnePart() const {
    return std::ranges::any_of(parts_.front(), [&](std::int32_t part) {
      return std::ranges::all_of(parts_,
                                 [&](const auto& parts) { return std::ranges::count(parts, part) > 0; });
    });
  }
  bool Reaches(DeviceIndex from, DeviceIndex to) const {
    const auto& parts = parts_[static_cast<std::size_t>(to)];
    return neighbours_.contains({from, to}) ||
           std::ranges::any_of(parts_[static_cast<std::size_t>(from)],
                               [&](std::int32_t part) { return std::ranges::count(parts, part) > 0; });
  }

 private:
  std::int32_t Find(std::int32_t node) {
    while (root_[static_cast<std::size_t>(node)] != node) {
      auto& up = root_[static_cast<std::size_t>(node)];
      up = root_[static_cast<std::size_t>(up)];
      node = up;
    }
    return node;
  }

  std::vector<std::int32_t> root_;                            // by node that forwards
  std::vector<std::vector<std::int32_t>> parts_;              // by device
  std::set<std::pair<DeviceIndex, DeviceIndex>> neighbours_;  // accelerators with a link between them
};

}  // namespace

class Cluster::RoutesWhenAsked {
 public:
  RoutesWhenAsked(const Cluster& cluster, const GivenRoutes& given) : search_(cluster) {
    for (const auto& [pair, hops] : given) found_.emplace(KeyOf(pair.first, pair.second), hops);
  }

  // Valid as long as this; any thread.
  std::span<const Hop> Find(DeviceIndex from, DeviceIndex to) {
    const std::scoped_lock lock(mutex_);
    const auto [at, is_new] = found_.try_emplace(KeyOf(from, to));
    if (is_new && from != to) {
      if (from != from_) search_.From(from);
      from_ = from;
      at->second = search_.To(to);
    }
    return at->second;
  }

 private:
  static std::uint64_t KeyOf(DeviceIndex from, DeviceIndex to) {
    return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
  }

  std::mutex mutex_;
  RouteSearch search_;
  DeviceIndex from_ = -1;  // where the search was last
  std::unordered_map<std::uint64_t, std::vector<Hop>> found_;
};

std::span<const Cluster::Hop> Cluster::RouteWhenAsked(DeviceIndex from, DeviceIndex to) const {
  if (links.empty()) return {};
  return routes_when_asked_->Find(from, to);
}

void Cluster::FindRoutes(const GivenRoutes& given) {
  hops_.clear();
  hop_begin_.clear();
  if (links.empty()) return;
  const Reachability reachability(*this);
  const bool connected = reachability.AllTouchOnePart();
  for (DeviceIndex from = 0; from < size() && !connected; ++from) {
    for (DeviceIndex to = 0; to < size(); ++to) {
      if (from == to || reachability.Reaches(from, to) || given.contains({from, to})) continue;
      throw InputError("device '" + NodeName(to) + "' cannot be reached from '" + NodeName(from) +
                       "'; connect them by links, switches or CPUs, or give a route");
    }
  }
  if (size() > kMaxPaired) {
    routes_when_asked_ = std::make_shared<RoutesWhenAsked>(*this, given);
    return;
  }
  hop_begin_.push_back(0);
  RouteSearch search(*this);
  for (DeviceIndex from = 0; from < size(); ++from) {
    search.From(from);
    for (DeviceIndex to = 0; to < size(); ++to) {
      const auto by_hand = given.find({from, to});
      const std::vector<Hop> route = from == to               ? std::vector<Hop>()
                                     : by_hand != given.end() ? by_hand->second
                                                              : search.To(to);
      hops_.insert(hops_.end(), route.begin(), route.end());
      if (hops_.size() > kMaxHops) {
        throw InputError("its routes between all pairs of devices have more than " +
                         std::to_string(kMaxHops) +
                         " links together; make it smaller or give it shorter routes");
      }
      hop_begin_.push_back(hops_.size());
    }
  }
}

}  // namespace stowplan::sim
