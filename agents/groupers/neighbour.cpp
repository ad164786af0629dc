// Neighbour merging (docs/protocol_rules.md#neighbour-merging): the group with the smallest cost + bytes / 7.6 GB/s
// is merged into the neighbour with the heaviest edge unless a cycle of groups would arise, until `groups`
// are left. A first pass merges only pairs where one is the other's single successor and that one its single
// predecessor: these can never close a cycle.
//
// What that rule leaves open is decided here. The cost is that of the first GPU (of the first device where
// there is none), the bytes are those of a group's own outputs, the weight of an edge is the sum over both
// directions, parallel edges added. Of neighbours with equal edges the lighter one is taken (or else a chain
// of equal tensors would fall to one group), further ties go to the lowest unit of colocation. A group
// without neighbours is merged with the smallest other one when nothing else is left to merge, so that the
// count is always met.
//
// Cycles. Colocation sets alone may already form cycles (a variable with its update). Edges between different
// strongly connected components, and inside a component those that agree with the topological order of the
// sets' first ops, form an acyclic graph: the constraint graph. It stays acyclic; where the colocation sets
// form no cycle it is the whole graph, so that the groups form none. A topological order is kept while groups
// merge: merging a before b closes a cycle exactly if another path leads from a to b, which a search from
// both ends decides looking only at what the order puts between them; what it saw on one side is what has to
// move (Pearce and Kelly, A dynamic topological sort algorithm for directed acyclic graphs, JEA 2007).
#include <algorithm>
#include <cstdint>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agents/groupers/components.h"
#include "agents/groupers/groupers.h"
#include "agents/groupers/order_list.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

using Node = std::int32_t;

class Merger {
 public:
  Merger(const sim::Problem& problem, const std::vector<std::int32_t>& set_of_op, std::int32_t sets);

  // Merges until `groups` are left; returns the group of each set, in any numbering.
  std::vector<Node> Run(Node groups);

 private:
  struct Edge {
    sim::Bytes bytes = 0;   // both directions
    bool forward = false;   // a constraint edge from the owner of this entry
    bool backward = false;  // a constraint edge to it
  };
  struct Group {
    sim::Picos weight = 0;
    Node key = 0;               // lowest unit
    OrderList::Item place = 0;  // in order_
    std::int32_t successors = 0;
    std::int32_t predecessors = 0;
    std::unordered_map<Node, Edge> edges;
  };
  using Entry = std::tuple<sim::Picos, Node, Node>;  // weight, key, group
  using Rank = std::pair<sim::Bytes, Entry>;         // of a neighbour: the edge, negative, then what it is
  // What a search saw from one end, in no order.
  struct Side {
    std::priority_queue<std::pair<std::int64_t, Node>> frontier;  // the closest to the other end first
    std::vector<Node> seen;
  };

  Group& at(Node node) { return groups_[static_cast<std::size_t>(node)]; }
  std::int64_t label(Node node) { return order_.label(at(node).place); }
  Entry EntryOf(Node node) { return {at(node).weight, at(node).key, node}; }

  Rank RankOf(Node other, const Edge& edge) { return {-edge.bytes, EntryOf(other)}; }

  void Connect(Node a, Node b, const Edge& edge);
  void Disconnect(Node a, Node b);
  void Chain(Node groups);
  void Heaviest(Node groups);
  Node ChainPartner(Node node);
  void MergeHeaviest(Node node);
  bool TryMerge(Node a, Node b);
  bool Expand(Side& side, bool forward, std::int64_t low, std::int64_t high, Node skip, Node target,
              Node from);
  std::vector<OrderList::Item> Places(const std::vector<Node>& nodes);
  void Unite(Node a, Node b, OrderList::Item place);

  std::vector<Group> groups_;
  OrderList order_;
  std::set<Entry> waiting_;
  std::vector<Node> parent_;        // of merged groups; a group's own number while it lives
  std::vector<std::int64_t> mark_;  // by node: the search and side that saw it
  std::int64_t searches_ = 0;
  Node alive_ = 0;
};

