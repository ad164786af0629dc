#include "agents/rl/node_features.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "agents/rl/unit_features.h"
#include "agents/rl/unit_graph.h"

namespace berth::agents::rl {
namespace {

sim::DeviceIndex FirstCpu(const Task& task) {
  const auto& devices = task.problem->cluster().devices;
  const auto found = std::find_if(devices.begin(), devices.end(), [](const sim::Device& device) {
    return device.device_class == sim::DeviceClass::kCpu;
  });
  return found == devices.end() ? Accelerators(task).front()
                                : static_cast<sim::DeviceIndex>(found - devices.begin());
}

}  // namespace

at::Tensor NodeFeatures(const Task& task) {
  const UnitGraph graph(task.units.size(), task.edges, /*reach=*/false);
  at::Tensor amounts = at::zeros({task.units.size(), 7}), depth = at::zeros({task.units.size(), 1});
  auto to = amounts.accessor<float, 2>();
  const sim::DeviceIndex accelerator = Accelerators(task).front(), cpu = FirstCpu(task);
  const auto& depths = graph.depth();
  const std::int32_t deepest = std::max(1, *std::max_element(depths.begin(), depths.end()));
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    const auto u = static_cast<std::size_t>(unit);
    double flops = 0;
    for (const sim::OpIndex op : task.units.ops[u])
      flops += task.problem->graph().ops[static_cast<std::size_t>(op)].flops;
    to[unit][0] = static_cast<float>(task.output[u]);
    to[unit][1] = static_cast<float>(flops);
    to[unit][2] = static_cast<float>(task.persistent[u]);
    to[unit][5] = static_cast<float>(sim::ToMicros(task.unit_cost(unit, accelerator)));
    to[unit][6] = static_cast<float>(sim::ToMicros(task.unit_cost(unit, cpu)));
    depth[unit][0] = static_cast<float>(depths[u]) / static_cast<float>(deepest);
  }
  for (const auto& [from, into] : graph.edges()) {
    to[into][3] += 1;
    to[from][4] += 1;
  }
  return Standardised(at::cat({at::cat({amounts, SumShapes(task, 1, 4)}, 1).log1p(), depth}, 1));
}

}  // namespace berth::agents::rl
