// Which module of the model each op belongs to, by its name: the tree that `--grouper module` cuts and that placements
// are exported in (docs/exporting.md#modules).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::sim {

// Parts of a name stand between '/' and '.'; a path joins them with dots: "/model/layers.0/q_proj/MatMul" and the weight
// "model.layers.0.q_proj.weight" both belong to the module "model.layers.0.q_proj".
//
// An op's module is its attribute `module` where it has one, else its name without the last part. Ops of a backward pass
// or an update that are named "gradients/X" or "updates/X" belong where X does. A scope that is the name of an op is a
// module only if it holds a variable ("norm" with "norm/gamma"); else what is below it belongs where the op does
// ("matmul/bias_add"). A colocation set is of one module: of its first op that is in any.
struct ModuleTree {
  struct Module {
    std::string path;  // "" = the model itself
    std::int32_t parent = -1;
    std::vector<std::int32_t> children{};  // in the order of their first op in topological order
    std::vector<OpIndex> own{};            // ops in none of the children, ascending
    std::int64_t ops = 0;                  // own and those of all modules below
  };
  std::vector<Module> modules;               // 0 is the model itself; parents stand before their children
  std::vector<std::int32_t> module_of_op{};  // the innermost

  // -1 if absent.
  std::int32_t Find(const std::string& path) const;
};

ModuleTree MakeModuleTree(const OpGraph& graph);

// The coarsest modules that have at most so many ops and not more than half of all, in the order of the tree; a module
// without children counts whatever its size. Ops of modules above them are in none. Empty where names spell no modules.
inline constexpr std::int64_t kMostOpsOfModule = 256;
std::vector<std::int32_t> CoarsestModules(const ModuleTree& tree, std::int64_t most_ops = kMostOpsOfModule);

// All ops of a module and those below it, ascending in each.
template <typename Take>
void ForEachOp(const ModuleTree& tree, std::int32_t module, const Take& take) {
  for (const OpIndex op : tree.modules[static_cast<std::size_t>(module)].own) take(op);
  for (const std::int32_t child : tree.modules[static_cast<std::size_t>(module)].children)
    ForEachOp(tree, child, take);
}

// "/model/layers.0/q_proj" and "model.layers.0.q_proj" as "model.layers.0.q_proj".
std::string ModulePath(const std::string& name);

// Gives every op without a value (-1) one, as a framework does that runs an op where its data is: that of its first data
// input with a value, else (sources, and what only they lead to) that of its first consumer with one. Ops of a
// colocation set go together. What is connected to no value keeps -1.
void FollowData(const OpGraph& graph, std::vector<std::int32_t>& value_of_op);

}  // namespace stowplan::sim
