#include "bench/simgrid_peer.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include "bench/child_process.h"

namespace stowplan::bench {
namespace {

namespace s4u = simgrid::s4u;
using Clock = std::chrono::steady_clock;

constexpr double kPicosPerSecond = 1e12;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// An operation of one picosecond's work, so that a cost is an amount.
constexpr double kSpeed = kPicosPerSecond;

class Platform {
 public:
  explicit Platform(const sim::Cluster& cluster) {
    s4u::NetZone* zone = s4u::create_full_zone("cluster");
    for (const sim::Device& device : cluster.devices)
      hosts_.push_back(zone->create_host(device.name, kSpeed));
    for (const sim::Link& link : cluster.links) {
      s4u::Link* forward = MakeLink(zone, link, link.name);
      s4u::Link* back =
          link.duplex == sim::Duplex::kHalf ? forward : MakeLink(zone, link, link.name + "-back");
      links_.push_back({forward, back});
    }
    for (sim::DeviceIndex from = 0; from < cluster.size(); ++from) {
      for (sim::DeviceIndex to = 0; to < cluster.size(); ++to) {
        if (from != to) AddRoute(zone, cluster, from, to);
      }
    }
    zone->seal();
  }
  s4u::Host* host(sim::DeviceIndex d) const { return hosts_[static_cast<std::size_t>(d)]; }

 private:
  static s4u::Link* MakeLink(s4u::NetZone* zone, const sim::Link& link, const std::string& name) {
    return zone->create_link(name, static_cast<double>(link.bandwidth))
        ->set_latency(static_cast<double>(link.latency) / kPicosPerSecond)
        ->seal();
  }
  void AddRoute(s4u::NetZone* zone, const sim::Cluster& cluster, sim::DeviceIndex from, sim::DeviceIndex to) {
    std::vector<s4u::LinkInRoute> route;
    for (const sim::Cluster::Hop& hop : cluster.route(from, to)) {
      const auto& [forward, back] = links_[static_cast<std::size_t>(hop.link)];
      route.emplace_back(hop.forward ? forward : back);
    }
    zone->add_route(host(from)->get_netpoint(), host(to)->get_netpoint(), nullptr, nullptr, route, false);
  }

  std::vector<s4u::Host*> hosts_;
  std::vector<std::pair<s4u::Link*, s4u::Link*>> links_;  // forward, back
};

class Activities {
 public:
  Activities(const sim::Problem& problem, const sim::Placement& placement,
             const std::vector<sim::OpIndex>& order, const Platform& platform)
      : graph_(problem.graph()), device_(placement.device), platform_(platform) {
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      execs_.push_back(s4u::Exec::init()
                           ->set_flops_amount(static_cast<double>(problem.costs().at(op, Of(op))))
                           ->set_host(platform.host(Of(op))));
    }
    std::map<sim::DeviceIndex, sim::OpIndex> last;
    for (const sim::OpIndex op : order) {
      const auto [before, first] = last.try_emplace(Of(op), op);
      if (!first) Precede(*Exec(before->second), op);
      before->second = op;
    }
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) AddDependencies(op);
  }

  void Start() {
    for (const auto& exec : execs_) exec->vetoable_start();
    for (const auto& [key, comm] : comms_) comm->vetoable_start();
  }
  double EndMicros(sim::OpIndex op) { return Exec(op)->get_finish_time() * 1e6; }

 private:
  sim::DeviceIndex Of(sim::OpIndex op) const { return device_[static_cast<std::size_t>(op)]; }
  s4u::ExecPtr& Exec(sim::OpIndex op) { return execs_[static_cast<std::size_t>(op)]; }

  // SimGrid refuses to be told twice.
  template <typename Activity>
  void Precede(Activity& before, sim::OpIndex op) {
    if (told_.insert({&before, op}).second) before.add_successor(Exec(op));
  }

