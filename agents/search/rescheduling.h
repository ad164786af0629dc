// A part of the units placed anew by a list schedule (classical/unit_schedule.h), the others where they are: moves of large
// neighbourhoods.
#pragma once

#include <vector>

#include "agents/classical/unit_schedule.h"
#include "agents/groupers/unit_tree.h"
#include "agents/random_numbers.h"
#include "agents/task.h"

namespace stowplan::agents {

class Rescheduling {
 public:
  // Whether what all devices offer all units is a sensible number: it is looked through for each placement.
  static bool Takes(const Task& task);
  // Keeps references.
  Rescheduling(const Task& task, const UnitTree& tree);

  // Of a cluster of any level by chance, up to half of the units.
  UnitPlacement OfCluster(const UnitPlacement& placement, Rng& rng) const;
  // Of each unit with a chance that is drawn first, up to all of them.
  UnitPlacement OfMany(const UnitPlacement& placement, Rng& rng) const;

 private:
  // Each free unit goes where it ends first, by times that are off by up to a tenth.
  UnitPlacement Place(const UnitPlacement& placement, const std::vector<bool>& free, Rng& rng) const;

  const Task& task_;
  const UnitTree& tree_;
  UnitScheduleGraph graph_;
};

}  // namespace stowplan::agents
