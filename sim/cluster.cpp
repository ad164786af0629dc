#include "sim/cluster.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/exact.h"
#include "sim/interconnect.h"

namespace stowplan::sim {
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
  if (device.concurrency_ppm.size() > static_cast<std::size_t>(device.streams)) {
    throw InputError(who + "concurrency has more rates than the device has streams");
  }
  for (const auto rate : device.concurrency_ppm) {
    if (rate < 1 || rate > kPpm) throw InputError(who + "concurrency must be above 0 and at most 1");
  }
  for (const auto& [name, rate] : {std::pair("overlap_copy", device.overlap_copy_ppm),
                                   std::pair("overlap_collective", device.overlap_collective_ppm)}) {
    if (rate < 1 || rate > kPpm) throw InputError(who + name + " must be above 0 and at most 1");
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
  if (link.curve.size() > 1 && link.curve.back().second == link.curve[link.curve.size() - 2].second) {
    throw InputError(who +
                     "its curve ends flat, and beyond its last knot it goes on with that slope; give a last "
                     "knot that takes longer");
  }
}

template <typename Names>
void CheckUnique(const Names& names, const std::string& what) {
  std::set<std::string> seen;
  for (const auto& name : names) {
    if (!seen.insert(name).second)
      throw InputError(what + " '" + name + "' is there twice; names must be unique");
  }
}

}  // namespace

const char* ToString(DeviceClass device_class) {
  return device_class == DeviceClass::kCpu ? "cpu" : "gpu";
}
const char* ToString(Rules rules) {
  return rules == Rules::kNative ? "native" : "published";
}

DeviceIndex Cluster::Find(const std::string& device_name) const {
  for (DeviceIndex d = 0; d < size(); ++d) {
    if (devices[static_cast<std::size_t>(d)].name == device_name) return d;
  }
  return -1;
}

const std::string& Cluster::NodeName(std::int32_t node) const {
  const auto i = static_cast<std::size_t>(node);
  return i < devices.size() ? devices[i].name : switches[i - devices.size()];
}

void Cluster::CheckAll() const {
  if (devices.empty()) throw InputError("a cluster needs at least one device");
  const auto accelerators = std::ranges::count(devices, DeviceClass::kGpu, &Device::device_class);
  if (accelerators > kMaxAccelerators || devices.size() > static_cast<std::size_t>(kMaxDevices)) {
    throw InputError("a cluster of " + std::to_string(devices.size()) + " devices, " +
                     std::to_string(accelerators) + " of them accelerators; at most " +
                     std::to_string(kMaxDevices) + " and " + std::to_string(kMaxAccelerators) +
                     " can be simulated");
  }
  std::vector<std::string> nodes, link_names;
  for (const Device& device : devices) {
    CheckDevice(device);
    nodes.push_back(device.name);
  }
  nodes.insert(nodes.end(), switches.begin(), switches.end());
  double latency = 0;  // no route is longer
  for (const Link& link : links) {
    CheckLink(link, static_cast<std::int32_t>(nodes.size()));
    link_names.push_back(link.name);
    latency += static_cast<double>(link.latency);
  }
  if (!(latency < static_cast<double>(kHorizon)))
    throw InputError("the latencies of all links add up to more than 26 simulated days; make them smaller");
  CheckUnique(nodes, "the device or switch");
  CheckUnique(link_names, "the link");
  CheckInterconnect(interconnect);
  if (dispatch.cost < 0) throw InputError("dispatch.cost must not be negative");
  if (links.empty() && !routes.empty()) throw InputError("routes are given, but the cluster has no links");
}

std::vector<Cluster::Hop> Cluster::Follow(const Route& given) const {
  if (given.from < 0 || given.from >= size() || given.to < 0 || given.to >= size() ||
      given.from == given.to) {
    throw InputError("a route must lead from one device to another");
  }
  const std::string who = "the route from '" + NodeName(given.from) + "' to '" + NodeName(given.to) + "' ";
  std::vector<Hop> hops;
  std::int32_t at = given.from;
  for (const auto l : given.via) {
    if (l < 0 || l >= static_cast<std::int32_t>(links.size()))
      throw InputError(who + "names a link that does not exist");
    const Link& link = links[static_cast<std::size_t>(l)];
    if (link.ends[0] != at && link.ends[1] != at) {
      throw InputError(who + "takes link '" + link.name + "', which does not continue from '" + NodeName(at) +
                       "'");
    }
    const Hop hop{l, link.ends[0] == at};
    const bool again = std::any_of(hops.begin(), hops.end(), [&](const Hop& before) {
      return before.link == l && (before.forward == hop.forward || link.duplex == Duplex::kHalf);
    });
    if (again) {
      throw InputError(
          who + "takes link '" + link.name + "' twice" +
          (link.duplex == Duplex::kHalf ? ", which is half duplex" : " in one direction") +
          "; a transfer holds every link direction of its route at once, so give a route without it");
    }
    hops.push_back(hop);
    at = link.ends[0] == at ? link.ends[1] : link.ends[0];
  }
  if (at != given.to) throw InputError(who + "ends at '" + NodeName(at) + "'");
  return hops;
}

void Cluster::Finish() {
  CheckAll();
  GivenRoutes given;
  for (const Route& route : routes) {
    if (!given.emplace(std::pair(route.from, route.to), Follow(route)).second) {
      throw InputError("two routes lead from '" + NodeName(route.from) + "' to '" + NodeName(route.to) +
                       "'; give one");
    }
  }
  FindRoutes(given);
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

}  // namespace stowplan::sim
