#include "agents/groupers/unit_tree.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace stowplan::agents {
namespace {

using Clusters = std::vector<std::vector<std::size_t>>;  // units

struct Tie {
  std::size_t a = 0;  // below b
  std::size_t b = 0;
  double weight = 0;
};

void Add(std::size_t a, std::size_t b, double weight, std::vector<Tie>& ties) {
  if (a != b) ties.push_back({std::min(a, b), std::max(a, b), weight});
}

// One tie of each pair, ascending.
void Sum(std::vector<Tie>& ties) {
  std::ranges::stable_sort(ties, {}, [](const Tie& tie) { return std::pair(tie.a, tie.b); });
  std::size_t kept = 0;
  for (const Tie& tie : ties) {
    if (kept > 0 && ties[kept - 1].a == tie.a && ties[kept - 1].b == tie.b) {
      ties[kept - 1].weight += tie.weight;
    } else {
      ties[kept++] = tie;
    }
  }
  ties.resize(kept);
}

std::vector<Tie> TiesOf(const sim::OpGraph& graph, const Units& units) {
  // Bytes that a message is worth: what carries no data ties, too, but least.
  constexpr double kMessage = 4096;
  const auto unit_of = [&](sim::OpIndex op) {
    return static_cast<std::size_t>(units.unit_of_op[static_cast<std::size_t>(op)]);
  };
  std::vector<Tie> ties;
  std::vector<std::pair<sim::TensorRef, std::size_t>> holders;  // units that write a tensor or read it
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const std::size_t unit = unit_of(static_cast<sim::OpIndex>(op));
    for (const sim::TensorRef& input : graph.ops[op].inputs) {
      holders.emplace_back(input, unit);
      holders.emplace_back(input, unit_of(input.op));
    }
    for (const sim::OpIndex producer : graph.ops[op].control) Add(unit_of(producer), unit, kMessage, ties);
  }
  std::ranges::sort(holders);
  for (std::size_t i = 1; i < holders.size(); ++i) {
    const auto& [tensor, unit] = holders[i];
    if (holders[i - 1].first != tensor) continue;
    const auto& outputs = graph.ops[static_cast<std::size_t>(tensor.op)].outputs;
    const auto bytes = static_cast<double>(outputs[static_cast<std::size_t>(tensor.output)].bytes);
    Add(holders[i - 1].second, unit, bytes + kMessage, ties);
  }
  Sum(ties);
  return ties;
}

// A cluster whose nearest has no room joins another only if that is rated so high in parts of the nearest; else it waits for
// the next level.
constexpr double kWaits = 0.5;

// By cluster: the one it goes into, or itself. None gets more than `most` units. Small ones choose first; who has been
// joined stays. What shares nothing with any fills up clusters of its like.
std::vector<std::size_t> Join(std::size_t most, const Clusters& clusters, const std::vector<Tie>& ties) {
  std::vector<std::vector<std::pair<std::size_t, double>>> near(clusters.size());
  for (const Tie& tie : ties) {
    near[tie.a].emplace_back(tie.b, tie.weight);
    near[tie.b].emplace_back(tie.a, tie.weight);
  }
  std::vector<std::size_t> into(clusters.size());
  std::iota(into.begin(), into.end(), std::size_t{0});
  std::vector<std::size_t> order = into;
  std::ranges::stable_sort(order, {}, [&](std::size_t c) { return clusters[c].size(); });
  std::vector<std::size_t> size;
  for (const auto& cluster : clusters) size.push_back(cluster.size());
  std::vector<bool> settled(clusters.size());
  std::vector<double> shared(clusters.size());  // with the cluster in turn; 0 again after it
  std::optional<std::size_t> alone;             // that which is being filled up
  const auto join = [&](std::size_t c, std::size_t other) {
    into[c] = other;
    size[other] += size[c];
    settled[c] = settled[other] = true;
  };
  for (const std::size_t c : order) {
    if (settled[c]) continue;
    if (near[c].empty()) {
      if (alone && size[*alone] + size[c] <= most) {
        join(c, *alone);
      } else {
        alone = c;
      }
      continue;
    }
    for (const auto& [other, weight] : near[c]) shared[into[other]] += weight;
    double nearest = 0;  // what it would join if there were room
    double best = 0;
    std::size_t chosen = c;
    for (const auto& tie : near[c]) {
      const std::size_t other = into[tie.first];
      const double rating = shared[other] / std::sqrt(static_cast<double>(size[other]));
      nearest = std::max(nearest, rating);
      if (rating <= best || size[other] + size[c] > most) continue;
      best = rating;
      chosen = other;
    }
    for (const auto& tie : near[c]) shared[into[tie.first]] = 0;
    if (chosen != c && best >= kWaits * nearest) join(c, chosen);
  }
  return into;
}

