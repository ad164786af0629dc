// What lets a network see what its earlier choices left for the item that it places next (docs/protocol_rules.md#offers; ours, in
// no published one-shot agent; DOPPLER's policies read such schedules). How much later would it end on each device than on
// the best one? Of a unit a list schedule of the units before says so. Groups have no such schedule, for their units wait for
// one another's: of a group it is how much more work its device would have, its own and that of the groups before. A weight,
// read from the item itself, is taken off the logits of devices that are late.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agents/classical/unit_schedule.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

// By device how late the unit would end there: x / (x + its length there), x later than on the best one; in [0, 1], 1 where
// it takes no time.
std::vector<double> DelaysOf(const UnitScheduleGraph& graph, UnitIndex unit,
                             const std::vector<UnitSchedule::Offer>& offers);

class Offers {
 public:
  // A fresh policy reads nothing from them. Items are described by `width` numbers.
  Offers(bool on, std::int64_t width, at::ScalarType type);

  bool on() const { return !parameters_.empty(); }
  const Tensors& parameters() const { return parameters_; }

  // The units of a task, in a topological order of UnitGraph.
  struct Units {
    std::vector<UnitIndex> order;
    std::optional<UnitScheduleGraph> graph;  // where it is on: as large as edges times devices times devices
  };
  Units UnitsOf(const Task& task, std::vector<UnitIndex> order) const;
  // What is placed in turn: the units of the one sequence, or groups, by their work alone. An empty group counts as late on
  // all devices but the least loaded; nothing is placed by that, but where empty groups get credit (clusters=0) the weight
  // learns from it.
  struct Placed {
    const Units* units = nullptr;
    at::Tensor work = {};  // of groups, by sequence, double: [sequences, groups, devices], picoseconds
  };
  // Which item minds being late how much; keeps a reference to the units.
  struct Haste {
    at::Tensor weight = {};  // [sequences, items]; undefined where it is off
    Placed placed = {};
  };
  // `described` [sequences, items, width].
  Haste Read(const at::Tensor& described, const Placed& placed) const;

  // What is added to logits where drawn actions met `delays`, both [rows, items, devices], the rows of one sequence side by
  // side; 0 where it is off.
  static at::Tensor Added(const Haste& haste, const at::Tensor& delays);
  // The delays that `actions` [rows, items] meet; undefined where it is off.
  static at::Tensor MetBy(const Haste& haste, const at::Tensor& actions);

  // The same while actions are being drawn, item by item.
  class Walk {
   public:
    Walk(const Haste& haste, std::int64_t rows);
    // What the next item meets, noted in Delays(); then `logits` [rows, devices] of it and what is added to them.
    void Meet();
    at::Tensor Next(const at::Tensor& logits);
    void Choose(const at::Tensor& actions);  // [rows], of that item
    // Of all items, [rows, items, devices]; undefined where it is off.
    at::Tensor Delays() const;

   private:
    UnitIndex NextUnit() const { return units_->order[static_cast<std::size_t>(item_)]; }
    at::Tensor DelaysOfUnit();
    at::Tensor DelaysOfGroup() const;

    const at::Tensor weight_;                                // [rows, items]
    const Units* units_;                                     // null where groups are placed
    std::vector<UnitSchedule> schedules_;                    // of units, by row
    std::vector<std::vector<UnitSchedule::Offer>> offered_;  // by row, to the next unit
    at::Tensor work_, load_;  // of groups, [rows, groups, devices] and [rows, devices]
    Tensors delays_;          // by item
    std::int64_t item_ = 0;
  };

 private:
  Tensors parameters_;  // [width], [1]
};

}  // namespace stowplan::agents::rl
