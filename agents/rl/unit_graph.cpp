#include "agents/rl/unit_graph.h"

#include <algorithm>
#include <numeric>

namespace berth::agents::rl {
namespace {

using Adjacency = std::vector<std::vector<UnitIndex>>;

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
      if (index_[At(unit)] < 0) Visit(unit);
    }
  }

 private:
  struct Frame {
    UnitIndex unit;
    std::size_t next = 0;
  };
  static std::size_t At(UnitIndex unit) { return static_cast<std::size_t>(unit); }

  void Enter(UnitIndex unit) {
    index_[At(unit)] = low_[At(unit)] = visited_++;
    open_.push_back(unit);
    frames_.push_back({unit});
  }

  void Visit(UnitIndex root) {
    Enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const UnitIndex unit = frame.unit;
      if (frame.next < successors_[At(unit)].size()) {
        const UnitIndex to = successors_[At(unit)][frame.next++];
        if (index_[At(to)] < 0) {
          Enter(to);
        } else if (of[At(to)] < 0) {
          low_[At(unit)] = std::min(low_[At(unit)], index_[At(to)]);
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
      low_[At(parent)] = std::min(low_[At(parent)], low_[At(unit)]);
    }
    if (low_[At(unit)] != index_[At(unit)]) return;
    UnitIndex member;
    do {
      member = open_.back();
      open_.pop_back();
      of[At(member)] = count;
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

}  // namespace

UnitGraph::UnitGraph(UnitIndex units, const std::vector<UnitEdge>& edges)
    : size_(units), words_((static_cast<std::size_t>(units) + 63) / 64) {
  const auto count = static_cast<std::size_t>(units);
  Adjacency successors(count);
  for (const UnitEdge& edge : edges) {
    if (edge.from == edge.to) continue;
    edges_.emplace_back(edge.from, edge.to);
  }
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  for (const auto& [from, to] : edges_) successors[static_cast<std::size_t>(from)].push_back(to);

  const Components components(successors);
  const auto parts = static_cast<std::size_t>(components.count);
  std::vector<std::vector<UnitIndex>> members(parts);
  for (UnitIndex unit = 0; unit < units; ++unit) {
    members[static_cast<std::size_t>(components.of[static_cast<std::size_t>(unit)])].push_back(unit);
  }

  // Components are complete from the sinks on, so reach sets are ready when they are asked for.
  reach_.assign(count * words_, 0);
  std::vector<std::uint64_t> row(words_);
  for (const std::vector<UnitIndex>& part : members) {
    std::fill(row.begin(), row.end(), 0);
    const auto add = [&row](UnitIndex unit) {
      row[static_cast<std::size_t>(unit) / 64] |= std::uint64_t{1} << (unit % 64);
    };
    if (part.size() > 1) std::for_each(part.begin(), part.end(), add);
    for (const UnitIndex unit : part) {
      for (const UnitIndex to : successors[static_cast<std::size_t>(unit)]) {
        if (components.of[static_cast<std::size_t>(to)] == components.of[static_cast<std::size_t>(unit)])
          continue;
        add(to);
        for (std::size_t w = 0; w < words_; ++w) row[w] |= reach_[static_cast<std::size_t>(to) * words_ + w];
      }
    }
    for (const UnitIndex unit : part) {
      std::copy(row.begin(), row.end(),
                reach_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(unit) * words_));
    }
  }

  // And depths from the sources on: against the numbering.
  std::vector<std::int32_t> part_depth(parts, 0);
  for (std::size_t part = parts; part-- > 0;) {
    for (const UnitIndex unit : members[part]) {
      for (const UnitIndex to : successors[static_cast<std::size_t>(unit)]) {
        const auto other = static_cast<std::size_t>(components.of[static_cast<std::size_t>(to)]);
        if (other != part) part_depth[other] = std::max(part_depth[other], part_depth[part] + 1);
      }
    }
  }
  depth_.resize(count);
  for (std::size_t unit = 0; unit < count; ++unit) {
    depth_[unit] = part_depth[static_cast<std::size_t>(components.of[unit])];
  }
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [this](UnitIndex a, UnitIndex b) {
    return depth_[static_cast<std::size_t>(a)] < depth_[static_cast<std::size_t>(b)];
  });
}

}  // namespace berth::agents::rl
