#include "agents/placements.h"

#include <algorithm>

namespace berth::agents {

UnitPlacement UniformPlacement(const Task& task, Rng& rng) {
  UnitPlacement placement(task.units.ops.size());
  for (sim::DeviceIndex& device : placement) device = rng.Pick(task.devices);
  return placement;
}

UnitPlacement StartPlacement(const Task& task, std::uint64_t seed) {
  Rng rng(seed, "start");
  return UniformPlacement(task, rng);
}

UnitPlacement BlockPlacement(const Task& task, Rng& rng) {
  UnitPlacement placement(task.units.ops.size());
  if (placement.empty()) return placement;
  const std::size_t blocks = 1 + static_cast<std::size_t>(rng.Below(4 * task.devices.size()));
  std::vector<std::size_t> cuts = {0, placement.size()};
  for (std::size_t i = 1; i < blocks; ++i)
    cuts.push_back(static_cast<std::size_t>(rng.Below(placement.size())));
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    const sim::DeviceIndex device = rng.Pick(task.devices);
    std::fill(placement.begin() + static_cast<std::ptrdiff_t>(cuts[i - 1]),
              placement.begin() + static_cast<std::ptrdiff_t>(cuts[i]), device);
  }
  return placement;
}

std::uint64_t HashOf(const UnitPlacement& placement) {
  std::uint64_t hash = placement.size();
  for (const sim::DeviceIndex device : placement) hash = Mix(hash ^ static_cast<std::uint64_t>(device));
  return hash;
}

}  // namespace berth::agents
