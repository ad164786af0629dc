#include "agents/rl/unit_graph.h"

#include <algorithm>
#include <numeric>

namespace berth::agents::rl {
namespace {

using Adjacency = std::vector<std::vector<UnitIndex>>;

std::size_t Index(UnitIndex unit) {
  return static_cast<std::size_t>(unit);
}

// Strongly connected components by Tarjan's algorithm without recursion. Components are numbered in the order
// in which they are completed, so every edge between two components goes from the higher number to the lower.
class Components {
 public:
  explicit Components(const Adjacency& successors)
      : successors_(successors),
        of(successors.size(), -1),
        index_(successors.size(), -1),
        low_(successors.size()) {
    for (UnitIndex unit = 0; unit < static_cast<UnitIndex>(successors.size()); ++unit) {
      if (index_[Index(unit)] < 0) Visit(unit);
    }
  }

 private:
  struct Frame {
    UnitIndex unit;
    std::size_t next = 0;
  };

  void Enter(UnitIndex unit) {
    index_[Index(unit)] = low_[Index(unit)] = visited_++;
    open_.push_back(unit);
    frames_.push_back({unit});
  }

  void Visit(UnitIndex root) {
    Enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const UnitIndex unit = frame.unit;
      if (frame.next < successors_[Index(unit)].size()) {
        const UnitIndex to = successors_[Index(unit)][frame.next++];
        if (index_[Index(to)] < 0) {
          Enter(to);
        } else if (of[Index(to)] < 0) {
          low_[Index(unit)] = std::min(low_[Index(unit)], index_[Index(to)]);
        }
      } else {
        Leave(unit);
      }
    }
  }

  void Leave(UnitIndex unit) {
    frames_.pop_back();
    if (!frames_.empty()) {
      const UnitIndex parent = frames_.back().unit;
      low_[Index(parent)] = std::min(low_[Index(parent)], low_[Index(unit)]);
    }
    if (low_[Index(unit)] != index_[Index(unit)]) return;
    UnitIndex member;
    do {
      member = open_.back();
      open_.pop_back();
      of[Index(member)] = count;
    } while (member != unit);
    ++count;
  }

  const Adjacency& successors_;

 public:
  std::vector<std::int32_t> of;  // component by unit
  std::int32_t count = 0;

 private:
  std::vector<std::int32_t> index_, low_;
  std::vector<UnitIndex> open_;
  std::vector<Frame> frames_;
  std::int32_t visited_ = 0;
};

std::vector<std::vector<UnitIndex>> MembersOf(const Components& components) {
  std::vector<std::vector<UnitIndex>> members(Index(components.count));
  for (std::size_t unit = 0; unit < components.of.size(); ++unit) {
    members[Index(components.of[unit])].push_back(static_cast<UnitIndex>(unit));
  }
  return members;
}

// Components are complete from the sinks on, so the reach sets of successors are ready when they are asked
// for.
std::vector<std::uint64_t> ReachSets(const Adjacency& successors, const Components& components,
                                     std::size_t words) {
  std::vector<std::uint64_t> reach(successors.size() * words, 0);
  for (const std::vector<UnitIndex>& part : MembersOf(components)) {
    std::vector<std::uint64_t> row(words, 0);
    const auto add = [&row](UnitIndex unit) { row[Index(unit) / 64] |= std::uint64_t{1} << (unit % 64); };
    if (part.size() > 1) std::for_each(part.begin(), part.end(), add);
    for (const UnitIndex unit : part) {
      for (const UnitIndex to : successors[Index(unit)]) {
        if (components.of[Index(to)] == components.of[Index(unit)]) continue;
        add(to);
        for (std::size_t w = 0; w < words; ++w) row[w] |= reach[Index(to) * words + w];
      }
    }
    for (const UnitIndex unit : part) {
      std::copy(row.begin(), row.end(), reach.begin() + static_cast<std::ptrdiff_t>(Index(unit) * words));
    }
  }
  return reach;
}

// Depths come from the sources on: against the numbering of the components.
std::vector<std::int32_t> Depths(const Adjacency& successors, const Components& components) {
  const std::vector<std::vector<UnitIndex>> members = MembersOf(components);
  std::vector<std::int32_t> of_part(members.size(), 0);
  for (std::size_t part = members.size(); part-- > 0;) {
    for (const UnitIndex unit : members[part]) {
      for (const UnitIndex to : successors[Index(unit)]) {
        const std::size_t other = Index(components.of[Index(to)]);
        if (other != part) of_part[other] = std::max(of_part[other], of_part[part] + 1);
      }
    }
  }
  std::vector<std::int32_t> depth;
  for (const std::int32_t part : components.of) depth.push_back(of_part[Index(part)]);
  return depth;
}

}  // namespace

UnitGraph::UnitGraph(UnitIndex units, const std::vector<UnitEdge>& edges, bool reach)
    : size_(units), words_((Index(units) + 63) / 64), order_(Index(units)) {
  for (const UnitEdge& edge : edges) {
    if (edge.from != edge.to) edges_.emplace_back(edge.from, edge.to);
  }
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  Adjacency successors(Index(units));
  for (const auto& [from, to] : edges_) successors[Index(from)].push_back(to);

  const Components components(successors);
  if (reach) reach_ = ReachSets(successors, components, words_);
  depth_ = Depths(successors, components);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [this](UnitIndex a, UnitIndex b) { return depth_[Index(a)] < depth_[Index(b)]; });
}

}  // namespace berth::agents::rl
