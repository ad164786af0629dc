// What the classical searches share: where they start and how they change a placement.
//
// Units are moved in runs of two orders: the topological one, and one by depth that lays the backward pass
// over the forward pass, so that a segment of it holds a part of the model with its gradients. `pilot` has a third, and
// moves clusters (unit_tree.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/groupers/unit_tree.h"
#include "agents/random_numbers.h"
#include "agents/task.h"
#include "sim/base/error.h"

namespace stowplan::agents {

class Moves {
 public:
  enum class Kinds : std::uint8_t { kRunsAndConnected, kWithClusters };

  explicit Moves(const Task& task, Kinds kinds = Kinds::kRunsAndConnected);

  // A placement that differs in at least one unit; the same where there is no other. One of, by chance:
  //  - a run of an order goes to one device,
  //  - a border between two devices in an order is shifted,
  //  - connected units of one device go to another,
  //  - two runs of an order change places,
  //  - and of kWithClusters: a cluster of any level (unit_tree.h) goes to one device; its order is a third one.
  // The number of units is 1, 2 to 3, 4 to 7 … with equal chance, up to half of all; clusters are no larger, either.
  UnitPlacement Neighbour(const UnitPlacement& placement, Rng& rng) const;

  // With clusters alone:
  const UnitTree& tree() const {
    STOWPLAN_CHECK(tree_.has_value());
    return *tree_;
  }
  // A cluster of `level` or above goes to one device; the same where there is no other device. Of `level` there are two at
  // least, or it is 0.
  UnitPlacement ClusterNeighbour(const UnitPlacement& placement, std::size_t level, Rng& rng) const;
  // Each cluster of the level on a device by chance.
  UnitPlacement RandomClusters(std::size_t level, Rng& rng) const;

  // The first with a run of an order from the second.
  UnitPlacement Cross(const UnitPlacement& first, const UnitPlacement& second, Rng& rng) const;

  // Placements that need no search: all units on one device, for each; then for each order contiguous blocks
  // of equal cost, one on each accelerator.
  std::vector<UnitPlacement> TrivialPlacements() const;

 private:
  using Order = std::vector<std::size_t>;  // units

  void MoveRun(UnitPlacement& placement, Rng& rng) const;
  void ShiftBorder(UnitPlacement& placement, Rng& rng) const;
  void MoveConnected(UnitPlacement& placement, Rng& rng) const;
  void SwapRuns(UnitPlacement& placement, Rng& rng) const;
  void MoveCluster(UnitPlacement& placement, std::size_t level, Rng& rng) const;
  std::size_t MostMoved() const;
  std::size_t Length(Rng& rng) const;
  static std::size_t Length(std::size_t most, Rng& rng);  // 1, 2 to 3, 4 to 7 … with equal chance
  std::span<const sim::DeviceIndex> SomeDevices(Rng& rng) const;
  sim::DeviceIndex Other(sim::DeviceIndex device, const UnitPlacement& placement, Rng& rng) const;

  const Task& task_;
  std::vector<Order> orders_;
  std::optional<UnitTree> tree_;                      // with clusters alone
  std::size_t top_ = 0;                               // its highest level of two clusters or more
  std::vector<std::vector<std::size_t>> neighbours_;  // by unit, both directions
};

// The values of the setting `start` of the classical searches.
//   random    the start that all agents of a row share (docs/protocol_rules.md#seeds)
//   trivial   TrivialPlacements(), each of which is a sample
// The placements to begin with, at least one.
std::vector<UnitPlacement> StartsOf(const std::string& start, const Task& task, const Moves& moves,
                                    std::uint64_t seed);

}  // namespace stowplan::agents
