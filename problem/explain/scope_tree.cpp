#include "problem/explain/scope_tree.h"

#include <algorithm>
#include <map>
#include <queue>
#include <string_view>
#include <utility>

namespace stowplan::problem {
namespace {

constexpr std::size_t kGroup = 40;  // children of a made-up group

std::vector<std::string_view> PartsOf(std::string_view name, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find(separator, at), name.size());
    if (end > at) parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  if (parts.empty()) parts.push_back(name);
  return parts;
}

class TreeMaker {
 public:
  explicit TreeMaker(const sim::OpGraph& graph) : graph_(graph) {
    for (const sim::Op& op : graph.ops) {
      if (op.name.find('/') != std::string::npos) separator_ = '/';
    }
    nodes_.emplace_back();
    for (const sim::OpIndex op : graph.topological_order()) AddOp(op);
    for (std::size_t i = 0; i < nodes_.size(); ++i) JoinOnlyChildren(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < nodes_.size(); ++i) GroupChildren(static_cast<std::int32_t>(i));
  }

  // Largest scopes first: those that are not opened before there are too many nodes stay leaves.
  ScopeTree Cut(std::size_t most_nodes) const {
    ScopeTree tree;
    tree.node_of_op.assign(graph_.ops.size(), 0);
    tree.separator = separator_;
    tree.nodes.push_back({.ops = nodes_[0].ops});
    const auto smaller = [&](const auto& a, const auto& b) {
      return std::pair(At(a.first).ops, -a.first) < std::pair(At(b.first).ops, -b.first);
    };
    std::priority_queue<std::pair<std::int32_t, std::int32_t>,
                        std::vector<std::pair<std::int32_t, std::int32_t>>,
                        decltype(smaller)>
        closed(smaller);  // node here, node of the tree
    closed.push({0, 0});
    while (!closed.empty()) {
      const auto [from, to] = closed.top();
      closed.pop();
      const std::vector<std::int32_t>& children = At(from).children;
      if (to != 0 && tree.nodes.size() + children.size() > most_nodes) {
        PutOpsInto(from, to, tree);
        continue;
      }
      for (const std::int32_t child : children) {
        const auto added = static_cast<std::int32_t>(tree.nodes.size());
        tree.nodes.push_back({.label = At(child).label,
                              .parent = to,
                              .ops = At(child).ops,
                              .op = At(child).op,
                              .made_up = At(child).made_up});
        tree.nodes[static_cast<std::size_t>(to)].children.push_back(added);
        if (At(child).op >= 0) {
          tree.node_of_op[static_cast<std::size_t>(At(child).op)] = added;
        } else {
          closed.push({child, added});
        }
      }
    }
    return tree;
  }

 private:
  const ScopeNode& At(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }
  ScopeNode& At(std::int32_t node) { return nodes_[static_cast<std::size_t>(node)]; }

  std::int32_t AddNode(ScopeNode node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::int32_t>(nodes_.size() - 1);
  }

  void AddOp(sim::OpIndex op) {
    const auto parts = PartsOf(graph_.ops[static_cast<std::size_t>(op)].name, separator_);
    std::int32_t scope = 0;
    ++At(0).ops;
    for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
      scope = ScopeIn(scope, std::string(parts[p]));
      ++At(scope).ops;
    }
    // Children in the order of ops, as the ops come in theirs.
    const std::int32_t leaf =
        AddNode({.label = std::string(parts.back()), .parent = scope, .ops = 1, .op = op});
    At(scope).children.push_back(leaf);
  }

  std::int32_t ScopeIn(std::int32_t parent, const std::string& label) {
    const auto [at, is_new] = scopes_.try_emplace({parent, label}, 0);
    if (is_new) {
      at->second = AddNode({.label = label, .parent = parent});
      At(parent).children.push_back(at->second);
    }
    return at->second;
  }

  // "layer0/step3" in place of a box in a box. An op alone in its scope takes the scope's place.
  void JoinOnlyChildren(std::int32_t node) {
    while (node != 0 && At(node).children.size() == 1) {
      const std::int32_t child = At(node).children.front();
      At(node).label += separator_ + At(child).label;
      At(node).op = At(child).op;
      At(node).children = std::move(At(child).children);
      At(child).children.clear();
      for (const std::int32_t grandchild : At(node).children) At(grandchild).parent = node;
    }
  }

  // Groups of groups where there are too many of them; each is visited in its turn.
  void GroupChildren(std::int32_t node) {
    while (At(node).children.size() > kMostChildren) {
      const std::vector<std::int32_t> children = std::move(At(node).children);
      At(node).children.clear();
      for (std::size_t first = 0; first < children.size(); first += kGroup) {
        const std::size_t end = std::min(first + kGroup, children.size());
        ScopeNode group{.label = FirstPart(children[first]) + " to " + LastPart(children[end - 1]),
                        .parent = node,
                        .made_up = true,
                        .children = {children.begin() + static_cast<std::ptrdiff_t>(first),
                                     children.begin() + static_cast<std::ptrdiff_t>(end)}};
        for (const std::int32_t child : group.children) group.ops += At(child).ops;
        const std::int32_t added = AddNode(std::move(group));
        for (const std::int32_t child : At(added).children) At(child).parent = added;
        At(node).children.push_back(added);
      }
    }
  }
  std::string FirstPart(std::int32_t node) const {
    return At(node).label.substr(0, At(node).label.find(" to "));
  }
  std::string LastPart(std::int32_t node) const {
    const std::size_t at = At(node).label.rfind(" to ");
    return at == std::string::npos ? At(node).label : At(node).label.substr(at + 4);
  }

  void PutOpsInto(std::int32_t from, std::int32_t to, ScopeTree& tree) const {
    std::vector<std::int32_t> open = {from};
    while (!open.empty()) {
      const ScopeNode& node = At(open.back());
      open.pop_back();
      if (node.op >= 0) tree.node_of_op[static_cast<std::size_t>(node.op)] = to;
      open.insert(open.end(), node.children.begin(), node.children.end());
    }
  }

  const sim::OpGraph& graph_;
  char separator_ = '.';
  std::vector<ScopeNode> nodes_;
  std::map<std::pair<std::int32_t, std::string>, std::int32_t> scopes_;
};

}  // namespace

ScopeTree MakeScopeTree(const sim::OpGraph& graph, std::size_t most_nodes) {
  return TreeMaker(graph).Cut(most_nodes);
}

std::vector<std::int32_t> DepthOfOps(const sim::OpGraph& graph) {
  std::vector<std::int32_t> depth(graph.ops.size(), 0);
  for (const sim::OpIndex op : graph.topological_order()) {
    const auto at = static_cast<std::size_t>(op);
    for (const sim::OpIndex consumer : graph.consumers(op))
      depth[static_cast<std::size_t>(consumer)] =
          std::max(depth[static_cast<std::size_t>(consumer)], depth[at] + 1);
  }
  return depth;
}

}  // namespace stowplan::problem
