// What the list schedulers (heft, m_etf, m_sct) have in common: what an op waits for, how long it occupies a
// device, which unit goes along with which, and what a device has left in memory.
//
// They go through the ops in an order of their own and give each a device when its turn comes:
//  - a unit goes where its first op goes;
//  - variables, constants and placeholders go with their first consumer, with all of their unit;
//  - memory: a unit takes its persistent bytes, and a share of the outputs of its ops, from when it is assigned
//    to the end. What comes and goes meanwhile is the searcher's to count.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "agents/bounds/device_classes.h"
#include "agents/evaluator.h"
#include "agents/task.h"

namespace stowplan::agents {

// One output that an op reads, or an op that it waits for.
struct Dependency {
  sim::OpIndex producer;
  std::int32_t output;  // -1 = control
  sim::Bytes bytes;
};

class ListSchedule {
 public:
  // `devices`: those of the task that are placed on. Keeps a reference to the task.
  ListSchedule(const Task& task, std::vector<sim::DeviceIndex> devices);

  const Task& task() const { return task_; }
  const std::vector<sim::DeviceIndex>& devices() const { return devices_; }
  // Each output once, ascending by producer and output.
  const std::vector<Dependency>& DependenciesOf(sim::OpIndex op) const {
    return dependencies_[static_cast<std::size_t>(op)];
  }
  UnitIndex UnitOf(sim::OpIndex op) const { return task_.units.unit_of_op[static_cast<std::size_t>(op)]; }

  // What the op takes of a device's time: its cost or, where that is longer, its dispatch.
  sim::Picos Length(sim::OpIndex op, sim::DeviceIndex d) const;
  sim::Picos MeanLength(sim::OpIndex op) const;
  // Over all ordered pairs of different devices; 0 where there is one.
  sim::Picos MeanTransfer(sim::Bytes bytes);

  // Forgets all assignments. `share` of a unit's outputs counts as memory from its assignment on, below zero
  // nothing does; `reserve` of each device's capacity is left free.
  void Start(double share, double reserve = 0);

  sim::DeviceIndex DeviceOf(UnitIndex unit) const { return unit_device_[static_cast<std::size_t>(unit)]; }
  // What a device must have left to take the unit of the op and the sources that would come along.
  sim::Bytes NeededWithSources(sim::OpIndex op) const;
  bool HasRoom(sim::DeviceIndex d, sim::Bytes needed) const {
    return share_ < 0 || free_bytes_[static_cast<std::size_t>(d)] >= needed;
  }
  sim::DeviceIndex Roomiest() const;
  // Bytes that the searcher counts itself; negative ones come back.
  void Take(sim::DeviceIndex d, sim::Bytes bytes) { free_bytes_[static_cast<std::size_t>(d)] -= bytes; }

  // The unit must have no device yet.
  void Assign(UnitIndex unit, sim::DeviceIndex d);
  // The sources that the op reads and that have no device yet come to the op's, each with its unit. Returns
  // those units.
  std::vector<UnitIndex> BringSources(sim::OpIndex op);
  // Units that nobody reads go where most room is left.
  UnitPlacement Finish();

 private:
  sim::Bytes Needed(UnitIndex unit) const;

  const Task& task_;
  const std::vector<sim::DeviceIndex> devices_;
  const RouteKinds routes_;
  std::vector<std::vector<Dependency>> dependencies_;
  std::unordered_map<sim::Bytes, sim::Picos> mean_transfer_;
  double share_ = 0;
  UnitPlacement unit_device_;  // -1 = not yet
  std::vector<sim::Bytes> free_bytes_;
};

// Evaluates what `place` returns, told how cautious to be with memory: 0 at first and, while the placement does
// not fit, 1/4, 1/2, 3/4 and 1; one sample each. limited = false: once, with -1.
void PlaceWithinMemory(Evaluator& evaluator, bool limited,
                       const std::function<UnitPlacement(double caution)>& place);

}  // namespace stowplan::agents
