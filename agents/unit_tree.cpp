#include "agents/unit_tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace berth::agents {
namespace {

using Weights = std::map<std::pair<std::size_t, std::size_t>, double>;  // by clusters, the lower first

void Tie(Weights& weights, std::size_t a, std::size_t b, double weight) {
  if (a != b) weights[std::minmax(a, b)] += weight;
}

Weights TiesOf(const Task& task) {
  constexpr double kLatency = 4096;  // what a message costs, in bytes: ties without data are the weakest
  const sim::OpGraph& graph = task.problem->graph();
  const auto unit_of = [&](sim::OpIndex op) {
    return static_cast<std::size_t>(task.units.unit_of_op[static_cast<std::size_t>(op)]);
  };
  // By output: the units that read it.
  std::map<std::pair<sim::OpIndex, std::int32_t>, std::vector<std::size_t>> readers;
  Weights weights;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const auto index = static_cast<sim::OpIndex>(i);
    for (const sim::TensorRef& input : graph.ops[i].inputs)
      readers[{input.op, input.output}].push_back(unit_of(index));
    for (const sim::OpIndex producer : graph.ops[i].control)
      Tie(weights, unit_of(producer), unit_of(index), kLatency);
  }
  for (auto& [output, units] : readers) {
    std::ranges::sort(units);
    const auto bytes =
        static_cast<double>(graph.ops[static_cast<std::size_t>(output.first)].outputs[static_cast<std::size_t>(output.second)].bytes);
    std::size_t before = unit_of(output.first);
    for (const std::size_t unit : units) {
      Tie(weights, before, unit, bytes + kLatency);
      before = unit;
    }
  }
  return weights;
}

}  // namespace

UnitTree MakeUnitTree(const Task& task) {
  Weights weights = TiesOf(task);
  std::vector<std::vector<std::size_t>> clusters;  // their units
  for (std::size_t unit = 0; unit < task.units.ops.size(); ++unit) clusters.push_back({unit});
  std::vector<std::vector<std::size_t>> sizes;  // by level, by cluster of the level: units
  std::vector<std::vector<std::vector<std::size_t>>> members = {clusters};
  while (!weights.empty()) {
    using Rated = std::tuple<double, std::size_t, std::size_t>;
    std::vector<Rated> rated;
    for (const auto& [pair, weight] : weights) {
      const auto size = static_cast<double>(clusters[pair.first].size()) *
                        static_cast<double>(clusters[pair.second].size());
      rated.emplace_back(-weight / size, pair.first, pair.second);
    }
    std::ranges::sort(rated);
    std::vector<std::size_t> partner(clusters.size());
    std::iota(partner.begin(), partner.end(), std::size_t{0});
    for (const auto& [rating, a, b] : rated) {
      if (partner[a] != a || partner[b] != b) continue;
      partner[a] = b;
      partner[b] = a;
    }
    std::vector<std::size_t> cluster_of(clusters.size());
    std::vector<std::vector<std::size_t>> merged;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      if (partner[c] < c) {
        cluster_of[c] = cluster_of[partner[c]];
        continue;
      }
      cluster_of[c] = merged.size();
      merged.push_back(clusters[c]);
      if (partner[c] != c) {
        const auto& other = clusters[partner[c]];
        merged.back().insert(merged.back().end(), other.begin(), other.end());
      }
    }
    Weights next;
    for (const auto& [pair, weight] : weights) Tie(next, cluster_of[pair.first], cluster_of[pair.second], weight);
    weights = std::move(next);
    clusters = std::move(merged);
    members.push_back(clusters);
  }
  UnitTree tree;
  for (const std::vector<std::size_t>& cluster : clusters)
    tree.order.insert(tree.order.end(), cluster.begin(), cluster.end());
  std::vector<std::size_t> place(tree.order.size());
  for (std::size_t i = 0; i < tree.order.size(); ++i) place[tree.order[i]] = i;
  for (const auto& level : members) {
    std::vector<std::size_t> begins;
    for (const auto& cluster : level) begins.push_back(place[cluster.front()]);
    std::ranges::sort(begins);
    begins.push_back(tree.order.size());
    tree.levels.push_back(std::move(begins));
  }
  return tree;
}

}  // namespace berth::agents
