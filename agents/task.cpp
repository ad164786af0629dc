#include "agents/task.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "agents/random_numbers.h"
#include "agents/timing.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/collectives.h"

namespace stowplan::agents {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;

// One dependency between two units; output -1 is a control dependency.
struct Crossing {
  UnitIndex from;
  UnitIndex to;
  OpIndex producer;
  std::int32_t output;
  auto operator<=>(const Crossing&) const = default;
};

}  // namespace

std::vector<UnitEdge> CollectEdges(const sim::OpGraph& graph, const std::vector<UnitIndex>& unit_of_op) {
  std::vector<Crossing> crossings;
  for (OpIndex op = 0; op < graph.size(); ++op) {
    const sim::Op& consumer = graph.ops[static_cast<std::size_t>(op)];
    const UnitIndex to = unit_of_op[static_cast<std::size_t>(op)];
    const auto add = [&](OpIndex producer, std::int32_t output) {
      const UnitIndex from = unit_of_op[static_cast<std::size_t>(producer)];
      if (from != to) crossings.push_back({from, to, producer, output});
    };
    for (const sim::TensorRef& input : consumer.inputs) add(input.op, input.output);
    for (const OpIndex producer : consumer.control) add(producer, -1);
  }
  std::sort(crossings.begin(), crossings.end());
  crossings.erase(std::unique(crossings.begin(), crossings.end()), crossings.end());

  std::vector<UnitEdge> edges;
  for (const Crossing& crossing : crossings) {
    if (edges.empty() || edges.back().from != crossing.from || edges.back().to != crossing.to) {
      edges.push_back({crossing.from, crossing.to, 0});
    }
    if (crossing.output >= 0) {
      const auto& outputs = graph.ops[static_cast<std::size_t>(crossing.producer)].outputs;
      edges.back().bytes += outputs[static_cast<std::size_t>(crossing.output)].bytes;
    }
  }
  return edges;
}

sim::Picos Task::TransferEstimate(sim::Bytes bytes, DeviceIndex from, DeviceIndex to) const {
  return LoneTransferTime(problem->cluster(), bytes, from, to);
}

sim::Placement Expand(const Task& task, const UnitPlacement& units) {
  sim::Placement placement;
  placement.device.reserve(task.units.unit_of_op.size());
  for (const UnitIndex unit : task.units.unit_of_op) {
    placement.device.push_back(units[static_cast<std::size_t>(unit)]);
  }
  return placement;
}

namespace {

// Mixes what decides the outcome of a placement into one number.
class Hash {
 public:
  void Add(std::int64_t value) { value_ = Mix(value_ ^ static_cast<std::uint64_t>(value)); }
  void Add(const std::string& text) {
    Add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) Add(c);
  }
  template <typename T>
  void AddAll(const std::vector<T>& values) {
    Add(static_cast<std::int64_t>(values.size()));
    for (const T& value : values) Add(static_cast<std::int64_t>(value));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

void AddDevices(const sim::Cluster& cluster, Hash& hash) {
  for (const sim::Device& device : cluster.devices) {
    hash.Add(static_cast<std::int64_t>(device.device_class));
    for (const std::int64_t value :
         {device.capacity(), device.granularity, std::int64_t{device.streams},
          std::int64_t{device.copy_engines}, device.overlap_copy_ppm, device.launch_cost}) {
      hash.Add(value);
    }
    hash.AddAll(device.concurrency_ppm);
    if (device.overlap_collective_ppm != sim::kPpm) hash.Add(device.overlap_collective_ppm);
  }
  const sim::Dispatch& dispatch = cluster.dispatch;
  hash.Add(static_cast<std::int64_t>(dispatch.per));
  hash.Add(static_cast<std::int64_t>(dispatch.order));
  hash.Add(dispatch.automatic);
  hash.Add(dispatch.cost);
}

void AddLinks(const sim::Cluster& cluster, Hash& hash) {
  hash.Add(cluster.interconnect);
  for (const sim::Link& link : cluster.links) {
    for (const std::int64_t value : {std::int64_t{link.ends[0]}, std::int64_t{link.ends[1]}, link.bandwidth,
                                     link.latency, static_cast<std::int64_t>(link.duplex), link.both_ppm}) {
      hash.Add(value);
    }
    for (const auto& [bytes, time] : link.curve) {
      hash.Add(bytes);
      hash.Add(time);
    }
  }
  for (sim::DeviceIndex from = 0; from < cluster.size(); ++from) {
    for (sim::DeviceIndex to = 0; to < cluster.size(); ++to) {
      for (const auto& hop : cluster.route(from, to)) hash.Add(2 * hop.link + hop.forward);
    }
  }
}

void AddGraph(const sim::OpGraph& graph, Hash& hash) {
  for (const sim::Op& op : graph.ops) {
    for (const std::int64_t value : {op.persistent_bytes, op.workspace_bytes,
                                     std::int64_t{op.DispatchUnits()}, std::int64_t{op.IsSource()}}) {
      hash.Add(value);
    }
    for (const sim::TensorRef& input : op.inputs) {
      hash.Add(input.op);
      hash.Add(input.output);
    }
    hash.AddAll(op.control);
    for (const sim::Output& output : op.outputs) {
      for (const std::int64_t value : {output.bytes, static_cast<std::int64_t>(output.storage),
                                       std::int64_t{output.alias.op}, std::int64_t{output.alias.output}}) {
        hash.Add(value);
      }
    }
  }
  for (const sim::Collective& collective : sim::CollectivesOf(graph)) {
    hash.AddAll(collective.members);
    for (const std::int64_t value :
         {static_cast<std::int64_t>(collective.type), std::int64_t{collective.copies},
          std::int64_t{collective.stride}, std::int64_t{collective.root}})
      hash.Add(value);
  }
}

void AddCosts(const sim::Problem& problem, Hash& hash) {
  const OpIndex ops = problem.graph().size();
  const DeviceIndex devices = problem.cluster().size();
  hash.Add(std::int64_t{ops} * devices);
  for (OpIndex op = 0; op < ops; ++op)
    for (DeviceIndex d = 0; d < devices; ++d) hash.Add(problem.costs().at(op, d));
}

}  // namespace

std::uint64_t Fingerprint(const Task& task) {
  const sim::Cluster& cluster = task.problem->cluster();
  Hash hash;
  hash.Add(static_cast<std::int64_t>(cluster.rules));
  AddDevices(cluster, hash);
  AddLinks(cluster, hash);
  AddGraph(task.problem->graph(), hash);
  AddCosts(*task.problem, hash);
  hash.AddAll(task.devices);
  hash.AddAll(task.units.unit_of_op);
  hash.Add(task.reference_runtime);
  return hash.value();
}

std::vector<DeviceIndex> DevicesOf(const Task& task, sim::DeviceClass device_class) {
  std::vector<DeviceIndex> devices;
  for (const DeviceIndex d : task.devices) {
    if (task.device(d).device_class == device_class) devices.push_back(d);
  }
  return devices;
}

std::vector<DeviceIndex> Accelerators(const Task& task) {
  std::vector<DeviceIndex> gpus = DevicesOf(task, sim::DeviceClass::kGpu);
  return gpus.empty() ? task.devices : gpus;
}

}  // namespace stowplan::agents
