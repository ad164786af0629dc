// Groups are the modules that the names of ops spell (sim/analysis/modules.h): the coarsest that have `ops` ops at most and not more
// than half of all. A larger one is opened: its children are looked at in turn, and its own ops, as the sum behind a
// residual, go where their data is (FollowData). A module without children is one group whatever its size. Ops that no group's
// data reaches, as all where names spell no modules, stay units of colocation.
//
// whole_module: a framework copies nothing to an op of an opened module, so a module whose own ops join data of several groups
// stays whole where it has not more than half of all ops; else those groups are one. What no data reaches goes with the first
// group. So every placement can be written as a map from modules to devices (docs/exporting.md#device-map).
#include <algorithm>
#include <numeric>

#include "agents/groupers/groupers.h"
#include "sim/analysis/layers.h"
#include "sim/analysis/modules.h"

namespace stowplan::agents {
namespace {

// By op; -1 = in none of the modules, nor is its data.
std::vector<std::int32_t> GroupsOfModules(const sim::OpGraph& graph, const sim::ModuleTree& tree,
                                          const std::vector<std::int32_t>& modules) {
  std::vector<std::int32_t> group_of_op(graph.ops.size(), -1);
  std::int32_t groups = 0;
  for (const std::int32_t module : modules) {
    sim::ForEachOp(tree, module,
                   [&](sim::OpIndex op) { group_of_op[static_cast<std::size_t>(op)] = groups; });
    ++groups;
  }
  sim::FollowData(graph, group_of_op);
  return group_of_op;
}

class WholeModules {
 public:
  WholeModules(const sim::OpGraph& graph, std::int64_t most_ops)
      : graph_(graph),
        tree_(sim::MakeModuleTree(graph)),
        modules_(sim::CoarsestModules(tree_, most_ops)),
        kept_(tree_.modules.size(), false) {}

  std::vector<std::int32_t> Groups() {
    do {
      group_ = GroupsOfModules(graph_, tree_, modules_);
    } while (Close());
    joined_.resize(modules_.size() + 1);
    std::iota(joined_.begin(), joined_.end(), 0);
    ForEachJoin([&](std::int32_t /*module*/, std::int32_t a, std::int32_t b) {
      joined_[At(std::max(Root(a), Root(b)))] = std::min(Root(a), Root(b));
    });
    const auto first = std::ranges::find_if(graph_.topological_order(),
                                            [&](sim::OpIndex op) { return group_[At(op)] >= 0; });
    const std::int32_t rest = first == graph_.topological_order().end() ? 0 : group_[At(*first)];
    for (std::int32_t& group : group_) group = Root(group < 0 ? rest : group);
    return group_;
  }

 private:
  static std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }
  std::int32_t Root(std::int32_t group) const {
    while (joined_[At(group)] != group) group = joined_[At(group)];
    return group;
  }

  // Own forward ops of opened modules that read data of another group.
  template <typename Take>
  void ForEachJoin(const Take& take) const {
    std::vector<bool> whole(graph_.ops.size(), false);
    for (const std::int32_t module : modules_)
      sim::ForEachOp(tree_, module, [&](sim::OpIndex op) { whole[At(op)] = true; });
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      const sim::Op& what = graph_.ops[At(op)];
      if (whole[At(op)] || what.IsSource() || !sim::IsForward(what)) continue;
      for (const sim::TensorRef& input : what.inputs) {
        const sim::Op& producer = graph_.ops[At(input.op)];
        const std::int32_t there = group_[At(input.op)];
        if ((producer.IsSource() && !producer.IsVariable()) || there < 0 || there == group_[At(op)]) continue;
        take(tree_.module_of_op[At(op)], group_[At(op)], there);
      }
    }
  }

  // Whether there was a module to close.
  bool Close() {
    bool closed = false;
    ForEachJoin([&](std::int32_t module, std::int32_t /*a*/, std::int32_t /*b*/) {
      const bool small = tree_.modules[At(module)].ops * 2 <= tree_.modules.front().ops;
      if (module == 0 || !small || kept_[At(module)]) return;
      kept_[At(module)] = closed = true;
    });
    if (!closed) return false;
    std::vector<std::int32_t> modules;
    for (const std::int32_t module : modules_) {
      std::int32_t outermost = module;
      for (std::int32_t m = module; m > 0; m = tree_.modules[At(m)].parent) {
        if (kept_[At(m)]) outermost = m;
      }
      if (std::ranges::find(modules, outermost) == modules.end()) modules.push_back(outermost);
    }
    modules_ = std::move(modules);
    return true;
  }

  const sim::OpGraph& graph_;
  sim::ModuleTree tree_;
  std::vector<std::int32_t> modules_;  // the groups
  std::vector<bool> kept_;             // by module: whole, whatever its size
  std::vector<std::int32_t> group_;    // by op
  std::vector<std::int32_t> joined_;   // by group, one that it is one with
};

}  // namespace

std::vector<std::int32_t> GroupByModule(const Settings& read, const sim::Problem& problem) {
  const sim::OpGraph& graph = problem.graph();
  const sim::ModuleTree tree = sim::MakeModuleTree(graph);
  const std::vector<std::int32_t> modules = sim::CoarsestModules(tree, read.Int("ops"));
  std::vector<std::int32_t> group_of_op = GroupsOfModules(graph, tree, modules);
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    std::int32_t& group = group_of_op[static_cast<std::size_t>(op)];
    if (group < 0)
      group =
          static_cast<std::int32_t>(modules.size()) + graph.colocation_set()[static_cast<std::size_t>(op)];
  }
  return group_of_op;
}

std::vector<std::int32_t> GroupByWholeModule(const Settings& read, const sim::Problem& problem) {
  return WholeModules(problem.graph(), read.Int("ops")).Groups();
}

}  // namespace stowplan::agents
