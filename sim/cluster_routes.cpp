#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/exact.h"
#include "sim/cluster.h"

namespace stowplan::sim {
namespace {

// A problem and a simulator have some 30 bytes for each of them: half a gigabyte.
constexpr std::size_t kMaxHops = std::size_t{1} << 24;

// The best path from one device to each other node of a cluster: least sum of latencies + 1 MiB /
// narrowest bandwidth, then fewest links, then file order of the links; switches and CPUs forward.
class RouteSearch {
 public:
  explicit RouteSearch(
      const Cluster& cluster);  // devices, switches and links are checked; it must outlive this

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

  const Cluster& cluster_;
  std::vector<std::vector<std::int32_t>> links_of_;  // by node
  std::vector<bool> forwards_;                       // by node
  std::vector<Label> labels_;
  std::vector<std::int32_t> open_;  // heap of labels, the best on top
  // By node: labels that no other there dominates, best first; just the best where nothing goes on.
  std::vector<std::vector<std::int32_t>> kept_;
};

RouteSearch::RouteSearch(const Cluster& cluster) : cluster_(cluster) {
  const std::size_t nodes = cluster.devices.size() + cluster.switches.size();
  links_of_.resize(nodes);
  kept_.resize(nodes);
  for (std::size_t l = 0; l < cluster.links.size(); ++l) {
    for (const auto end : cluster.links[l].ends)
      links_of_[static_cast<std::size_t>(end)].push_back(static_cast<std::int32_t>(l));
  }
  for (const Device& device : cluster.devices) forwards_.push_back(device.device_class == DeviceClass::kCpu);
  forwards_.resize(nodes, true);
}

RouteSearch::Label RouteSearch::Extend(std::int32_t path, std::int32_t link_index) const {
  const Label& last = label(path);
  const Link& link = cluster_.links[static_cast<std::size_t>(link_index)];
  const Picos latency = last.latency + link.latency;
  const std::int64_t narrowest = std::min(last.narrowest, link.bandwidth);
  return {.cost = latency + MulDivNearest(Bytes{1} << 20, kPicosPerSecond, narrowest),
          .latency = latency,
          .narrowest = narrowest,
          .node = link.ends[0] == last.node ? link.ends[1] : link.ends[0],
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

// Offers a path to the node where it ends.
void RouteSearch::Reach(const Label& path) {
  auto& kept = kept_[static_cast<std::size_t>(path.node)];
  if (forwards_[static_cast<std::size_t>(path.node)]) {
    if (Dominated(path)) return;
    open_.push_back(Add(path));
    std::push_heap(open_.begin(), open_.end(), [&](auto a, auto b) { return Better(label(b), label(a)); });
  } else if (kept.empty() || Better(path, label(kept.front()))) {
    kept.assign(1, Add(path));  // nothing goes on from here: only the best path counts
  }
}

// Extends a path by every link that leads on.
void RouteSearch::Continue(std::int32_t path) {
  for (const auto link : links_of_[static_cast<std::size_t>(label(path).node)]) {
    const Label next = Extend(path, link);
    if (!Visits(path, next.node)) Reach(next);
  }
}

void RouteSearch::From(DeviceIndex from) {
  labels_.clear();
  for (auto& kept : kept_) kept.clear();
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
    kept_[static_cast<std::size_t>(label(path).node)].push_back(path);
    Continue(path);
  }
}

std::vector<Cluster::Hop> RouteSearch::To(DeviceIndex to) const {
  const auto& kept = kept_[static_cast<std::size_t>(to)];
  if (kept.empty()) return {};
  // Labels leave the heap best first, so the first kept one is the best everywhere.
  std::vector<Cluster::Hop> hops;
  for (std::int32_t path = kept.front(); label(path).link >= 0; path = label(path).parent) {
    const Link& link = cluster_.links[static_cast<std::size_t>(label(path).link)];
    hops.push_back({label(path).link, link.ends[1] == label(path).node});
  }
  std::reverse(hops.begin(), hops.end());
  return hops;
}

}  // namespace

void Cluster::FindRoutes(const std::function<const std::vector<Hop>*(DeviceIndex, DeviceIndex)>& given) {
  hops_.clear();
  hop_begin_.assign(1, 0);
  RouteSearch search(*this);
  for (DeviceIndex from = 0; from < size(); ++from) {
    if (!links.empty()) search.From(from);
    for (DeviceIndex to = 0; to < size(); ++to) {
      if (from != to && !links.empty()) {
        const std::vector<Hop>* by_hand = given(from, to);
        const std::vector<Hop> route = by_hand != nullptr ? *by_hand : search.To(to);
        if (route.empty()) {
          throw InputError("device '" + NodeName(to) + "' cannot be reached from '" + NodeName(from) +
                           "'; connect them by links, switches or CPUs, or give a route");
        }
        hops_.insert(hops_.end(), route.begin(), route.end());
        if (hops_.size() > kMaxHops) {
          throw InputError("its routes between all pairs of devices have more than " +
                           std::to_string(kMaxHops) +
                           " links together; make it smaller or give it shorter routes");
        }
      }
      hop_begin_.push_back(hops_.size());
    }
  }
}

}  // namespace stowplan::sim
