#include "agents/placements.h"

#include <algorithm>
#include <array>

namespace stowplan::agents {

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

// Four chains of multiplications side by side, two units a step: one chain through all units would cost a tenth of a search.
std::uint64_t HashOf(const UnitPlacement& placement) {
  std::array<std::uint64_t, 4> lanes = {0, 1, 2, 3};
  const auto add = [](std::uint64_t& lane, sim::DeviceIndex first, sim::DeviceIndex second) {
    lane ^= static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32 |
            static_cast<std::uint32_t>(second);
    lane *= 0x9e3779b97f4a7c15u;
    lane ^= lane >> 32;
  };
  std::size_t unit = 0;
  for (; unit + 8 <= placement.size(); unit += 8) {
    for (std::size_t l = 0; l < 4; ++l) add(lanes[l], placement[unit + 2 * l], placement[unit + 2 * l + 1]);
  }
  for (; unit < placement.size(); ++unit) add(lanes[unit % 4], placement[unit], 0);
  std::uint64_t hash = placement.size();
  for (const std::uint64_t lane : lanes) hash = Mix(hash ^ lane);
  return hash;
}

}  // namespace stowplan::agents
