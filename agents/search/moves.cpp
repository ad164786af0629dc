#include "agents/search/moves.h"

#include <algorithm>
#include <numeric>

#include "agents/placements.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

// By op: the ops on the longest path from a source that end there, or with `reversed` to a sink.
std::vector<std::int64_t> Depths(const sim::OpGraph& graph, bool reversed) {
  std::vector<std::int64_t> depth(graph.ops.size(), 0);
  const auto relax = [&](sim::OpIndex producer, sim::OpIndex consumer) {
    const auto from = static_cast<std::size_t>(reversed ? consumer : producer);
    const auto to = static_cast<std::size_t>(reversed ? producer : consumer);
    depth[to] = std::max(depth[to], depth[from] + 1);
  };
  const auto visit = [&](sim::OpIndex index) {
    const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
    for (const sim::TensorRef& input : op.inputs) relax(input.op, index);
    for (const sim::OpIndex producer : op.control) relax(producer, index);
  };
  const std::vector<sim::OpIndex>& order = graph.topological_order();
  if (reversed) {
    std::for_each(order.rbegin(), order.rend(), visit);
  } else {
    std::for_each(order.begin(), order.end(), visit);
  }
  return depth;
}

// An op and its gradient are about as far from the two ends of a training step. Sources are as far as a sink
// that reads them, so they do not count where a unit has other ops.
std::vector<std::size_t> FoldedOrder(const Task& task) {
  const sim::OpGraph& graph = task.problem->graph();
  const std::vector<std::int64_t> down = Depths(graph, false);
  const std::vector<std::int64_t> up = Depths(graph, true);
  std::vector<double> depth;
  for (const std::vector<sim::OpIndex>& ops : task.units.ops) {
    std::int64_t sum = 0;
    std::int64_t count = 0;
    for (const sim::OpIndex index : ops) {
      const auto op = static_cast<std::size_t>(index);
      if (graph.ops[op].IsSource()) continue;
      sum += std::min(down[op], up[op]);
      ++count;
    }
    depth.push_back(static_cast<double>(sum) / static_cast<double>(std::max<std::int64_t>(1, count)));
  }
  std::vector<std::size_t> order(task.units.ops.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return depth[a] < depth[b]; });
  return order;
}

// Of many devices most are in no use to a graph, and a move to one of those is rarely any good.
constexpr std::size_t kFewDevices = 16;

}  // namespace

Moves::Moves(const Task& task, Kinds kinds) : task_(task), orders_(2), neighbours_(task.units.ops.size()) {
  orders_[0].resize(task.units.ops.size());
  std::iota(orders_[0].begin(), orders_[0].end(), std::size_t{0});
  orders_[1] = FoldedOrder(task);
  if (kinds == Kinds::kWithClusters) {
    tree_ = MakeUnitTree(task.problem->graph(), task.units);
    orders_.push_back(tree_->order);
    top_ = tree_->levels.size() - 1;
    while (top_ > 0 && tree_->Clusters(top_) < 2) --top_;
  }
  for (const UnitEdge& edge : task.edges) {
    const auto from = static_cast<std::size_t>(edge.from);
    const auto to = static_cast<std::size_t>(edge.to);
    neighbours_[from].push_back(to);
    neighbours_[to].push_back(from);
  }
}

UnitPlacement Moves::Neighbour(const UnitPlacement& placement, Rng& rng) const {
  if (placement.empty() || task_.devices.size() == 1) return placement;
  UnitPlacement result = placement;
  while (result == placement) {
    switch (rng.Below(tree_ ? 6 : 4)) {
      case 0:
        MoveRun(result, rng);
        break;
      case 1:
        ShiftBorder(result, rng);
        break;
      case 2:
        MoveConnected(result, rng);
        break;
      case 3:
        SwapRuns(result, rng);
        break;
      default:
        MoveCluster(result, 0, rng);
    }
  }
  return result;
}

