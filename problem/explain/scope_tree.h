// The ops of a graph by the scopes of their names ("encoder/layer0/step3/matmul"), as a tree small enough to draw level
// by level.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::problem {

struct ScopeNode {
  std::string
      label;  // "encoder"; "layer0/step3" where a scope holds nothing but one other; "a to b" for made-up groups
  std::int32_t parent = -1;
  std::int32_t ops = 0;                  // in it
  sim::OpIndex op = -1;                  // that it is; -1 = a scope, or several ops that are not told apart
  bool made_up = false;                  // a group of neighbours, no part of any name
  std::vector<std::int32_t> children{};  // in the order of the first of their ops that can run
};

struct ScopeTree {
  std::vector<ScopeNode> nodes;  // 0 is the root, without a label; parents stand before their children
  std::vector<std::int32_t> node_of_op;  // the leaf that an op is, or is in
  char separator = '/';
};

// Parts of names stand between '/', or between '.' where no name has a '/'. Where a scope would have more than
// kMostChildren children, those that follow one another are put into made-up groups. Where there would be more than
// `most_nodes` nodes, scopes with few ops stay leaves.
inline constexpr std::size_t kMostChildren = 60;
ScopeTree MakeScopeTree(const sim::OpGraph& graph, std::size_t most_nodes);

// By op: edges on the longest chain that leads to it.
std::vector<std::int32_t> DepthOfOps(const sim::OpGraph& graph);

}  // namespace stowplan::problem
