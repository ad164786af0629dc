#include "agents/rl/features/grouper_features.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "agents/classical/unit_graph.h"

namespace stowplan::agents::rl {
namespace {

using UnitLists = std::vector<std::vector<UnitIndex>>;
struct Adjacency {
  UnitLists in, out;  // by unit, ascending
};

Adjacency CollectNeighbours(const UnitGraph& graph) {
  const auto units = static_cast<std::size_t>(graph.size());
  Adjacency adjacency{UnitLists(units), UnitLists(units)};
  for (const auto& [from, to] : graph.edges()) {
    adjacency.out[static_cast<std::size_t>(from)].push_back(to);
    adjacency.in[static_cast<std::size_t>(to)].push_back(from);
  }
  return adjacency;
}

std::vector<std::int64_t> NumberBreadthFirst(const Adjacency& adjacency) {
  const std::size_t units = adjacency.in.size();
  std::vector<UnitIndex> queue;
  std::vector<bool> seen(units, false);
  const auto enter = [&](UnitIndex unit) {
    if (!seen[static_cast<std::size_t>(unit)]) queue.push_back(unit);
    seen[static_cast<std::size_t>(unit)] = true;
  };
  for (std::size_t unit = 0; unit < units; ++unit) {
    if (adjacency.in[unit].empty()) enter(static_cast<UnitIndex>(unit));
  }
  std::vector<std::int64_t> number(units);
  for (std::size_t next = 0; next < units; ++next) {
    const auto unit = static_cast<std::size_t>(queue[next]);
    number[unit] = static_cast<std::int64_t>(next);
    for (const UnitIndex to : adjacency.out[unit]) enter(to);
  }
  return number;
}

}  // namespace

std::vector<std::int64_t> BreadthFirstNumbers(const Task& task) {
  return NumberBreadthFirst(CollectNeighbours(UnitGraph(task, /*reach=*/false)));
}

at::Tensor UnitVectors(const Task& task) {
  constexpr std::int64_t kNeighbours = 6;
  const Adjacency adjacency = CollectNeighbours(UnitGraph(task, /*reach=*/false));
  const std::vector<std::int64_t> number = NumberBreadthFirst(adjacency);
  at::Tensor neighbours = at::full({task.units.size(), 2 * kNeighbours}, -1.0F);
  auto to = neighbours.accessor<float, 2>();
  const auto units = static_cast<float>(number.size());
  for (std::size_t unit = 0; unit < number.size(); ++unit) {
    std::int64_t side = 0;
    for (const UnitLists* of : {&adjacency.in, &adjacency.out}) {
      const auto& list = (*of)[unit];
      for (std::int64_t i = 0; i < std::min(kNeighbours, static_cast<std::int64_t>(list.size())); ++i) {
        const auto neighbour = static_cast<std::size_t>(list[static_cast<std::size_t>(i)]);
        to[static_cast<std::int64_t>(unit)][side * kNeighbours + i] =
            static_cast<float>(number[neighbour]) / units;
      }
      ++side;
    }
  }
  return at::cat({Standardised(SumShapes(task, 6, 4).log1p()), neighbours}, 1);
}

at::Tensor PlannerUnitVectors(const Task& task, const TypeVocabulary& vocabulary) {
  constexpr std::int64_t kShapes = 25, kPairs = 10;
  const UnitGraph graph(task, /*reach=*/false);
  std::vector<float> position(task.units.ops.size());
  for (std::size_t i = 0; i < position.size(); ++i)
    position[static_cast<std::size_t>(graph.order()[i])] = static_cast<float>(i);
  const Adjacency adjacency = CollectNeighbours(graph);

  at::Tensor vectors = at::zeros({task.units.size(), 1 + kShapes + 2 * kPairs});
  const at::Tensor shapes = SumShapes(task, 5, 5);
  vectors.narrow(1, 1, kShapes).copy_(at::where(shapes > 0, shapes, -at::ones_like(shapes)));
  auto to = vectors.accessor<float, 2>();
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    const auto u = static_cast<std::size_t>(unit);
    const auto first = static_cast<std::size_t>(task.units.ops[u].front());
    to[unit][0] = static_cast<float>(vocabulary.IndexOf(task.problem->graph().ops[first].type));
    std::int64_t column = 1 + kShapes;
    const auto add = [&](const std::vector<UnitIndex>& list, float direction) {
      for (const UnitIndex other : list) {
        if (column == vectors.size(1)) return;
        to[unit][column++] = position[static_cast<std::size_t>(other)];
        to[unit][column++] = direction;
      }
    };
    add(adjacency.out[u], 1);
    add(adjacency.in[u], -1);
  }
  return vectors;
}

GroupDescriber::GroupDescriber(const Task& task, const TypeVocabulary& vocabulary, std::int64_t groups,
                               bool planner)
    : groups_(groups),
      planner_(planner),
      types_(CountTypes(task, vocabulary)),
      shapes_(planner ? SumShapes(task, 5, 5) : SumShapes(task, 4, 4)) {
  std::vector<std::int64_t> from, to, bytes;
  for (const UnitEdge& edge : task.edges) {
    from.push_back(edge.from);
    to.push_back(edge.to);
    bytes.push_back(edge.bytes);
  }
  from_ = IndexTensor(from);
  to_ = IndexTensor(to);
  weight_ = IndexTensor(bytes).to(at::kDouble) + 0.5;
  std::vector<std::int64_t> lengths;
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    for (const sim::DeviceIndex device : task.devices) lengths.push_back(task.unit_cost(unit, device));
  }
  lengths_ = IndexTensor(lengths).view({task.units.size(), -1}).to(at::kDouble);
}

std::int64_t GroupDescriber::Columns(std::int64_t groups, bool planner) {
  return planner ? 2 * groups + TypeVocabulary::kSize + 25 : TypeVocabulary::kSize + 16 + groups;
}

at::Tensor GroupDescriber::Describe(const at::Tensor& group) const {
  const auto sum = [&](const at::Tensor& rows) {
    return at::zeros({groups_, rows.size(1)}).index_add_(0, group, rows);
  };
  const at::Tensor pairs = group.index_select(0, from_) * groups_ + group.index_select(0, to_);
  const at::Tensor edges = at::bincount(pairs, {}, groups_ * groups_).view({groups_, groups_}).to(at::kFloat);
  if (planner_) return PlannerGroupFeatures(edges, sum(types_), sum(shapes_));
  at::Tensor adjacent = (edges + edges.t() > 0).to(at::kFloat);
  adjacent.fill_diagonal_(0);
  return at::cat({sum(types_).log1p(), sum(shapes_).log1p(), adjacent}, 1);
}

at::Tensor GroupDescriber::EarlierGroups(const at::Tensor& group) const {
  const at::Tensor pairs = group.index_select(0, from_) * groups_ + group.index_select(0, to_);
  const at::Tensor directed =
      at::zeros({groups_ * groups_}, at::kDouble).index_add_(0, pairs, weight_).view({groups_, groups_});
  const auto [most, earlier] = (directed + directed.t()).tril(-1).max(1);
  return at::where(most > 0, earlier, at::full_like(earlier, groups_));
}

at::Tensor GroupDescriber::WorkOf(const at::Tensor& group) const {
  return at::zeros({groups_, lengths_.size(1)}, at::kDouble).index_add_(0, group, lengths_);
}

}  // namespace stowplan::agents::rl
