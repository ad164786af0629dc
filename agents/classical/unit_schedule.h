// List schedules of whole units, built step by step: which units are ready, and what each device would offer one of
// them. They cost no sample: links are taken as idle, memory is not watched, a unit runs in one piece, and what a
// training step does on its way back counts where its forward part runs (unit_graph.h).
//
// Slots are indices into Task::devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agents/bounds/device_classes.h"
#include "agents/task.h"

namespace stowplan::agents {

// What the schedules of one task share. Immutable.
class UnitScheduleGraph {
 public:
  explicit UnitScheduleGraph(const Task& task);

  UnitIndex units() const { return static_cast<UnitIndex>(inputs_.size()); }
  std::size_t slots() const { return slots_; }

  struct Input {
    UnitIndex unit;
    sim::Bytes bytes;  // both ways together; 0 = control dependencies alone
    sim::Picos mean_transfer;
    std::size_t transfers;  // where those of this input start, by kind of route
  };
  const std::vector<Input>& InputsOf(UnitIndex unit) const { return inputs_[Index(unit)]; }
  const std::vector<UnitIndex>& ReadersOf(UnitIndex unit) const { return readers_[Index(unit)]; }
  // The unit from which most bytes come, the first of equals; -1 = it reads nothing.
  UnitIndex HeaviestInputOf(UnitIndex unit) const { return heaviest_[Index(unit)]; }

  sim::Picos Length(UnitIndex unit, std::size_t slot) const { return length_[Index(unit) * slots_ + slot]; }
  sim::Picos MeanLength(UnitIndex unit) const { return mean_length_[Index(unit)]; }
  sim::Picos Transfer(const Input& input, std::size_t from, std::size_t to) const {
    return from == to ? 0 : transfers_[input.transfers + static_cast<std::size_t>(routes_.Of(from, to))];
  }

  // Lengths and transfers along the longest path from the unit's start to the end, and from the beginning to its end,
  // with means over the slots and over their ordered pairs.
  struct Level {
    sim::Picos length;
    UnitIndex next;  // the other unit on that path; -1 = it ends here
  };
  const Level& Bottom(UnitIndex unit) const { return bottom_[Index(unit)]; }
  const Level& Top(UnitIndex unit) const { return top_[Index(unit)]; }
  // By falling bottom level, then by index; and the place of a unit in it.
  const std::vector<UnitIndex>& by_bottom() const { return by_bottom_; }
  std::int32_t PlaceByBottom(UnitIndex unit) const { return place_[Index(unit)]; }

 private:
  static std::size_t Index(UnitIndex unit) { return static_cast<std::size_t>(unit); }
  void FindLevels(const std::vector<UnitIndex>& order);

  RouteKinds routes_;
  std::size_t slots_;
  std::vector<std::vector<Input>> inputs_;
  std::vector<std::vector<UnitIndex>> readers_;
  std::vector<UnitIndex> heaviest_;
  std::vector<sim::Picos> length_, mean_length_, transfers_;
  std::vector<Level> bottom_, top_;
  std::vector<UnitIndex> by_bottom_;
  std::vector<std::int32_t> place_;
};

// One schedule in the making. Keeps a reference to the graph.
class UnitSchedule {
 public:
  explicit UnitSchedule(const UnitScheduleGraph& graph);

  bool done() const { return ready_.empty(); }
  // At most `most` of the units whose inputs are all scheduled, those with the longest bottom levels, in that order.
  std::vector<UnitIndex> Ready(std::size_t most) const;

  struct Offer {
    sim::Picos work = 0;         // lengths of what is on the device
    std::int64_t inputs = 0;     // of the unit that are there
    sim::Picos input_work = 0;   // their lengths
    sim::Picos first_start = 0;  // of those inputs; 0 = none is there
    sim::Picos last_end = 0;
    sim::Picos start = 0;  // when its inputs have arrived and the device is free
    sim::Picos end = 0;
    double input_part = 0;  // of the bytes of all its inputs
    bool heaviest = false;  // whether the heaviest of them is there
  };
  // By slot; `unit` must be ready.
  std::vector<Offer> OffersFor(UnitIndex unit) const;
  // The unit runs as offered.
  void Place(UnitIndex unit, std::size_t slot, const Offer& offer);

  sim::Picos makespan() const { return makespan_; }

 private:
  static std::size_t Index(UnitIndex unit) { return static_cast<std::size_t>(unit); }

  struct Run {
    std::size_t slot;
    sim::Picos start, end;
  };
  const UnitScheduleGraph& graph_;
  std::vector<std::int32_t> ready_;  // places by bottom level, ascending
  std::vector<std::int32_t> missing_;
  std::vector<Run> runs_;
  std::vector<sim::Picos> work_, free_;  // by slot
  sim::Picos makespan_ = 0;
};

// The critical-path heuristic: the ready unit with the longest bottom level, on the slot where it ends first; the first
// of equals. Slots by unit.
std::vector<std::size_t> ScheduleByCriticalPath(const UnitScheduleGraph& graph);

}  // namespace stowplan::agents
