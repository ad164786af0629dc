// Groups are the modules that the names of ops spell (sim/analysis/modules.h): the coarsest that have `ops` ops at most and not more
// than half of all. A larger one is opened: its children are looked at in turn, and its own ops, as the sum behind a
// residual, go where their data is (FollowData), as a framework runs them. So a placement of these groups can be written
// as a map from modules to devices. A module without children is one group whatever its size. Ops that no group's data
// reaches, as all where names spell no modules, stay units of colocation.
#include "agents/groupers/groupers.h"
#include "sim/analysis/modules.h"

namespace stowplan::agents {

std::vector<std::int32_t> GroupByModule(const Settings& read, const sim::Problem& problem) {
  const std::int64_t most_ops = read.Int("ops");
  const sim::OpGraph& graph = problem.graph();
  const sim::ModuleTree tree = sim::MakeModuleTree(graph);
  std::vector<std::int32_t> group_of_op(graph.ops.size(), -1);
  std::int32_t groups = 0;
  for (const std::int32_t module : sim::CoarsestModules(tree, most_ops)) {
    sim::ForEachOp(tree, module,
                   [&](sim::OpIndex op) { group_of_op[static_cast<std::size_t>(op)] = groups; });
    ++groups;
  }
  sim::FollowData(graph, group_of_op);
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    std::int32_t& group = group_of_op[static_cast<std::size_t>(op)];
    if (group < 0) group = groups + graph.colocation_set()[static_cast<std::size_t>(op)];
  }
  return group_of_op;
}

}  // namespace stowplan::agents
