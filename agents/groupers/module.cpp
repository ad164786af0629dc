// Groups are the modules that the names of ops spell (sim/modules.h): the coarsest that have `ops` ops at most and not more
// than half of all. A larger one is opened: its children are looked at in turn, and its own ops, as the sum behind a
// residual, go where their data is (FollowData), as a framework runs them. So a placement of these groups can be written
// as a map from modules to devices. A module without children is one group whatever its size. Ops that no group's data
// reaches, as all where names spell no modules, stay units of colocation.
#include "agents/groupers/groupers.h"
#include "sim/modules.h"

namespace berth::agents {
namespace {

class Cutter {
 public:
  Cutter(const sim::OpGraph& graph, std::int64_t most_ops)
      : tree_(sim::MakeModuleTree(graph)), most_ops_(most_ops), group_of_op_(graph.ops.size(), -1) {}

  std::vector<std::int32_t> Run() {
    if (!tree_.modules.front().children.empty()) Cut(0);
    return std::move(group_of_op_);
  }
  std::int32_t groups() const { return groups_; }

 private:
  void Cut(std::int32_t at) {
    const sim::ModuleTree::Module& module = tree_.modules[static_cast<std::size_t>(at)];
    const bool small = module.ops <= most_ops_ && module.ops * 2 <= tree_.modules.front().ops;
    if (small || module.children.empty()) return Take(at, groups_++);
    for (const std::int32_t child : module.children) Cut(child);
  }

  void Take(std::int32_t at, std::int32_t group) {
    const sim::ModuleTree::Module& module = tree_.modules[static_cast<std::size_t>(at)];
    for (const sim::OpIndex op : module.own) group_of_op_[static_cast<std::size_t>(op)] = group;
    for (const std::int32_t child : module.children) Take(child, group);
  }

  sim::ModuleTree tree_;
  std::int64_t most_ops_;
  std::vector<std::int32_t> group_of_op_;
  std::int32_t groups_ = 0;
};

}  // namespace

std::vector<std::int32_t> GroupByModule(ParameterReader& parameters, const sim::Problem& problem) {
  const std::int64_t most_ops = parameters.Int("ops", 256, 1, INT32_MAX);
  parameters.Finish();
  const sim::OpGraph& graph = problem.graph();
  Cutter cutter(graph, most_ops);
  std::vector<std::int32_t> group_of_op = cutter.Run();
  sim::FollowData(graph, group_of_op);
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    std::int32_t& group = group_of_op[static_cast<std::size_t>(op)];
    if (group < 0) group = cutter.groups() + graph.colocation_set()[static_cast<std::size_t>(op)];
  }
  return group_of_op;
}

}  // namespace berth::agents
