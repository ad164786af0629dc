#include "problem/random_placements.h"

#include <cmath>
#include <random>
#include <set>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::problem {

std::vector<sim::Placement> DrawPlacements(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                           std::int64_t count, std::uint64_t seed) {
  const auto devices = static_cast<std::uint64_t>(cluster.size());
  const auto sets = static_cast<std::size_t>(graph.colocation_sets());
  const double possible = static_cast<double>(sets) * std::log2(static_cast<double>(devices));
  if (std::log2(static_cast<double>(count)) > possible) {
    throw InputError(fmt::format("--placements {}: {} on {} has only {:.0f} different placements.", count,
                                 graph.name, cluster.name, std::exp2(possible)));
  }
  // The bits of mt19937_64 are the same everywhere; those of uniform_int_distribution are not. The bias of
  // the remainder is below 2^-60.
  std::mt19937_64 bits(seed);
  std::set<std::vector<sim::DeviceIndex>> drawn;
  std::vector<sim::Placement> placements;
  while (static_cast<std::int64_t>(placements.size()) < count) {
    std::vector<sim::DeviceIndex> by_set(sets);
    for (sim::DeviceIndex& device : by_set) device = static_cast<sim::DeviceIndex>(bits() % devices);
    if (!drawn.insert(by_set).second) continue;
    sim::Placement placement;
    for (const std::int32_t set : graph.colocation_set())
      placement.device.push_back(by_set[static_cast<std::size_t>(set)]);
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace stowplan::problem
