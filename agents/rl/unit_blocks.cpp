#include "agents/rl/unit_blocks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace berth::agents::rl {
namespace {

constexpr double kLargest = 1.5;  // of an equal part

// Sets of positions in the order, each named by its first one.
class Pieces {
 public:
  explicit Pieces(std::vector<double> length) : length_(std::move(length)), count_(length_.size()) {
    for (std::size_t i = 0; i < length_.size(); ++i) first_.push_back(i);
  }

  std::size_t Find(std::size_t position) {
    while (first_[position] != position) position = first_[position] = first_[first_[position]];
    return position;
  }
  void Join(std::size_t a, std::size_t b) {
    if (b < a) std::swap(a, b);
    first_[b] = a;
    length_[a] += length_[b];
    --count_;
  }
  double length(std::size_t piece) const { return length_[piece]; }
  std::size_t count() const { return count_; }

  std::vector<std::size_t> All() {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      if (Find(i) == i) all.push_back(i);
    }
    return all;
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<double> length_;
  std::size_t count_;
};

// Pairs of positions that exchange data, most bytes first, equal ones as they come in the order.
std::vector<std::pair<std::size_t, std::size_t>> HeaviestFirst(const Task& task,
                                                               const std::vector<std::size_t>& position) {
  std::map<std::pair<std::size_t, std::size_t>, sim::Bytes> bytes;  // of both directions
  for (const UnitEdge& edge : task.edges) {
    const auto [a, b] = std::minmax(position[static_cast<std::size_t>(edge.from)],
                                    position[static_cast<std::size_t>(edge.to)]);
    bytes[{a, b}] += edge.bytes;
  }
  std::vector<std::tuple<sim::Bytes, std::size_t, std::size_t>> ranked;
  for (const auto& [pair, sum] : bytes) ranked.emplace_back(-sum, pair.first, pair.second);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& [sum, a, b] : ranked) pairs.emplace_back(a, b);
  return pairs;
}

}  // namespace

std::vector<std::int64_t> BlocksOf(const Task& task, const UnitGraph& graph, std::int64_t blocks) {
  const auto wanted = static_cast<std::size_t>(blocks);
  std::vector<std::size_t> position(task.units.ops.size());
  std::vector<double> length;
  double whole = 0;
  for (const UnitIndex unit : graph.order()) {
    position[static_cast<std::size_t>(unit)] = length.size();
    length.push_back(static_cast<double>(task.unit_cost(unit, task.devices.front())));
    whole += length.back();
  }
  Pieces pieces(std::move(length));
  const double largest = kLargest * whole / static_cast<double>(blocks);
  for (const auto& [from, to] : HeaviestFirst(task, position)) {
    const std::size_t a = pieces.Find(from), b = pieces.Find(to);
    if (pieces.count() > wanted && a != b && pieces.length(a) + pieces.length(b) <= largest)
      pieces.Join(a, b);
  }
  std::vector<std::size_t> left = pieces.All();
  while (left.size() > wanted) {
    std::size_t best = 0;
    double shortest = 0;
    for (std::size_t i = 0; i + 1 < left.size(); ++i) {
      const double joint = pieces.length(left[i]) + pieces.length(left[i + 1]);
      if (i == 0 || joint < shortest) std::tie(best, shortest) = std::tuple(i, joint);
    }
    pieces.Join(left[best], left[best + 1]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<std::int64_t> block(position.size());
  for (std::size_t unit = 0; unit < block.size(); ++unit) {
    const std::size_t piece = pieces.Find(position[unit]);
    block[unit] = std::lower_bound(left.begin(), left.end(), piece) - left.begin();
  }
  return block;
}

}  // namespace berth::agents::rl
