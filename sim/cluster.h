// The machine a graph is placed on (stowplan.cluster), with every default already filled in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

enum class DeviceClass : std::uint8_t { kCpu, kGpu };  // "cpu", "gpu": the class of a kind in the catalogue
const char* ToString(DeviceClass device_class);

enum class Rules : std::uint8_t { kNative, kPublished };  // docs/model.md
const char* ToString(Rules rules);

// Rates (concurrency, overlap, `both`) are given in parts per million so that arithmetic on them is exact.
inline constexpr std::int64_t kPpm = 1'000'000;

struct Device {
  std::string name;
  std::string kind;  // entry of the hardware catalogue
  DeviceClass device_class = DeviceClass::kGpu;
  Bytes memory = 0;
  Bytes reserve = 0;
  bool automatic_reserve = false;  // `reserve: auto`, or nothing: a framework's, which `reserve` is not yet
  Bytes granularity = 256;         // every allocation is rounded up to a multiple
  int streams = 1;
  int copy_engines = 2;  // accelerators only; 1 = shared by both directions
  // concurrency_ppm[k-1]: the rate of each op while k run, in ppm; empty or short = 1/k beyond it.
  std::vector<std::int64_t> concurrency_ppm;
  std::int64_t overlap_copy_ppm = kPpm;        // rate of an op while a copy of this device runs
  std::int64_t overlap_collective_ppm = kPpm;  // and while a collective does
  Picos launch_cost = 0;  // the catalogue's cost of issuing one framework op, for `dispatch: {cost: auto}`

  Bytes capacity() const { return memory - reserve; }
};

enum class Duplex : std::uint8_t { kFull, kHalf };

// A physical link. `ends` are node indices: devices 0..D-1 in order, then switches.
struct Link {
  std::string name;
  std::array<std::int32_t, 2> ends{};
  std::int64_t bandwidth = 0;  // [B/s], each direction
  Picos latency = 0;
  Duplex duplex = Duplex::kFull;
  std::string kind;  // entry of the link catalogue, or empty
  // Calibrated time of a lone transfer: knots (bytes, time), bytes ascending from 0, linear between, the last
  // slope beyond. Empty = latency + bytes / bandwidth. If present, latency equals the first knot's time.
  std::vector<std::pair<Bytes, Picos>> curve;
  std::int64_t both_ppm = kPpm;  // share of the bandwidth of each direction while the other carries bytes
};

struct Dispatch {
  enum class Per : std::uint8_t { kDevice, kProcess };
  enum class Order : std::uint8_t { kReady, kProgram };
  Per per = Per::kDevice;
  Order order = Order::kReady;
  // `per: auto`, or nothing; no `order`: as a framework would run a graph that is not known yet. The engine takes what
  // stands above.
  bool automatic_per = false;
  bool automatic_order = false;
  bool automatic = false;  // cost: auto = each device's launch_cost
  Picos cost = 0;
  // How the host issues: kFlat charges `cost` for each framework op, kTraced what a trace recorded, the others what a table says
  // (cost_models/ops/host_costs.h).
  enum class Mode : std::uint8_t { kEager, kGraph, kFlat, kTraced };
  Mode mode = Mode::kFlat;
  bool automatic_mode = false;  // neither `mode` nor a cost in numbers: kEager where PyTorch's ops are known
};

struct Route {
  DeviceIndex from = 0;
  DeviceIndex to = 0;
  std::vector<std::int32_t> via;  // link indices, in order
};

// A cluster may have no more: accelerators, and with their CPUs devices.
inline constexpr DeviceIndex kMaxAccelerators = 16384;
inline constexpr DeviceIndex kMaxDevices = 2 * kMaxAccelerators;
// Of clusters with more no table has a row for each pair of devices.
inline constexpr DeviceIndex kMaxPaired = 2048;

class Cluster {
 public:
  std::string name;
  Rules rules = Rules::kNative;
  std::vector<Device> devices;
  std::vector<std::string> switches;
  std::vector<Link> links;
  std::string interconnect = "fifo";  // a row of the interconnect table
  std::vector<Route> routes;          // given by hand; override the search
  Dispatch dispatch;

  // Refuses what no cluster may have (duplicate names or routes, bad ends, non-positive bandwidth, a reserve
  // above memory, an unreachable pair of devices where there are links) and computes all routes, or those of large
  // clusters when they are asked for. Throws InputError. Call once.
  void Finish();

  DeviceIndex size() const { return static_cast<DeviceIndex>(devices.size()); }
  DeviceIndex Find(const std::string& device_name) const;  // -1 if absent

  // Links from one device to another, in order; empty on one device or in a cluster without links.
  // Least sum of latencies + 1 MiB / narrowest bandwidth, then fewest links, then file order.
  struct Hop {
    std::int32_t link;
    bool forward;  // from ends[0] to ends[1]
  };
  std::span<const Hop> route(DeviceIndex from, DeviceIndex to) const {
    if (hop_begin_.empty()) return RouteWhenAsked(from, to);
    const std::size_t pair = static_cast<std::size_t>(from) * devices.size() + static_cast<std::size_t>(to);
    return std::span(hops_).subspan(hop_begin_[pair], hop_begin_[pair + 1] - hop_begin_[pair]);
  }

  // The hops of a route given by hand; needs devices, switches and links. Throws InputError where its links do
  // not lead from its one end to the other.
  std::vector<Hop> Follow(const Route& given) const;

 private:
  class RoutesWhenAsked;  // cluster_routes.cpp

  void CheckAll() const;
  // By pair of devices.
  using GivenRoutes = std::map<std::pair<DeviceIndex, DeviceIndex>, std::vector<Hop>>;
  void FindRoutes(const GivenRoutes& given);
  std::span<const Hop> RouteWhenAsked(DeviceIndex from, DeviceIndex to) const;
  const std::string& NodeName(std::int32_t node) const;  // of a device or switch

  std::vector<Hop> hops_;  // of all routes
  std::vector<std::size_t>
      hop_begin_;  // of each of the D x D pairs, and the end; empty where routes come when asked
  std::shared_ptr<RoutesWhenAsked> routes_when_asked_;  // shared by copies, whose links are the same
};

// The time of a lone transfer over a link: its curve, or latency + bytes / bandwidth, to the nearest
// picosecond.
Picos LoneTime(const Link& link, Bytes bytes);

}  // namespace stowplan::sim
