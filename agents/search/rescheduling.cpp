#include "agents/search/rescheduling.h"

#include <algorithm>

namespace stowplan::agents {

bool Rescheduling::Takes(const Task& task) {
  constexpr std::size_t kMostOffers = 20'000'000;
  return (task.units.ops.size() + task.edges.size()) * task.devices.size() <= kMostOffers;
}

Rescheduling::Rescheduling(const Task& task, const UnitTree& tree) : task_(task), tree_(tree), graph_(task) {}

UnitPlacement Rescheduling::OfCluster(const UnitPlacement& placement, Rng& rng) const {
  const std::size_t half = std::max<std::size_t>(1, placement.size() / 2);
  std::span<const std::size_t> cluster;
  do {
    const std::size_t level = rng.Below(tree_.levels.size());
    cluster = tree_.Cluster(level, rng.Below(tree_.Clusters(level)));
  } while (cluster.size() > half);
  std::vector<bool> free(placement.size());
  for (const std::size_t unit : cluster) free[unit] = true;
  return Place(placement, free, rng);
}

UnitPlacement Rescheduling::OfMany(const UnitPlacement& placement, Rng& rng) const {
  const double part = rng.Uniform();
  std::vector<bool> free(placement.size());
  for (std::size_t unit = 0; unit < free.size(); ++unit) free[unit] = rng.Uniform() < part;
  return Place(placement, free, rng);
}

UnitPlacement Rescheduling::Place(const UnitPlacement& placement, const std::vector<bool>& free,
                                  Rng& rng) const {
  constexpr double kOff = 0.1;
  UnitPlacement placed = placement;
  UnitSchedule schedule(graph_);
  while (!schedule.done()) {
    const UnitIndex unit = schedule.Ready(1).front();
    const auto index = static_cast<std::size_t>(unit);
    const std::vector<UnitSchedule::Offer> offers = schedule.OffersFor(unit);
    std::size_t slot = 0;
    if (free[index]) {
      double earliest = 0;
      for (std::size_t s = 0; s < offers.size(); ++s) {
        const double end = static_cast<double>(offers[s].end) * (1 + kOff * rng.Uniform());
        if (s > 0 && end >= earliest) continue;
        earliest = end;
        slot = s;
      }
      placed[index] = task_.devices[slot];
    } else {
      slot = static_cast<std::size_t>(std::ranges::find(task_.devices, placement[index]) -
                                      task_.devices.begin());
    }
    schedule.Place(unit, slot, offers[slot]);
  }
  return placed;
}

}  // namespace stowplan::agents
