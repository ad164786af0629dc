#include "agents/groupers/chain.h"

#include <algorithm>
#include <map>
#include <optional>

#include "agents/groupers/groupers.h"
#include "sim/analysis/layers.h"
#include "sim/analysis/modules.h"

namespace stowplan::agents {
namespace {

using sim::OpIndex;

std::size_t At(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

// First and last of the positions that something has in the forward pass; empty where it has none.
struct Span {
  std::int32_t first = INT32_MAX;
  std::int32_t last = -1;
  void Add(std::int32_t position) {
    first = std::min(first, position);
    last = std::max(last, position);
  }
};

class Chain {
 public:
  Chain(const sim::OpGraph& graph, ChainCuts cuts)
      : graph_(graph), tree_(sim::MakeModuleTree(graph)), position_(graph.ops.size(), -1) {
    for (const OpIndex op : graph.topological_order()) {
      if (!sim::ComputesForward(Op(op))) continue;
      position_[At(op)] = static_cast<std::int32_t>(forward_.size());
      forward_.push_back(op);
    }
    begins_.assign(forward_.size(), cuts == ChainCuts::kOps);
    if (cuts == ChainCuts::kModules) CutAtModules();
    if (cuts == ChainCuts::kLayers || cuts == ChainCuts::kBlocks) CutAtLayers(cuts == ChainCuts::kBlocks);
  }

  std::vector<std::int32_t> Pieces() {
    FindAnchors();
    JoinSets();
    std::vector<std::int32_t> piece_of_position;
    std::int32_t piece = -1;
    for (std::size_t p = 0; p < forward_.size(); ++p) {
      piece += p == 0 || begins_[p];
      piece_of_position.push_back(piece);
    }
    std::vector<std::int32_t> pieces;
    for (const std::int32_t anchor : anchor_)
      pieces.push_back(anchor < 0 ? -1 : piece_of_position[At(anchor)]);
    AddSources(pieces);
    sim::FollowData(graph_, pieces);
    for (std::int32_t& one : pieces) one = std::max(one, 0);
    return pieces;
  }

 private:
  const sim::Op& Op(OpIndex op) const { return graph_.ops[At(op)]; }
  std::int32_t Home(OpIndex op) const { return tree_.module_of_op[At(op)]; }
  const sim::ModuleTree::Module& Module(std::int32_t m) const { return tree_.modules[At(m)]; }

  // A module that is called twice, with others between, cannot be told by its name.
  void CutAtModules() {
    std::vector<Span> spans(tree_.modules.size());
    std::vector<std::int32_t> work(tree_.modules.size(), 0);
    for (std::size_t p = 0; p < forward_.size(); ++p) {
      for (std::int32_t m = Home(forward_[p]); m > 0; m = Module(m).parent) {
        spans[At(m)].Add(static_cast<std::int32_t>(p));
        ++work[At(m)];
      }
    }
    for (std::size_t m = 1; m < spans.size(); ++m) {
      if (work[m] > 0 && spans[m].last - spans[m].first + 1 == work[m]) begins_[At(spans[m].first)] = true;
    }
    // Stages begin with the innermost module of their first op, or one that begins there, too.
    for (std::size_t p = 0; p < forward_.size(); ++p) {
      const std::int32_t inside = Home(forward_[p]);
      begins_[p] = begins_[p] && inside > 0 && spans[At(inside)].first == static_cast<std::int32_t>(p);
    }
  }

  void CutAtLayers(bool joined) {
    std::map<std::pair<std::string, int>, Span> layers;
    for (std::size_t p = 0; p < forward_.size(); ++p) {
      if (const auto layer = sim::LayerOf(Module(Home(forward_[p])).path))
        layers[{layer->stack, layer->number}].Add(static_cast<std::int32_t>(p));
    }
    std::int32_t first = INT32_MAX, last = -1;
    for (const auto& [name, span] : layers) {
      begins_[At(span.first)] = true;
      first = std::min(first, span.first);
      last = std::max(last, span.last);
    }
    for (const auto& [name, span] : layers) Join(span);
    if (last < 0) return;
    if (joined) begins_[At(first)] = false;
    if (!joined && At(last) + 1 < begins_.size()) begins_[At(last) + 1] = true;
  }

  void Join(const Span& span) {
    for (std::int32_t p = span.first + 1; p <= span.last; ++p) begins_[At(p)] = false;
  }

  // Positions of the ops that say where others of their set are.
  void FindAnchors() {
    anchor_ = position_;
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      if (Op(op).phase == "backward" && !sim::FindNumber(Op(op).attributes, "micro_batch").value_or(0))
        anchor_[At(op)] = ForwardOf(op);
    }
  }

  // "gradients/X/input" is of X, unless its module is another: of one view that two modules take, each has a gradient.
  std::int32_t ForwardOf(OpIndex op) const {
    std::string name = Op(op).name;
    if (name.starts_with("gradients/")) name.erase(0, 10);
    for (auto end = name.size(); end != std::string::npos && end > 0; end = name.rfind('/', end - 1)) {
      const OpIndex forward = graph_.Find(name.substr(0, end));
      if (forward < 0 || position_[At(forward)] < 0) continue;
      if (Home(op) == 0 || Home(op) == Home(forward)) return position_[At(forward)];
    }
    for (std::int32_t m = Home(op); m > 0; m = Module(m).parent) {
      Span span, weights;
      for (const OpIndex other : Module(m).own) {
        if (position_[At(other)] >= 0) span.Add(position_[At(other)]);
        if (Op(other).IsSource()) AddReaders(other, weights);
      }
      if (span.last >= 0) return span.last;
      if (weights.last >= 0) return weights.first;
    }
    return -1;
  }

  void AddReaders(OpIndex source, Span& span) const {
    for (const OpIndex reader : graph_.consumers(source)) {
      if (position_[At(reader)] >= 0) span.Add(position_[At(reader)]);
    }
  }

  void JoinSets() {
    std::vector<Span> spans(At(graph_.colocation_sets()));
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      if (anchor_[At(op)] >= 0) spans[At(graph_.colocation_set()[At(op)])].Add(anchor_[At(op)]);
    }
    for (const Span& span : spans) {
      if (span.last >= 0) Join(span);
    }
  }

