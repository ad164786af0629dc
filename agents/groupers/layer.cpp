// The parts of each numbered layer are groups of their own: experts, other feed-forward, attention with whatever is beside it
// (sim/analysis/layers.h). What runs before the first layer is one group, what runs behind it and is in none another. Weights
// decide: what reads a weight is where that is, so that parts with one reader are one group. What is in no part follows its data.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "agents/groupers/groupers.h"
#include "sim/analysis/layers.h"
#include "sim/analysis/modules.h"

namespace stowplan::agents {
namespace {

// Sets of groups that are one; the smallest number of them tells.
class JoinedGroups {
 public:
  std::int32_t Add() {
    root_.push_back(static_cast<std::int32_t>(root_.size()));
    return root_.back();
  }
  std::int32_t Of(std::int32_t group) const {
    while (root_[static_cast<std::size_t>(group)] != group) group = root_[static_cast<std::size_t>(group)];
    return group;
  }
  void Join(std::int32_t a, std::int32_t b) {
    if (a >= 0 && b >= 0) root_[static_cast<std::size_t>(std::max(Of(a), Of(b)))] = std::min(Of(a), Of(b));
  }

 private:
  std::vector<std::int32_t> root_;
};

// By op; -1 = it follows its data.
class LayerParts {
 public:
  explicit LayerParts(const sim::OpGraph& graph) : graph_(graph), tree_(sim::MakeModuleTree(graph)) {
    before_ = joined_.Add();
    behind_ = joined_.Add();
  }

  std::vector<std::int32_t> Groups() {
    std::vector<std::int32_t> group(graph_.ops.size(), -1);
    bool begun = false;
    for (const sim::OpIndex op : graph_.topological_order()) {
      std::int32_t& of_op = group[static_cast<std::size_t>(op)];
      of_op = PartOfLayer(op);
      const bool computes = !graph_.ops[static_cast<std::size_t>(op)].IsSource();
      begun = begun || (computes && of_op >= 0);
      if (of_op < 0 && computes) of_op = begun ? behind_ : before_;
    }
    JoinReaders(group);
    for (std::int32_t& one : group) one = one < 0 ? -1 : joined_.Of(one);
    return group;
  }

 private:
  std::int32_t PartOfLayer(sim::OpIndex op) {
    const std::int32_t home = tree_.module_of_op[static_cast<std::size_t>(op)];
    const std::string& path = tree_.modules[static_cast<std::size_t>(home)].path;
    const auto layer = sim::LayerOf(path);
    if (!layer) return -1;
    sim::LayerPart part = sim::PartOf(path);
    if (part == sim::LayerPart::kOther) part = sim::LayerPart::kAttention;
    const auto [known, fresh] = groups_.try_emplace({layer->stack, layer->number, part}, -1);
    if (fresh) known->second = joined_.Add();
    return known->second;
  }

  void JoinReaders(std::vector<std::int32_t>& group) {
    std::vector<std::int32_t> of_set(static_cast<std::size_t>(graph_.colocation_sets()), -1);
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      const std::int32_t own = group[static_cast<std::size_t>(op)];
      if (own < 0) continue;
      std::int32_t& set =
          of_set[static_cast<std::size_t>(graph_.colocation_set()[static_cast<std::size_t>(op)])];
      joined_.Join(set, own);
      set = own;
      if (!graph_.ops[static_cast<std::size_t>(op)].IsVariable()) continue;
      for (const sim::OpIndex reader : graph_.consumers(op))
        joined_.Join(own, group[static_cast<std::size_t>(reader)]);
    }
  }

  const sim::OpGraph& graph_;
  sim::ModuleTree tree_;
  JoinedGroups joined_;
  std::int32_t before_ = -1, behind_ = -1;
  std::map<std::tuple<std::string, int, sim::LayerPart>, std::int32_t> groups_;
};

}  // namespace

std::vector<std::int32_t> GroupByLayerPart(const Settings& /*read*/, const sim::Problem& problem) {
  std::vector<std::int32_t> group = LayerParts(problem.graph()).Groups();
  sim::FollowData(problem.graph(), group);
  for (std::int32_t& one : group) one = std::max(one, 0);
  return group;
}

}  // namespace stowplan::agents
