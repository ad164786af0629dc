#include "sim/cluster.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "sim/error.h"
#include "sim/exact.h"
#include "sim/interconnect.h"

namespace berth::sim {
namespace {

void CheckDevice(const Device& device) {
  const std::string who = "device '" + device.name + "': ";
  if (device.name.empty()) throw InputError("a device has an empty name");
  if (device.memory < 0 || device.memory > kMaxBytes)
    throw InputError(who + "memory must be between 0 and 2^50 bytes");
  if (device.reserve < 0 || device.reserve > device.memory) {
    throw InputError(who + "reserve must be between 0 and its memory");
  }
  if (device.granularity < 1 || device.granularity > Bytes{1} << 30) {
    throw InputError(who + "granularity must be between 1 byte and 1 GiB");
  }
  if (device.streams < 1 || device.streams > 1024)
    throw InputError(who + "streams must be between 1 and 1024");
  if (device.copy_engines < 1 || device.copy_engines > 1024) {
    throw InputError(who + "copy_engines must be between 1 and 1024");
  }
  for (const auto rate : device.concurrency_ppm) {
    if (rate < 1 || rate > kPpm) throw InputError(who + "concurrency must be above 0 and at most 1");
  }
  if (device.overlap_copy_ppm < 1 || device.overlap_copy_ppm > kPpm) {
    throw InputError(who + "overlap_copy must be above 0 and at most 1");
  }
  if (device.launch_cost < 0) throw InputError(who + "the launch cost must not be negative");
}

void CheckLink(const Link& link, std::int32_t nodes) {
  const std::string who = "link '" + link.name + "': ";
  if (link.name.empty()) throw InputError("a link has an empty name");
  for (const auto end : link.ends) {
    if (end < 0 || end >= nodes) throw InputError(who + "an end is neither a device nor a switch");
  }
  if (link.ends[0] == link.ends[1]) throw InputError(who + "both ends are the same");
  if (link.bandwidth < 1 || link.bandwidth > std::int64_t{1} << 50) {
    throw InputError(who + "bandwidth must be above 0 and at most 2^50 bytes a second");
  }
  if (link.latency < 0 || link.latency > 1000 * kPicosPerSecond) {
    throw InputError(who + "latency must be between 0 and 1000 s");
  }
  if (link.both_ppm < 1 || link.both_ppm > kPpm) throw InputError(who + "both must be above 0 and at most 1");
  for (std::size_t i = 0; i < link.curve.size(); ++i) {
    const auto& [bytes, time] = link.curve[i];
    const bool rising = i == 0 ? bytes == 0 && time == link.latency
                               : bytes > link.curve[i - 1].first && time >= link.curve[i - 1].second;
    if (!rising) {
      throw InputError(who + "its curve must begin at 0 bytes with the link's latency and must not fall");
    }
  }
  if (link.curve.size() == 1) throw InputError(who + "its curve needs at least two knots");
}

template <typename Names>
void CheckUnique(const Names& names, const std::string& what) {
  std::set<std::string> seen;
  for (const auto& name : names) {
    if (!seen.insert(name).second)
      throw InputError(what + " '" + name + "' is there twice; names must be unique");
  }
}

// Label of a path for the search: what DESIGN 4.1 compares, in its order.
struct PathLabel {
  Picos cost = 0;  // sum of latencies + 1 MiB / narrowest bandwidth
  std::vector<std::int32_t> links;
  Picos latency = 0;
  std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int32_t> nodes;
};

// DESIGN 4.1: least cost, then fewest links, then file order.
bool Better(const PathLabel& a, const PathLabel& b) {
  return std::tuple(a.cost, a.links.size()) != std::tuple(b.cost, b.links.size())
             ? std::tuple(a.cost, a.links.size()) < std::tuple(b.cost, b.links.size())
             : a.links < b.links;
}
struct Worse {
  bool operator()(const PathLabel& a, const PathLabel& b) const { return Better(b, a); }
};

PathLabel Extend(const PathLabel& path, const Link& link, std::int32_t link_index, std::int32_t node) {
  PathLabel next = path;
  next.latency += link.latency;
  next.narrowest = std::min(next.narrowest, link.bandwidth);
  next.cost = next.latency + MulDivNearest(Bytes{1} << 20, kPicosPerSecond, next.narrowest);
  next.links.push_back(link_index);
  next.nodes.push_back(node);
  return next;
}

// Whether no continuation of `path` can beat the same continuation of a path kept at the same node. Latency
// and width must both be compared: the cost of a path is not a sum over its links. A path that is slower
// stays costlier however it goes on; among equally slow ones the number of links and file order decide, which
// a continuation does not change.
bool Dominated(const PathLabel& path, const std::vector<PathLabel>& kept) {
  return std::any_of(kept.begin(), kept.end(), [&](const PathLabel& other) {
    if (other.latency > path.latency || other.narrowest < path.narrowest) return false;
    if (other.latency < path.latency) return true;
    return other.links.size() != path.links.size() ? other.links.size() < path.links.size()
                                                   : other.links <= path.links;
  });
}

std::vector<Cluster::Hop> ToHops(const PathLabel& path, DeviceIndex from, const std::vector<Link>& links) {
  std::vector<Cluster::Hop> hops;
  std::int32_t at = from;
  for (std::size_t i = 0; i < path.links.size(); ++i) {
    const Link& link = links[static_cast<std::size_t>(path.links[i])];
    hops.push_back({path.links[i], link.ends[0] == at});
    at = path.nodes[i];
  }
  return hops;
}

}  // namespace

const char* ToString(DeviceClass device_class) {
  return device_class == DeviceClass::kCpu ? "cpu" : "gpu";
}
const char* ToString(Preset preset) {
  return preset == Preset::kNative ? "native" : "placeto";
}

DeviceIndex Cluster::Find(const std::string& device_name) const {
  for (DeviceIndex d = 0; d < size(); ++d) {
    if (devices[static_cast<std::size_t>(d)].name == device_name) return d;
  }
  return -1;
}

void Cluster::Finish() {
  if (devices.empty()) throw InputError("a cluster needs at least one device");
  if (devices.size() > 4096) throw InputError("a cluster of more than 4096 devices");
  std::vector<std::string> nodes, link_names;
  for (const Device& device : devices) {
    CheckDevice(device);
    nodes.push_back(device.name);
  }
  nodes.insert(nodes.end(), switches.begin(), switches.end());
  for (const Link& link : links) {
    CheckLink(link, static_cast<std::int32_t>(nodes.size()));
    link_names.push_back(link.name);
  }
  CheckUnique(nodes, "the device or switch");
  CheckUnique(link_names, "the link");
  CheckInterconnect(interconnect);
  if (dispatch.cost < 0) throw InputError("dispatch.cost must not be negative");

  const auto count = devices.size();
  route_.assign(count * count, {});
  if (links.empty()) {
    if (!routes.empty()) throw InputError("routes are given, but the cluster has no links");
    return;
  }

  std::vector<std::vector<std::int32_t>> links_of(nodes.size());
  for (std::size_t l = 0; l < links.size(); ++l) {
    for (const auto end : links[l].ends)
      links_of[static_cast<std::size_t>(end)].push_back(static_cast<std::int32_t>(l));
  }
  const auto forwards = [&](std::int32_t node) {
    return static_cast<std::size_t>(node) >= count ||
           devices[static_cast<std::size_t>(node)].device_class == DeviceClass::kCpu;
  };
  for (DeviceIndex from = 0; from < size(); ++from) {
    std::vector<std::vector<PathLabel>> kept(nodes.size());
    std::priority_queue<PathLabel, std::vector<PathLabel>, Worse> open;
    open.push({});
    while (!open.empty()) {
      const PathLabel path = open.top();
      open.pop();
      const std::int32_t at = path.nodes.empty() ? from : path.nodes.back();
      auto& kept_here = kept[static_cast<std::size_t>(at)];
      if (Dominated(path, kept_here)) continue;
      kept_here.push_back(path);
      if (at != from && !forwards(at)) continue;
      for (const auto l : links_of[static_cast<std::size_t>(at)]) {
        const Link& link = links[static_cast<std::size_t>(l)];
        const std::int32_t next = link.ends[0] == at ? link.ends[1] : link.ends[0];
        if (next == from || std::find(path.nodes.begin(), path.nodes.end(), next) != path.nodes.end())
          continue;
        open.push(Extend(path, link, l, next));
      }
    }
    for (DeviceIndex to = 0; to < size(); ++to) {
      // Labels leave the queue best first, so the first kept one is the best.
      const auto& found = kept[static_cast<std::size_t>(to)];
      if (to != from && !found.empty()) {
        route_[static_cast<std::size_t>(from) * count + static_cast<std::size_t>(to)] =
            ToHops(found.front(), from, links);
      }
    }
  }

  for (const Route& given : routes) {
    if (given.from < 0 || given.from >= size() || given.to < 0 || given.to >= size() ||
        given.from == given.to) {
      throw InputError("a route must lead from one device to another");
    }
    const std::string who = "route from '" + devices[static_cast<std::size_t>(given.from)].name + "' to '" +
                            devices[static_cast<std::size_t>(given.to)].name + "': ";
    std::vector<Hop> hops;
    std::int32_t at = given.from;
    for (const auto l : given.via) {
      if (l < 0 || l >= static_cast<std::int32_t>(links.size()))
        throw InputError(who + "names a link that does not exist");
      const Link& link = links[static_cast<std::size_t>(l)];
      if (link.ends[0] != at && link.ends[1] != at) {
        throw InputError(who + "link '" + link.name + "' does not continue from '" +
                         nodes[static_cast<std::size_t>(at)] + "'");
      }
      hops.push_back({l, link.ends[0] == at});
      at = link.ends[0] == at ? link.ends[1] : link.ends[0];
    }
    if (at != given.to) throw InputError(who + "ends at '" + nodes[static_cast<std::size_t>(at)] + "'");
    route_[static_cast<std::size_t>(given.from) * count + static_cast<std::size_t>(given.to)] =
        std::move(hops);
  }

  for (DeviceIndex from = 0; from < size(); ++from) {
    for (DeviceIndex to = 0; to < size(); ++to) {
      if (from != to && route(from, to).empty()) {
        throw InputError("device '" + devices[static_cast<std::size_t>(to)].name +
                         "' cannot be reached from '" + devices[static_cast<std::size_t>(from)].name +
                         "'; connect them by links, switches or CPUs, or give a route");
      }
    }
  }
}

Picos LoneTime(const Link& link, Bytes bytes) {
  if (link.curve.empty()) return link.latency + MulDivNearest(bytes, kPicosPerSecond, link.bandwidth);
  // The segment that holds `bytes`, or the last one.
  auto upper = std::lower_bound(link.curve.begin() + 1, link.curve.end(), bytes,
                                [](const auto& knot, Bytes b) { return knot.first < b; });
  if (upper == link.curve.end()) --upper;
  const auto lower = upper - 1;
  return lower->second +
         MulDivNearest(bytes - lower->first, upper->second - lower->second, upper->first - lower->first);
}

}  // namespace berth::sim
