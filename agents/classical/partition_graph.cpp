#include "agents/classical/partition_graph.h"

#include <algorithm>
#include <numeric>

namespace stowplan::agents {
namespace {

constexpr std::int64_t kMaxSum = std::int64_t{1} << 30;  // leaves room for the libraries' own sums
constexpr sim::Picos kCostUnit = sim::kPicosPerMicro / 10;
constexpr sim::Bytes kBytesUnit = 1024;

std::vector<std::int32_t> Weights(const std::vector<std::int64_t>& values, std::int64_t unit) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) sum += value / unit;
  const std::int64_t divisor = unit * (1 + sum / kMaxSum);
  std::vector<std::int32_t> weights;
  for (const std::int64_t value : values) {
    weights.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(1, (value + divisor / 2) / divisor)));
  }
  return weights;
}

}  // namespace

PartitionGraph MakePartitionGraph(const Task& task, sim::DeviceIndex priced) {
  std::vector<UnitEdge> both;
  for (const UnitEdge& edge : task.edges) {
    both.push_back(edge);
    both.push_back({edge.to, edge.from, edge.bytes});
  }
  std::sort(both.begin(), both.end(), [](const UnitEdge& a, const UnitEdge& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });

  PartitionGraph graph;
  graph.offsets.assign(task.units.ops.size() + 1, 0);
  std::vector<std::int64_t> bytes;
  UnitEdge last{-1, -1, 0};
  for (const UnitEdge& edge : both) {
    if (edge.from == last.from && edge.to == last.to) {
      bytes.back() += edge.bytes;
      continue;
    }
    last = edge;
    graph.targets.push_back(edge.to);
    bytes.push_back(edge.bytes);
    ++graph.offsets[static_cast<std::size_t>(edge.from) + 1];
  }
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());

  std::vector<std::int64_t> cost;
  std::vector<std::int64_t> memory;
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    cost.push_back(task.unit_cost(unit, priced));
    memory.push_back(task.persistent[static_cast<std::size_t>(unit)] +
                     task.output[static_cast<std::size_t>(unit)]);
  }
  graph.edge_bytes = Weights(bytes, kBytesUnit);
  graph.unit_cost = Weights(cost, kCostUnit);
  graph.unit_memory = Weights(memory, kBytesUnit);
  return graph;
}

}  // namespace stowplan::agents