Merger::Merger(const sim::Problem& problem, const std::vector<std::int32_t>& set_of_op, std::int32_t sets)
    : groups_(static_cast<std::size_t>(sets)),
      order_(sets),
      parent_(groups_.size()),
      mark_(groups_.size(), 0),
      alive_(sets) {
  const sim::OpGraph& graph = problem.graph();
  const auto& devices = problem.cluster().devices;
  const auto gpu = std::find_if(devices.begin(), devices.end(), [](const sim::Device& d) {
    return d.device_class == sim::DeviceClass::kGpu;
  });
  const auto priced = static_cast<sim::DeviceIndex>(gpu == devices.end() ? 0 : gpu - devices.begin());
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    Group& group = at(set_of_op[static_cast<std::size_t>(op)]);
    sim::Bytes bytes = 0;
    for (const sim::Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) {
      if (output.storage == sim::Output::Storage::kOwn) bytes += output.bytes;
    }
    group.weight += problem.costs().at(op, priced) + bytes / 19 * 2500;  // 7.6 GB/s = 19 B in 2500 ps
  }

  // Keys: sets in the order of their first op in topological order.
  Node next_key = 0;
  std::vector<Node> by_key;
  std::vector<bool> keyed(groups_.size(), false);
  for (const sim::OpIndex op : graph.topological_order()) {
    const Node set = set_of_op[static_cast<std::size_t>(op)];
    if (keyed[static_cast<std::size_t>(set)]) continue;
    keyed[static_cast<std::size_t>(set)] = true;
    at(set).key = next_key++;
    by_key.push_back(set);
  }

  const std::vector<UnitEdge> edges = CollectEdges(graph, set_of_op);
  std::vector<std::vector<Node>> successors(groups_.size());
  for (const UnitEdge& edge : edges) successors[static_cast<std::size_t>(edge.from)].push_back(edge.to);
  const std::vector<std::int32_t> component = StronglyConnected(successors);
  const auto component_of = [&](Node node) { return component[static_cast<std::size_t>(node)]; };
  std::stable_sort(by_key.begin(), by_key.end(),
                   [&](Node a, Node b) { return component_of(a) > component_of(b); });
  for (std::size_t i = 0; i < by_key.size(); ++i) at(by_key[i]).place = static_cast<OrderList::Item>(i);
  for (const UnitEdge& edge : edges) {
    Connect(edge.from, edge.to, {edge.bytes, label(edge.from) < label(edge.to), false});
  }
  for (std::size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<Node>(i);
}

std::vector<Node> Merger::Run(Node groups) {
  Chain(groups);
  Heaviest(groups);
  std::vector<Node> group_of_set(parent_.size());
  for (std::size_t i = 0; i < parent_.size(); ++i) {
    Node node = static_cast<Node>(i);
    while (parent_[static_cast<std::size_t>(node)] != node) {
      Node& up = parent_[static_cast<std::size_t>(node)];
      node = up = parent_[static_cast<std::size_t>(up)];
    }
    group_of_set[i] = node;
  }
  return group_of_set;
}

// Adds an edge to what there is between a and b.
void Merger::Connect(Node a, Node b, const Edge& edge) {
  Edge& there = at(a).edges[b];
  Edge& back = at(b).edges[a];
  there.bytes = back.bytes = there.bytes + edge.bytes;
  if (edge.forward && !there.forward) {
    there.forward = back.backward = true;
    ++at(a).successors;
    ++at(b).predecessors;
  }
  if (edge.backward && !there.backward) {
    there.backward = back.forward = true;
    ++at(b).successors;
    ++at(a).predecessors;
  }
}

void Merger::Disconnect(Node a, Node b) {
  const Edge edge = at(a).edges.at(b);
  at(a).edges.erase(b);
  at(b).edges.erase(a);
  at(a).successors -= edge.forward;
  at(b).predecessors -= edge.forward;
  at(b).successors -= edge.backward;
  at(a).predecessors -= edge.backward;
}

void Merger::Chain(Node groups) {
  for (std::size_t i = 0; i < groups_.size(); ++i) waiting_.insert(EntryOf(static_cast<Node>(i)));
  while (alive_ > groups && !waiting_.empty()) {
    const Node node = std::get<2>(*waiting_.begin());
    waiting_.erase(waiting_.begin());
    const Node partner = ChainPartner(node);
    if (partner >= 0) STOWPLAN_CHECK(TryMerge(node, partner));
  }
}

// The neighbour with which `node` forms a link of a chain, the one with the heavier edge of two; -1 if there
// is none.
Node Merger::ChainPartner(Node node) {
  Node best = -1;
  Rank best_rank;
  for (const auto& [other, edge] : at(node).edges) {
    const bool chained = (edge.forward && at(node).successors == 1 && at(other).predecessors == 1) ||
                         (edge.backward && at(node).predecessors == 1 && at(other).successors == 1);
    const Rank rank = RankOf(other, edge);
    if (chained && (best < 0 || rank < best_rank)) {
      best = other;
      best_rank = rank;
    }
  }
  return best;
}

void Merger::Heaviest(Node groups) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (parent_[i] == static_cast<Node>(i)) waiting_.insert(EntryOf(static_cast<Node>(i)));
  }
  std::set<Entry> lonely;
  while (alive_ > groups) {
    std::set<Entry>& source = waiting_.empty() ? lonely : waiting_;
    const Entry smallest = *source.begin();
    source.erase(source.begin());
    const Node node = std::get<2>(smallest);
    if (&source == &lonely) {
      const Node other = std::get<2>(*lonely.begin());
      lonely.erase(lonely.begin());
      STOWPLAN_CHECK(TryMerge(node, other));
    } else if (at(node).edges.empty()) {
      lonely.insert(smallest);
    } else {
      MergeHeaviest(node);
    }
  }
}