  void AddDependencies(sim::OpIndex op) {
    const sim::Op& reader = graph_.ops[static_cast<std::size_t>(op)];
    for (const sim::TensorRef& input : reader.inputs) {
      const sim::Op& producer = graph_.ops[static_cast<std::size_t>(input.op)];
      Depend(op, input, producer.outputs[static_cast<std::size_t>(input.output)].bytes);
    }
    for (const sim::OpIndex producer : reader.control) Depend(op, {producer, -1}, 0);
  }

  void Depend(sim::OpIndex op, const sim::TensorRef& tensor, sim::Bytes bytes) {
    const sim::DeviceIndex from = Of(tensor.op), to = Of(op);
    if (from == to) return Precede(*Exec(tensor.op), op);
    s4u::CommPtr& comm = comms_[{tensor.op, tensor.output, to}];
    if (comm == nullptr) {
      comm = s4u::Comm::sendto_init(platform_.host(from), platform_.host(to))
                 ->set_payload_size(static_cast<std::uint64_t>(bytes));
      Exec(tensor.op)->add_successor(comm);
    }
    Precede(*comm, op);
  }

  const sim::OpGraph& graph_;
  const std::vector<sim::DeviceIndex>& device_;
  const Platform& platform_;
  std::vector<s4u::ExecPtr> execs_;
  std::map<std::tuple<sim::OpIndex, std::int32_t, sim::DeviceIndex>, s4u::CommPtr> comms_;
  std::set<std::pair<const void*, sim::OpIndex>> told_;
};

// Precisions far below a picosecond's worth: the defaults, 1 ns and 1e-5, would be seen.
std::vector<std::string> EngineArguments(SimGridUpdates updates) {
  return {"simgrid",
          "--log=root.thres:error",
          "--cfg=network/model:CM02",
          "--cfg=network/crosstraffic:0",
          "--cfg=network/TCP-gamma:0",
          updates == SimGridUpdates::kFull ? "--cfg=network/optim:Full" : "--cfg=network/optim:Lazy",
          "--cfg=surf/precision:1e-13",
          "--cfg=maxmin/precision:1e-9"};
}

// Run seconds, runtime [us], end of each op [us]
std::vector<double> Run(const sim::Problem& problem, const sim::Placement& placement,
                        const std::vector<sim::OpIndex>& order, SimGridUpdates updates) {
  std::vector<std::string> arguments = EngineArguments(updates);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  s4u::Engine engine(&argc, argv.data());
  const Platform platform(problem.cluster());
  Activities activities(problem, placement, order, platform);
  const Clock::time_point start = Clock::now();
  activities.Start();
  engine.run();
  std::vector<double> result = {SecondsSince(start)};
  result.push_back(s4u::Engine::get_clock() * 1e6);
  for (sim::OpIndex op = 0; op < problem.graph().size(); ++op) result.push_back(activities.EndMicros(op));
  return result;
}

}  // namespace

SimGridRun RunOnSimGrid(const sim::Problem& problem, const sim::Placement& placement,
                        const std::vector<sim::OpIndex>& order, SimGridUpdates updates) {
  const std::vector<double> numbers = RunInChild([&] { return Run(problem, placement, order, updates); });
  return {numbers[0], numbers[1], {numbers.begin() + 2, numbers.end()}};
}

std::string SimGridVersion() {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::vector<sim::OpIndex> StartOrder(const sim::OpGraph& graph, const sim::Outcome& recorded) {
  std::vector<sim::OpIndex> order = graph.topological_order();
  std::stable_sort(order.begin(), order.end(), [&](sim::OpIndex a, sim::OpIndex b) {
    const sim::OpTimes& left = recorded.ops[static_cast<std::size_t>(a)];
    const sim::OpTimes& right = recorded.ops[static_cast<std::size_t>(b)];
    return std::pair(left.start, left.end) < std::pair(right.start, right.end);
  });
  return order;
}

sim::Cluster WithoutHostLimits(sim::Cluster cluster) {
  cluster.interconnect = "fair";
  cluster.dispatch = {};
  for (sim::Device& device : cluster.devices) device.device_class = sim::DeviceClass::kCpu;
  for (sim::Link& link : cluster.links) link.both_ppm = sim::kPpm;
  return cluster;
}

}  // namespace stowplan::bench
