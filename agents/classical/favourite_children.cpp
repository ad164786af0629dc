#include "agents/classical/favourite_children.h"

#include <algorithm>

namespace stowplan::agents {

using sim::OpIndex;
using sim::Picos;

namespace {

double Micros(Picos time) {
  return static_cast<double>(time) / 1e6;
}

// The ops but sources in the order of their starts if transfers took no time: a topological order whose
// segments are what runs at about one time.
std::vector<OpIndex> ByEarliestStart(const ListSchedule& list) {
  const sim::OpGraph& graph = list.task().problem->graph();
  std::vector<Picos> end(graph.ops.size(), 0);
  std::vector<Picos> start(graph.ops.size(), 0);
  std::vector<OpIndex> ops;
  for (const OpIndex op : graph.topological_order()) {
    const auto i = static_cast<std::size_t>(op);
    for (const Dependency& dependency : list.DependenciesOf(op))
      start[i] = std::max(start[i], end[static_cast<std::size_t>(dependency.producer)]);
    end[i] = start[i] + list.MeanLength(op);
    if (!graph.ops[i].IsSource()) ops.push_back(op);
  }
  std::stable_sort(ops.begin(), ops.end(), [&](OpIndex a, OpIndex b) {
    return start[static_cast<std::size_t>(a)] < start[static_cast<std::size_t>(b)];
  });
  return ops;
}

// Each sum of columns is at least their number less one.
void AddOneFavouriteEach(const std::vector<std::vector<std::int32_t>>& columns_of, LinearProgram& program) {
  for (const std::vector<std::int32_t>& columns : columns_of) {
    if (columns.size() < 2) continue;  // says nothing of one
    const std::int32_t row = program.AddRow(static_cast<double>(columns.size()) - 1);
    for (const std::int32_t column : columns) program.AddEntry(row, column, 1);
  }
}

}  // namespace

FavouriteProgram MakeFavouriteProgram(ListSchedule& list, std::span<const OpIndex> ops) {
  FavouriteProgram result;
  LinearProgram& program = result.program;
  std::vector<std::int32_t> start(list.task().problem->graph().ops.size(), -1);  // columns; -1 = no part
  std::vector<double> length(start.size(), 0);
  for (const OpIndex op : ops) {
    start[static_cast<std::size_t>(op)] = program.AddColumn(0, LinearProgram::kInfinity, 0);
    length[static_cast<std::size_t>(op)] = Micros(list.MeanLength(op));
  }
  result.makespan = program.AddColumn(0, LinearProgram::kInfinity, 1);

  std::vector<std::vector<std::int32_t>> of_parent(start.size());
  std::vector<std::vector<std::int32_t>> of_child(start.size());
  std::vector<bool> has_child(start.size(), false);
  for (const OpIndex child : ops) {
    const std::vector<Dependency>& dependencies = list.DependenciesOf(child);
    for (auto next = dependencies.begin(); next != dependencies.end();) {
      const OpIndex parent = next->producer;
      Picos transfer = 0;
      for (; next != dependencies.end() && next->producer == parent; ++next)
        transfer += list.MeanTransfer(next->bytes);
      const std::int32_t parent_start = start[static_cast<std::size_t>(parent)];
      if (parent_start < 0) continue;
      has_child[static_cast<std::size_t>(parent)] = true;
      const std::int32_t row = program.AddRow(length[static_cast<std::size_t>(parent)]);
      program.AddEntry(row, start[static_cast<std::size_t>(child)], 1);
      program.AddEntry(row, parent_start, -1);
      if (transfer == 0 || list.UnitOf(parent) == list.UnitOf(child)) continue;
      const std::int32_t column = program.AddColumn(0, 1, 0);
      program.AddEntry(row, column, -Micros(transfer));
      of_parent[static_cast<std::size_t>(parent)].push_back(column);
      of_child[static_cast<std::size_t>(child)].push_back(column);
      result.edges.push_back({parent, child, column});
    }
  }
  AddOneFavouriteEach(of_parent, program);
  AddOneFavouriteEach(of_child, program);
  for (const OpIndex op : ops) {
    if (has_child[static_cast<std::size_t>(op)]) continue;  // the child's rows imply it
    const std::int32_t row = program.AddRow(length[static_cast<std::size_t>(op)]);
    program.AddEntry(row, result.makespan, 1);
    program.AddEntry(row, start[static_cast<std::size_t>(op)], -1);
  }
  return result;
}

std::vector<OpIndex> FavouriteChildren(ListSchedule& list, double threshold, std::int64_t window) {
  const std::vector<OpIndex> ops = ByEarliestStart(list);
  std::vector<OpIndex> favourite(list.task().problem->graph().ops.size(), -1);
  std::size_t parts = 1;
  if (window > 0)
    parts = (ops.size() + static_cast<std::size_t>(window) - 1) / static_cast<std::size_t>(window);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = part * ops.size() / parts;
    const std::size_t end = (part + 1) * ops.size() / parts;
    const FavouriteProgram segment = MakeFavouriteProgram(list, std::span(ops).subspan(begin, end - begin));
    if (segment.edges.empty()) continue;
    const std::vector<double> x = Minimise(segment.program);
    for (const FavouriteProgram::Edge& edge : segment.edges) {
      if (x[static_cast<std::size_t>(edge.column)] <= threshold)
        favourite[static_cast<std::size_t>(edge.parent)] = edge.child;
    }
  }
  return favourite;
}

}  // namespace stowplan::agents
