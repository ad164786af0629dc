#include "agents/classical/unit_graph.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "agents/groupers/components.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

using Edges = UnitGraph::Edges;
using Adjacency = std::vector<std::vector<UnitIndex>>;

std::size_t Index(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

Adjacency SuccessorsOf(std::size_t nodes, const Edges& edges) {
  Adjacency successors(nodes);
  for (const auto& [from, to] : edges) successors[Index(from)].push_back(to);
  return successors;
}

// By node: twice the place of its first op in topological order. Variables, constants and placeholders come
// right before what first reads them: importers may put all of them in front of the model.
std::vector<std::int32_t> Positions(const sim::OpGraph& graph, const std::vector<std::int32_t>& node_of_op,
                                    std::size_t nodes) {
  constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> of_op(graph.ops.size(), kLast), position(nodes, kLast);
  std::int32_t place = 0;
  for (const sim::OpIndex op : graph.topological_order()) of_op[Index(op)] = 2 * ++place;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    std::int32_t first = of_op[Index(op)];
    if (graph.ops[Index(op)].IsSource() && !graph.consumers(op).empty()) {
      first = kLast;
      for (const sim::OpIndex reader : graph.consumers(op)) first = std::min(first, of_op[Index(reader)] - 1);
    }
    std::int32_t& least = position[Index(node_of_op[Index(op)])];
    least = std::min(least, first);
  }
  return position;
}

// Without the edges inside a cycle that run against the positions (equal ones: against the numbers).
Edges Forward(const Edges& edges, const std::vector<std::int32_t>& position) {
  const std::vector<std::int32_t> component = StronglyConnected(SuccessorsOf(position.size(), edges));
  Edges forward;
  for (const auto& [from, to] : edges) {
    const bool on = std::pair(position[Index(from)], from) < std::pair(position[Index(to)], to);
    if (on || component[Index(from)] != component[Index(to)]) forward.emplace_back(from, to);
  }
  return forward;
}

std::vector<std::int32_t> Depths(const Adjacency& successors) {
  std::vector<std::int32_t> waits(successors.size(), 0), depth(successors.size(), 0);
  for (const auto& list : successors) {
    for (const UnitIndex to : list) ++waits[Index(to)];
  }
  std::vector<UnitIndex> ready;
  for (std::size_t unit = 0; unit < waits.size(); ++unit) {
    if (waits[unit] == 0) ready.push_back(static_cast<UnitIndex>(unit));
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const UnitIndex from = ready[next];
    for (const UnitIndex to : successors[Index(from)]) {
      depth[Index(to)] = std::max(depth[Index(to)], depth[Index(from)] + 1);
      if (--waits[Index(to)] == 0) ready.push_back(to);
    }
  }
  STOWPLAN_CHECK_EQ(ready.size(), successors.size());
  return depth;
}

std::vector<UnitIndex> OrderBy(const std::vector<std::int32_t>& depth) {
  std::vector<UnitIndex> order(depth.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](UnitIndex a, UnitIndex b) { return depth[Index(a)] < depth[Index(b)]; });
  return order;
}

Edges PairsOf(const std::vector<UnitEdge>& edges) {
  Edges pairs;
  for (const UnitEdge& edge : edges) pairs.emplace_back(edge.from, edge.to);
  return pairs;
}

Edges ForwardBetweenUnits(const Task& task) {
  const sim::OpGraph& graph = task.problem->graph();
  const std::vector<std::int32_t>& set_of_op = graph.colocation_set();
  const std::size_t sets = Index(graph.colocation_sets()), units = Index(task.units.size());
  std::vector<UnitIndex> unit_of_set(sets);
  for (std::size_t op = 0; op < set_of_op.size(); ++op)
    unit_of_set[Index(set_of_op[op])] = task.units.unit_of_op[op];
  Edges between;
  for (const auto& [from, to] :
       Forward(PairsOf(CollectEdges(graph, set_of_op)), Positions(graph, set_of_op, sets))) {
    const std::pair edge(unit_of_set[Index(from)], unit_of_set[Index(to)]);
    if (edge.first != edge.second) between.push_back(edge);
  }
  return Forward(between, Positions(graph, task.units.unit_of_op, units));
}

Edges Folded(const Task& task) {
  const std::size_t units = Index(task.units.size());
  const std::vector<UnitIndex> order = OrderBy(Depths(SuccessorsOf(units, ForwardBetweenUnits(task))));
  std::vector<std::size_t> place(units);
  for (std::size_t i = 0; i < units; ++i) place[Index(order[i])] = i;
  Edges edges = PairsOf(task.edges);
  for (auto& [from, to] : edges) {
    if (place[Index(from)] > place[Index(to)]) std::swap(from, to);
  }
  return edges;
}

// From the last unit on, so that the sets of successors are ready when they are asked for.
std::vector<std::uint64_t> ReachSets(const Adjacency& successors, const std::vector<UnitIndex>& order,
                                     std::size_t words) {
  std::vector<std::uint64_t> reach(successors.size() * words, 0);
  for (auto unit = order.rbegin(); unit != order.rend(); ++unit) {
    std::uint64_t* const row = reach.data() + Index(*unit) * words;
    for (const UnitIndex to : successors[Index(*unit)]) {
      row[Index(to) / 64] |= std::uint64_t{1} << (to % 64);
      for (std::size_t w = 0; w < words; ++w) row[w] |= reach[Index(to) * words + w];
    }
  }
  return reach;
}

}  // namespace

UnitGraph::UnitGraph(const Task& task, bool reach) : UnitGraph(task.units.size(), Folded(task), reach) {}

UnitGraph::UnitGraph(UnitIndex units, Edges edges, bool reach)
    : size_(units), words_((Index(units) + 63) / 64), edges_(std::move(edges)) {
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  const Adjacency successors = SuccessorsOf(Index(units), edges_);
  depth_ = Depths(successors);
  order_ = OrderBy(depth_);
  if (reach) reach_ = ReachSets(successors, order_, words_);
}

}  // namespace stowplan::agents
