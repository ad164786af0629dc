#include "agents/rl/features/node_features.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>

#include "agents/rl/features/unit_features.h"
#include "sim/base/error.h"
#include "sim/base/units.h"

namespace stowplan::agents::rl {
namespace {

constexpr std::int64_t kShapeNumbers = 4;

// [us]
std::vector<double> CostsOn(const Task& task, sim::DeviceClass device_class) {
  std::vector<double> costs(task.units.ops.size(), 0);
  const auto& devices = task.problem->cluster().devices;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (devices[d].device_class != device_class) continue;
    for (std::size_t unit = 0; unit < costs.size(); ++unit) {
      costs[unit] =
          sim::ToMicros(task.unit_cost(static_cast<UnitIndex>(unit), static_cast<sim::DeviceIndex>(d)));
    }
    break;
  }
  return costs;
}

}  // namespace

at::Tensor NodeFeatures(const Task& task, const UnitGraph& graph) {
  const std::size_t units = task.units.ops.size();
  std::vector<double> output, flops(units, 0), persistent, reads(units, 0), read_by(units, 0), depth(units);
  for (std::size_t unit = 0; unit < units; ++unit) {
    output.push_back(static_cast<double>(task.output[unit]));
    persistent.push_back(static_cast<double>(task.persistent[unit]));
    for (const sim::OpIndex op : task.units.ops[unit])
      flops[unit] += task.problem->graph().ops[static_cast<std::size_t>(op)].flops;
  }
  for (const auto& [from, to] : graph.edges()) {
    ++read_by[static_cast<std::size_t>(from)];
    ++reads[static_cast<std::size_t>(to)];
  }
  const double deepest = std::max(1, *std::max_element(graph.depth().begin(), graph.depth().end()));
  for (std::size_t unit = 0; unit < units; ++unit) depth[unit] = graph.depth()[unit] / deepest;

  std::vector<at::Tensor> columns = {SumShapes(task, 1, kShapeNumbers).to(at::kDouble).log1p()};
  for (const std::vector<double>& column :
       {output, flops, persistent, reads, read_by, CostsOn(task, sim::DeviceClass::kGpu),
        CostsOn(task, sim::DeviceClass::kCpu)}) {
    columns.push_back(at::tensor(column, at::kDouble).log1p().unsqueeze(1));
  }
  columns.push_back(at::tensor(depth, at::kDouble).unsqueeze(1));
  const at::Tensor all = Standardised(at::cat(columns, 1)).to(at::kFloat);
  STOWPLAN_CHECK_EQ(all.size(1), kNodeFeatures);
  return all;
}

}  // namespace stowplan::agents::rl