// One neighbour always closes no cycle: of those behind `node` in the order the first (a path to it would
// have to pass an earlier one), or of those before it the last.
void Merger::MergeHeaviest(Node node) {
  std::vector<Rank> candidates;
  for (const auto& [other, edge] : at(node).edges) candidates.push_back(RankOf(other, edge));
  std::sort(candidates.begin(), candidates.end());
  STOWPLAN_CHECK(std::any_of(candidates.begin(), candidates.end(), [&](const Rank& candidate) {
    return TryMerge(node, std::get<2>(candidate.second));
  }));
}

// Merges two groups unless that closes a cycle. The two searches take turns, so that the cheaper one decides.
bool Merger::TryMerge(Node a, Node b) {
  if (label(a) > label(b)) std::swap(a, b);
  ++searches_;
  const std::int64_t low = label(a);
  const std::int64_t high = label(b);
  Side from_a;
  Side from_b;
  bool met = Expand(from_a, true, low, high, b, b, a) || Expand(from_b, false, low, high, a, a, b);
  while (!met && !from_a.frontier.empty() && !from_b.frontier.empty()) {
    const Node next_a = from_a.frontier.top().second;
    from_a.frontier.pop();
    met = Expand(from_a, true, low, high, -1, b, next_a);
    if (met || from_a.frontier.empty()) break;
    const Node next_b = from_b.frontier.top().second;
    from_b.frontier.pop();
    met = Expand(from_b, false, low, high, -1, a, next_b);
  }
  if (met) return false;
  if (from_a.frontier.empty()) {
    order_.MoveBehind(Places(from_a.seen), at(b).place);
    Unite(a, b, at(b).place);
  } else {
    order_.MoveInFrontOf(Places(from_b.seen), at(a).place);
    Unite(a, b, at(a).place);
  }
  return true;
}

// Looks at the neighbours of `from` that lie between the two ends; true if that is a path from end to end.
bool Merger::Expand(Side& side, bool forward, std::int64_t low, std::int64_t high, Node skip, Node target,
                    Node from) {
  const std::int64_t mine = searches_ * 2 + (forward ? 1 : 0);
  const std::int64_t others = searches_ * 2 + (forward ? 0 : 1);
  for (const auto& [next, edge] : at(from).edges) {
    if (!(forward ? edge.forward : edge.backward) || next == skip) continue;
    if (next == target) return true;
    const std::int64_t next_label = label(next);
    std::int64_t& mark = mark_[static_cast<std::size_t>(next)];
    if (next_label <= low || next_label >= high || mark == mine) continue;
    if (mark == others) return true;
    mark = mine;
    side.seen.push_back(next);
    side.frontier.emplace(forward ? next_label : -next_label, next);
  }
  return false;
}

std::vector<OrderList::Item> Merger::Places(const std::vector<Node>& nodes) {
  std::vector<OrderList::Item> places;
  for (const Node node : nodes) places.push_back(at(node).place);
  std::sort(places.begin(), places.end(),
            [this](OrderList::Item a, OrderList::Item b) { return order_.label(a) < order_.label(b); });
  return places;
}

// The group with more edges takes in the other, whatever direction they had.
void Merger::Unite(Node a, Node b, OrderList::Item place) {
  waiting_.erase(EntryOf(a));
  waiting_.erase(EntryOf(b));
  order_.Remove(place == at(a).place ? at(b).place : at(a).place);
  const bool keep_a = at(a).edges.size() >= at(b).edges.size();
  const Node kept = keep_a ? a : b;
  const Node gone = keep_a ? b : a;
  if (at(kept).edges.contains(gone)) Disconnect(kept, gone);
  std::vector<std::pair<Node, Edge>> inherited(at(gone).edges.begin(), at(gone).edges.end());
  for (const auto& [other, edge] : inherited) {
    Disconnect(gone, other);
    Connect(kept, other, edge);
  }
  at(kept).place = place;
  at(kept).weight += at(gone).weight;
  at(kept).key = std::min(at(kept).key, at(gone).key);
  parent_[static_cast<std::size_t>(gone)] = kept;
  --alive_;
  waiting_.insert(EntryOf(kept));
}

}  // namespace

std::vector<std::int32_t> GroupByNeighbour(const Settings& read, const sim::Problem& problem) {
  const auto groups = static_cast<Node>(read.Int("groups"));
  const std::vector<std::int32_t>& set_of_op = problem.graph().colocation_set();
  const std::vector<Node> group_of_set =
      Merger(problem, set_of_op, problem.graph().colocation_sets()).Run(groups);
  std::vector<std::int32_t> group_of_op;
  for (const std::int32_t set : set_of_op) group_of_op.push_back(group_of_set[static_cast<std::size_t>(set)]);
  return group_of_op;
}

}  // namespace stowplan::agents
