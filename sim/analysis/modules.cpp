#include "sim/analysis/modules.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace stowplan::sim {
namespace {

// "a.b.c" without its last part: "a.b"; without any: "".
std::string_view ParentOf(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

// A model has no modules so deep; what a name spells below is left out, so that no name makes a tree of its own depth.
constexpr std::size_t kMostParts = 64;

std::string Capped(std::string path) {
  std::size_t parts = 1;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.' && ++parts > kMostParts) {
      path.resize(i);
      break;
    }
  }
  return path;
}

// The name as a path, without what a builder put in front of a backward or update op.
std::string PathOf(const Op& op) {
  std::string path = Capped(ModulePath(op.name));
  for (const std::string_view prefix : {"gradients.", "updates."}) {
    if ((op.phase == "backward" || op.phase == "update") && path.starts_with(prefix))
      return path.substr(prefix.size());
  }
  return path;
}

class ModuleNames {
 public:
  explicit ModuleNames(const OpGraph& graph) {
    for (const Op& op : graph.ops) {
      paths_.push_back(PathOf(op));
      op_paths_.insert(paths_.back());
      if (!op.IsVariable()) continue;
      for (std::string_view scope = ParentOf(paths_.back()); !scope.empty(); scope = ParentOf(scope))
        hold_variables_.emplace(scope);
    }
  }

  std::string Of(const OpGraph& graph, OpIndex op) const {
    const auto at = static_cast<std::size_t>(op);
    if (const auto given = FindString(graph.ops[at].attributes, "module")) return Capped(ModulePath(*given));
    const std::string& path = paths_[at];
    if (hold_variables_.contains(path)) return path;
    std::string_view scope = ParentOf(path);
    while (!scope.empty() && op_paths_.contains(std::string(scope)) &&
           !hold_variables_.contains(std::string(scope))) {
      scope = ParentOf(scope);
    }
    return std::string(scope);
  }

 private:
  std::vector<std::string> paths_;
  std::unordered_set<std::string> op_paths_;
  std::unordered_set<std::string> hold_variables_;
};

// Of what there is of each colocation set, that of an op's.
template <typename Values>
auto& OfSet(Values& by_set, const OpGraph& graph, OpIndex op) {
  return by_set[static_cast<std::size_t>(graph.colocation_set()[static_cast<std::size_t>(op)])];
}

// By colocation set.
std::vector<std::string> ModulesOfSets(const OpGraph& graph) {
  const ModuleNames names(graph);
  std::vector<std::string> module_of_set(static_cast<std::size_t>(graph.colocation_sets()));
  for (OpIndex op = 0; op < graph.size(); ++op) {
    std::string& module = OfSet(module_of_set, graph, op);
    if (module.empty()) module = names.Of(graph, op);
  }
  return module_of_set;
}

class TreeBuilder {
 public:
  TreeBuilder() {
    tree_.modules.push_back({.path = ""});
    index_.emplace("", 0);
  }

  std::int32_t Reach(const std::string& path) {
    const auto found = index_.find(path);
    if (found != index_.end()) return found->second;
    const std::int32_t parent = Reach(std::string(ParentOf(path)));
    const auto made = static_cast<std::int32_t>(tree_.modules.size());
    tree_.modules.push_back({.path = path, .parent = parent});
    tree_.modules[static_cast<std::size_t>(parent)].children.push_back(made);
    index_.emplace(path, made);
    return made;
  }

  ModuleTree Finish(const OpGraph& graph, const std::vector<std::string>& module_of_set) {
    const auto module_of = [&](OpIndex op) { return Reach(OfSet(module_of_set, graph, op)); };
    for (const OpIndex op : graph.topological_order()) module_of(op);
    for (OpIndex op = 0; op < graph.size(); ++op) {
      tree_.module_of_op.push_back(module_of(op));
      auto& module = tree_.modules[static_cast<std::size_t>(tree_.module_of_op.back())];
      module.own.push_back(op);
      ++module.ops;
    }
    for (std::size_t m = tree_.modules.size(); m-- > 1;)
      tree_.modules[static_cast<std::size_t>(tree_.modules[m].parent)].ops += tree_.modules[m].ops;
    return std::move(tree_);
  }

 private:
  ModuleTree tree_;
  std::unordered_map<std::string, std::int32_t> index_;
};

}  // namespace

std::int32_t ModuleTree::Find(const std::string& path) const {
  const auto found =
      std::find_if(modules.begin(), modules.end(), [&](const Module& module) { return module.path == path; });
  return found == modules.end() ? -1 : static_cast<std::int32_t>(found - modules.begin());
}

std::string ModulePath(const std::string& name) {
  std::string path;
  bool gap = false;
  for (const char c : name) {
    if (c == '/' || c == '.') {
      gap = true;
      continue;
    }
    if (gap && !path.empty()) path += '.';
    gap = false;
    path += c;
  }
  return path;
}

ModuleTree MakeModuleTree(const OpGraph& graph) {
  return TreeBuilder().Finish(graph, ModulesOfSets(graph));
}

std::vector<std::int32_t> CoarsestModules(const ModuleTree& tree, std::int64_t most_ops) {
  std::vector<std::int32_t> found;
  std::vector<std::int32_t> open = {0};
  while (!open.empty()) {
    const std::int32_t at = open.back();
    open.pop_back();
    const ModuleTree::Module& module = tree.modules[static_cast<std::size_t>(at)];
    const bool small = module.ops <= most_ops && module.ops * 2 <= tree.modules.front().ops;
    if (small || module.children.empty()) {
      if (at > 0) found.push_back(at);
    } else {
      open.insert(open.end(), module.children.rbegin(), module.children.rend());
    }
  }
  return found;
}

void FollowData(const OpGraph& graph, std::vector<std::int32_t>& value_of_op) {
  std::vector<std::int32_t> value_of_set(static_cast<std::size_t>(graph.colocation_sets()), -1);
  const auto value = [&](OpIndex op) -> std::int32_t& { return OfSet(value_of_set, graph, op); };
  for (OpIndex op = 0; op < graph.size(); ++op) {
    if (value(op) < 0) value(op) = value_of_op[static_cast<std::size_t>(op)];
  }
  const std::vector<OpIndex>& order = graph.topological_order();
  for (const OpIndex op : order) {
    for (const TensorRef& input : graph.ops[static_cast<std::size_t>(op)].inputs) {
      if (value(op) >= 0) break;
      value(op) = value(input.op);
    }
  }
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    for (const OpIndex consumer : graph.consumers(*op)) {
      if (value(*op) >= 0) break;
      value(*op) = value(consumer);
    }
  }
  for (OpIndex op = 0; op < graph.size(); ++op) value_of_op[static_cast<std::size_t>(op)] = value(op);
}

}  // namespace stowplan::sim