UnitPlacement Moves::ClusterNeighbour(const UnitPlacement& placement, std::size_t level, Rng& rng) const {
  if (placement.empty() || task_.devices.size() == 1) return placement;
  UnitPlacement result = placement;
  MoveCluster(result, level, rng);  // one of its units at least goes to another device
  return result;
}

UnitPlacement Moves::RandomClusters(std::size_t level, Rng& rng) const {
  UnitPlacement placement(task_.units.ops.size());
  const std::span<const sim::DeviceIndex> devices = SomeDevices(rng);
  for (std::size_t c = 0; c < tree().Clusters(level); ++c) {
    const sim::DeviceIndex device = devices[static_cast<std::size_t>(rng.Below(devices.size()))];
    for (const std::size_t unit : tree().Cluster(level, c)) placement[unit] = device;
  }
  return placement;
}

UnitPlacement Moves::Cross(const UnitPlacement& first, const UnitPlacement& second, Rng& rng) const {
  UnitPlacement child = first;
  if (child.empty()) return child;
  const Order& order = orders_[rng.Below(orders_.size())];
  const auto begin = static_cast<std::size_t>(rng.Below(order.size()));
  const std::size_t end = std::min(order.size(), begin + Length(rng));
  for (std::size_t i = begin; i < end; ++i) child[order[i]] = second[order[i]];
  return child;
}

std::vector<UnitPlacement> Moves::TrivialPlacements() const {
  const std::size_t units = task_.units.ops.size();
  std::vector<UnitPlacement> placements;
  for (const sim::DeviceIndex device : task_.devices) placements.emplace_back(units, device);
  const std::vector<sim::DeviceIndex> accelerators = Accelerators(task_);
  if (accelerators.size() == 1) return placements;
  const auto cost = [&](std::size_t unit) {
    return static_cast<double>(task_.unit_cost(static_cast<UnitIndex>(unit), accelerators.front()));
  };
  double total = 0;
  for (std::size_t unit = 0; unit < units; ++unit) total += cost(unit);
  for (const Order& order : orders_) {
    placements.emplace_back(units, accelerators.front());
    double before = 0;
    for (const std::size_t unit : order) {
      // The block that the middle of the unit's work falls into.
      const double share = total > 0 ? (before + cost(unit) / 2) / total : 0;
      const auto block = static_cast<std::size_t>(share * static_cast<double>(accelerators.size()));
      placements.back()[unit] = accelerators[std::min(block, accelerators.size() - 1)];
      before += cost(unit);
    }
  }
  return placements;
}

void Moves::MoveRun(UnitPlacement& placement, Rng& rng) const {
  const Order& order = orders_[rng.Below(orders_.size())];
  const auto first = static_cast<std::size_t>(rng.Below(order.size()));
  const std::size_t end = std::min(order.size(), first + Length(rng));
  const sim::DeviceIndex device = Other(placement[order[first]], placement, rng);
  for (std::size_t i = first; i < end; ++i) placement[order[i]] = device;
}

// The units behind the border take the device before it, or the other way round.
void Moves::ShiftBorder(UnitPlacement& placement, Rng& rng) const {
  const Order& order = orders_[rng.Below(orders_.size())];
  std::vector<std::size_t> borders;  // last unit before one
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    if (placement[order[i]] != placement[order[i + 1]]) borders.push_back(i);
  }
  if (borders.empty()) return;
  const std::size_t border = rng.Pick(borders);
  std::size_t length = Length(rng);
  if (rng.Below(2) == 0) {
    const sim::DeviceIndex device = placement[order[border]];
    for (std::size_t i = border + 1; i < order.size() && length > 0; ++i, --length)
      placement[order[i]] = device;
  } else {
    const sim::DeviceIndex device = placement[order[border + 1]];
    for (std::size_t i = border + 1; i > 0 && length > 0; --i, --length) placement[order[i - 1]] = device;
  }
}

