// What lets a network see what its earlier choices left for the unit that it places next (docs/protocol.md#offers; ours, in
// no published one-shot agent; DOPPLER's policies read such schedules): a list schedule of the units before says how much
// later the unit would end on each device than on the best one, and a weight, read from the unit itself, is taken off the
// logits of devices that are late.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agents/rl/tensors.h"
#include "agents/unit_schedule.h"

namespace berth::agents::rl {

// By device how late the unit would end there: x / (x + its length there), x later than on the best one; in [0, 1).
std::vector<double> DelaysOf(const UnitScheduleGraph& graph, UnitIndex unit,
                             const std::vector<UnitSchedule::Offer>& offers);

class Offers {
 public:
  // A fresh policy reads nothing from them. Units are described by `width` numbers.
  Offers(bool on, std::int64_t width, at::ScalarType type);

  bool on() const { return !parameters_.empty(); }
  const Tensors& parameters() const { return parameters_; }

  // The units of a task, in a topological order of UnitGraph.
  struct Units {
    std::vector<UnitIndex> order;
    std::optional<UnitScheduleGraph> graph;  // where it is on: as large as edges times devices times devices
  };
  Units UnitsOf(const Task& task, std::vector<UnitIndex> order) const;
  // Which unit minds being late how much; keeps a reference to the units.
  struct Haste {
    at::Tensor weight = {};  // [units]; undefined where it is off
    const Units* units = nullptr;
  };
  // `described` [units, width].
  Haste Read(const at::Tensor& described, const Units* units) const;

  // What is added to logits where drawn actions met `delays`, both [rows, units, devices]; 0 where it is off.
  static at::Tensor Added(const Haste& haste, const at::Tensor& delays);

  // The same while actions are being drawn, unit by unit.
  class Walk {
   public:
    Walk(const Haste& haste, std::int64_t rows);
    // `logits` [rows, devices] of the next unit and what is added to them.
    at::Tensor Next(const at::Tensor& logits);
    void Choose(const at::Tensor& actions);  // [rows], of that unit
    // Of all units, [rows, units, devices]; undefined where it is off.
    at::Tensor Delays() const;

   private:
    at::Tensor NextDelays();

    const Haste& haste_;
    std::vector<UnitSchedule> schedules_;                    // by row
    std::vector<std::vector<UnitSchedule::Offer>> offered_;  // by row, to the next unit
    Tensors delays_;                                         // by unit
    std::int64_t item_ = 0;
  };

 private:
  Tensors parameters_;  // [width], [1]
};

}  // namespace berth::agents::rl