void Coarsen(std::size_t most, Clusters& clusters, std::vector<Tie>& ties) {
  const std::vector<std::size_t> into = Join(most, clusters, ties);
  Clusters joined;
  std::vector<std::size_t> number(clusters.size());
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    if (into[c] != c) continue;
    number[c] = joined.size();
    joined.push_back(std::move(clusters[c]));
  }
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    if (into[c] == c) continue;
    number[c] = number[into[c]];
    joined[number[c]].insert(joined[number[c]].end(), clusters[c].begin(), clusters[c].end());
  }
  clusters = std::move(joined);
  std::vector<Tie> between;
  for (const Tie& tie : ties) Add(number[tie.a], number[tie.b], tie.weight, between);
  ties = std::move(between);
  Sum(ties);
}

}  // namespace

std::size_t UnitTree::LevelOf(std::size_t parts) const {
  const auto counted = [&](std::size_t level) {
    std::size_t count = 0;
    for (std::size_t c = 0; c < Clusters(level); ++c)
      count += Cluster(level, c).size() * parts * 4 >= order.size();
    return count;
  };
  std::size_t level = levels.size() - 1;
  while (level > 0 && counted(level) < parts) --level;
  return level;
}

UnitTree MakeUnitTree(const sim::OpGraph& graph, const Units& made_of) {
  const std::size_t units = made_of.ops.size();
  std::vector<Tie> ties = TiesOf(graph, made_of);
  Clusters clusters;
  for (std::size_t unit = 0; unit < units; ++unit) clusters.push_back({unit});
  const auto firsts = [&] {
    std::vector<std::size_t> result;
    for (const auto& cluster : clusters) result.push_back(cluster.front());
    return result;
  };
  // By level, the first unit of each cluster: joined clusters stand one after the other, so it begins it in the end, too.
  std::vector<std::vector<std::size_t>> levels = {firsts()};
  for (std::size_t most = UnitTree::kFactor; most < units * UnitTree::kFactor; most *= UnitTree::kFactor) {
    for (std::size_t before = 0; before != clusters.size();) {
      before = clusters.size();
      Coarsen(most, clusters, ties);
    }
    if (clusters.size() < levels.back().size()) levels.push_back(firsts());
  }
  UnitTree tree;
  for (const auto& cluster : clusters) tree.order.insert(tree.order.end(), cluster.begin(), cluster.end());
  std::vector<std::size_t> position(units);
  for (std::size_t i = 0; i < units; ++i) position[tree.order[i]] = i;
  for (std::vector<std::size_t>& begins : levels) {
    for (std::size_t& unit : begins) unit = position[unit];
    std::ranges::sort(begins);
    begins.push_back(units);
  }
  tree.levels = std::move(levels);
  return tree;
}

std::vector<std::int32_t> GroupsOf(const UnitTree& tree, std::size_t groups) {
  std::size_t level = tree.levels.size() - 1;
  while (level > 0 && tree.Clusters(level) < groups) --level;
  std::map<std::size_t, std::size_t> parts;  // begin and end in the tree's order
  for (std::size_t c = 0; c < tree.Clusters(level); ++c)
    parts.emplace(tree.levels[level][c], tree.levels[level][c + 1]);
  // Of each two that may be merged: their units, where the first begins.
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  const auto pair_of = [&](std::map<std::size_t, std::size_t>::iterator part) {
    return std::pair(std::next(part)->second - part->first, part->first);
  };
  std::set<std::size_t> apart = {tree.order.size()};  // where clusters of the level above begin
  if (level + 1 < tree.levels.size())
    apart.insert(tree.levels[level + 1].begin(), tree.levels[level + 1].end());
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    if (!apart.contains(part->second)) pairs.insert(pair_of(part));
  }
  while (parts.size() > groups && !pairs.empty()) {
    const auto first = parts.find(pairs.begin()->second);
    const auto second = std::next(first);
    pairs.erase(pairs.begin());
    const bool goes_on = pairs.erase(std::next(second) == parts.end() ? std::pair<std::size_t, std::size_t>()
                                                                      : pair_of(second)) > 0;
    const bool joined = first != parts.begin() && pairs.erase(pair_of(std::prev(first))) > 0;
    first->second = second->second;
    parts.erase(second);
    if (goes_on) pairs.insert(pair_of(first));
    if (joined) pairs.insert(pair_of(std::prev(first)));
  }

  std::vector<std::int32_t> group_of_unit(tree.order.size());
  std::int32_t group = 0;
  for (const auto& [begin, end] : parts) {
    for (std::size_t i = begin; i < end; ++i) group_of_unit[tree.order[i]] = group;
    ++group;
  }
  return group_of_unit;
}

}  // namespace stowplan::agents
