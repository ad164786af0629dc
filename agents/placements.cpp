#include "agents/placements.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

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

namespace {

// Of the transfers that the simulator makes: each output once to each device that reads it.
sim::Bytes SentBytes(const sim::OpGraph& graph, const sim::Placement& placement) {
  std::vector<std::tuple<sim::OpIndex, std::int32_t, sim::DeviceIndex>> transfers;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const sim::DeviceIndex to = placement.device[op];
    for (const sim::TensorRef& input : graph.ops[op].inputs) {
      if (placement.device[static_cast<std::size_t>(input.op)] != to)
        transfers.emplace_back(input.op, input.output, to);
    }
  }
  std::sort(transfers.begin(), transfers.end());
  transfers.erase(std::unique(transfers.begin(), transfers.end()), transfers.end());
  sim::Bytes bytes = 0;
  for (const auto& [op, output, to] : transfers)
    bytes += graph.ops[static_cast<std::size_t>(op)].outputs[static_cast<std::size_t>(output)].bytes;
  return bytes;
}

}  // namespace

Plainness PlainnessOf(const Task& task, const UnitPlacement& placement, const std::vector<sim::Bytes>& peak) {
  constexpr double kMillion = 1e6;
  Plainness plainness;
  std::vector<bool> used(task.problem->cluster().devices.size(), false);
  for (const sim::DeviceIndex d : placement) used[static_cast<std::size_t>(d)] = true;
  for (std::size_t d = 0; d < used.size(); ++d) {
    if (!used[d]) continue;
    ++plainness.devices;
    const auto capacity = static_cast<double>(task.device(static_cast<sim::DeviceIndex>(d)).capacity());
    plainness.fullest =
        std::max(plainness.fullest,
                 static_cast<sim::Bytes>(kMillion * static_cast<double>(peak[d]) / std::max(capacity, 1.0)));
  }
  if (plainness.devices > 1) plainness.sent = SentBytes(task.problem->graph(), Expand(task, placement));
  return plainness;
}

bool PlainestPlacements::Wants(sim::Picos runtime) const {
  return within_ >= 0 && (kept_.empty() || static_cast<double>(runtime) <=
                                               (1 + within_) * static_cast<double>(kept_.back().runtime));
}

void PlainestPlacements::Offer(FittingPlacement one) {
  if (!Wants(one.runtime)) return;
  const auto beats = [](const FittingPlacement& a, const FittingPlacement& b) {
    return a.runtime <= b.runtime && a.plainness <= b.plainness;
  };
  if (std::ranges::any_of(kept_, [&](const FittingPlacement& other) { return beats(other, one); })) return;
  std::erase_if(kept_, [&](const FittingPlacement& other) { return beats(one, other); });
  kept_.insert(std::ranges::upper_bound(kept_, one.plainness, {}, &FittingPlacement::plainness),
               std::move(one));
  std::erase_if(kept_, [&](const FittingPlacement& other) { return !Wants(other.runtime); });
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