  // Weights and what else is read, where the first reader is, unless its colocation set says where.
  void AddSources(std::vector<std::int32_t>& pieces) const {
    std::vector<std::int32_t> of_set(At(graph_.colocation_sets()), -1);
    const auto& sets = graph_.colocation_set();
    for (OpIndex op = 0; op < graph_.size(); ++op)
      of_set[At(sets[At(op)])] = std::max(of_set[At(sets[At(op)])], pieces[At(op)]);
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      if (!Op(op).IsSource() || of_set[At(sets[At(op)])] >= 0) continue;
      std::int32_t first = INT32_MAX;
      for (const OpIndex reader : graph_.consumers(op)) {
        if (position_[At(reader)] >= 0) first = std::min(first, pieces[At(reader)]);
      }
      if (first < INT32_MAX) pieces[At(op)] = first;
    }
  }

  const sim::OpGraph& graph_;
  sim::ModuleTree tree_;
  std::vector<OpIndex> forward_;        // in program order
  std::vector<std::int32_t> position_;  // by op, in forward_; -1 = not of it
  std::vector<std::int32_t> anchor_;    // by op, a position; -1 = it follows others
  std::vector<char> begins_;            // by position: whether a piece does
};

}  // namespace

std::vector<std::int32_t> ChainPieces(const sim::OpGraph& graph, ChainCuts cuts) {
  return Chain(graph, cuts).Pieces();
}

std::vector<std::vector<UnitIndex>> ChainOfUnits(const Task& task) {
  const std::vector<std::int32_t> place = ChainPieces(task.problem->graph(), ChainCuts::kOps);
  std::map<std::int32_t, std::vector<UnitIndex>> by_place;
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    std::int32_t first = INT32_MAX;
    for (const OpIndex op : task.units.ops[At(unit)]) first = std::min(first, place[At(op)]);
    by_place[first].push_back(unit);
  }
  std::vector<std::vector<UnitIndex>> chain;
  for (auto& [first, units] : by_place) chain.push_back(std::move(units));
  return chain;
}

std::vector<std::int32_t> GroupByChain(const Settings& read, const sim::Problem& problem) {
  const std::string at = read.Text("at");
  const ChainCuts cuts = at == "op"       ? ChainCuts::kOps
                         : at == "module" ? ChainCuts::kModules
                         : at == "layer"  ? ChainCuts::kLayers
                                          : ChainCuts::kBlocks;
  return ChainPieces(problem.graph(), cuts);
}

}  // namespace stowplan::agents