// Grown from a unit along edges, in random order, among the units of its device.
void Moves::MoveConnected(UnitPlacement& placement, Rng& rng) const {
  const auto seed = static_cast<std::size_t>(rng.Below(placement.size()));
  const sim::DeviceIndex from = placement[seed];
  const sim::DeviceIndex to = Other(from, placement, rng);
  std::vector<std::size_t> frontier = {seed};
  for (std::size_t left = Length(rng); left > 0 && !frontier.empty();) {
    std::swap(frontier[static_cast<std::size_t>(rng.Below(frontier.size()))], frontier.back());
    const std::size_t unit = frontier.back();
    frontier.pop_back();
    if (placement[unit] != from) continue;
    placement[unit] = to;
    --left;
    for (const std::size_t next : neighbours_[unit]) {
      if (placement[next] == from) frontier.push_back(next);
    }
  }
}

void Moves::SwapRuns(UnitPlacement& placement, Rng& rng) const {
  const Order& order = orders_[rng.Below(orders_.size())];
  const auto a = static_cast<std::size_t>(rng.Below(order.size()));
  const auto b = static_cast<std::size_t>(rng.Below(order.size()));
  const std::size_t later = std::max(a, b);
  const std::size_t length = std::min({Length(rng), later - std::min(a, b), order.size() - later});
  for (std::size_t i = 0; i < length; ++i) std::swap(placement[order[a + i]], placement[order[b + i]]);
}

// Of the level or one above.
void Moves::MoveCluster(UnitPlacement& placement, std::size_t level, Rng& rng) const {
  STOWPLAN_CHECK(level <= top_);
  const auto draw = [&] {
    const std::size_t at = level + rng.Below(top_ + 1 - level);
    return tree().Cluster(at, rng.Below(tree().Clusters(at)));
  };
  std::span<const std::size_t> cluster = draw();
  while (cluster.size() > MostMoved()) cluster = draw();  // of two one is no larger
  const sim::DeviceIndex device = Other(placement[cluster[rng.Below(cluster.size())]], placement, rng);
  for (const std::size_t unit : cluster) placement[unit] = device;
}

std::size_t Moves::MostMoved() const {
  return std::max<std::size_t>(1, task_.units.ops.size() / 2);
}

std::size_t Moves::Length(Rng& rng) const {
  if (rng.Below(2) == 0) return 1;
  return Length(MostMoved(), rng);
}

std::size_t Moves::Length(std::size_t most, Rng& rng) {
  std::uint64_t powers = 1;
  while ((std::size_t{1} << powers) <= most) ++powers;
  const std::size_t least = std::size_t{1} << rng.Below(powers);
  return std::min(most, least + static_cast<std::size_t>(rng.Below(least)));
}

// All of few; of many 1, 2 to 3, 4 to 7 … neighbours with equal chance.
std::span<const sim::DeviceIndex> Moves::SomeDevices(Rng& rng) const {
  const std::span<const sim::DeviceIndex> all = task_.devices;
  if (all.size() <= kFewDevices) return all;
  const std::size_t count = Length(all.size(), rng);
  return all.subspan(static_cast<std::size_t>(rng.Below(all.size() + 1 - count)), count);
}

// Of many mostly one that is in use.
sim::DeviceIndex Moves::Other(sim::DeviceIndex device, const UnitPlacement& placement, Rng& rng) const {
  constexpr int kDraws = 4;  // for one that is another
  const bool in_use = task_.devices.size() > kFewDevices && rng.Below(4) > 0;
  for (int draw = 0; in_use && draw < kDraws; ++draw) {
    if (const sim::DeviceIndex used = rng.Pick(placement); used != device) return used;
  }
  const auto here = std::find(task_.devices.begin(), task_.devices.end(), device) - task_.devices.begin();
  const auto step = 1 + rng.Below(task_.devices.size() - 1);
  return task_.devices[(static_cast<std::size_t>(here) + step) % task_.devices.size()];
}

std::vector<UnitPlacement> StartsOf(const std::string& start, const Task& task, const Moves& moves,
                                    std::uint64_t seed) {
  if (start == "trivial") return moves.TrivialPlacements();
  return {StartPlacement(task, seed)};
}

}  // namespace stowplan::agents
