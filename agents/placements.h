// Placements that several agents know, and what is said of placements.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "agents/random_numbers.h"
#include "agents/task.h"

namespace stowplan::agents {

// Every unit on a device of task.devices, drawn uniformly and independently.
UnitPlacement UniformPlacement(const Task& task, Rng& rng);

// The start of every agent that starts at random: one seed gives all agents of a row the same one
// (docs/protocol_rules.md#seeds).
UnitPlacement StartPlacement(const Task& task, std::uint64_t seed);

// What the agent `expert` places by its rule=auto (expert.cpp).
UnitPlacement ExpertByRule(const Task& task);

// What the agent `expert` places by one of its rules (expert.cpp), whatever the scenario gives.
UnitPlacement PlaceByRule(const Task& task, const std::string& rule);

// How plain a placement is; the plainer one is less. Of two that take as long, a person would rather have it.
struct Plainness {
  int devices = 0;         // that have an op
  sim::Bytes sent = 0;     // between devices
  sim::Bytes fullest = 0;  // the largest peak, in millionths of the device's capacity
  auto operator<=>(const Plainness&) const = default;
};
// `peak`: by device.
Plainness PlainnessOf(const Task& task, const UnitPlacement& placement, const std::vector<sim::Bytes>& peak);

// A placement that fits.
struct FittingPlacement {
  UnitPlacement placement;
  sim::Picos runtime = 0;
  Plainness plainness;
};

// Of the placements that it is offered those that no other one beats in both, time and plainness, as far as they are within
// a share of the fastest.
class PlainestPlacements {
 public:
  explicit PlainestPlacements(double within) : within_(within) {}
  // Whether one with this time could be among them.
  bool Wants(sim::Picos runtime) const;
  void Offer(FittingPlacement one);
  // The plainest one first, so that the fastest is the last.
  const std::vector<FittingPlacement>& kept() const { return kept_; }

 private:
  double within_;
  std::vector<FittingPlacement> kept_;
};

// Contiguous blocks of units, in unit order, each on a device of its own draw: between 1 and 4 per device.
UnitPlacement BlockPlacement(const Task& task, Rng& rng);

// Placements are told apart by this number; two of 10^6 different ones fall together with a probability below
// 10^-7.
std::uint64_t HashOf(const UnitPlacement& placement);

}  // namespace stowplan::agents
