// What an agent sees: units to place, their features, the devices (docs/protocol_rules.md#what-agents-see).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/settings.h"
#include "sim/simulator.h"

namespace stowplan::agents {

using UnitIndex = std::int32_t;
using UnitPlacement = std::vector<sim::DeviceIndex>;  // by unit

// A partition of the ops into units that are placed as one: hard colocation sets, or a grouper's groups.
// Never splits a colocation set.
struct Units {
  std::string grouper;  // spec that made them
  std::vector<UnitIndex> unit_of_op;
  std::vector<std::vector<sim::OpIndex>> ops;  // by unit, ascending
  UnitIndex size() const { return static_cast<UnitIndex>(ops.size()); }
};

// A group number for each op, in any numbering; ops of one colocation set have one number.
using Grouper = std::vector<std::int32_t> (*)(const Settings& read, const sim::Problem& problem);

struct GrouperRow {
  const char* name;
  const char* what;
  SettingTable settings;
  Grouper group;
};
const std::vector<GrouperRow>& Groupers();
// By a row of Groupers() with parameters; empty = colocation. Throws InputError for unknown ones. Units are numbered by topological
// order of their first op.
Units MakeUnits(const std::string& spec, const sim::Problem& problem);
// What it is told, its name as in Units::grouper among it. Throws InputError for unknown groupers and parameters.
Settings GrouperSettings(const std::string& spec);

// Data that flows between two units, both ways told apart.
struct UnitEdge {
  UnitIndex from = 0;
  UnitIndex to = 0;
  sim::Bytes bytes = 0;  // distinct outputs counted once; 0 = control dependencies alone
};

std::vector<UnitEdge> CollectEdges(const sim::OpGraph& graph, const std::vector<UnitIndex>& unit_of_op);

// Immutable once made; shared by threads.
struct Task {
  const sim::Problem* problem = nullptr;
  Units units;
  std::vector<UnitEdge> edges;  // sorted by (from, to), from != to; acyclic only if the grouper keeps it so
  std::vector<sim::DeviceIndex> devices;  // what the agent may choose from, ascending
  std::vector<sim::Picos> cost;           // [unit * columns + column] of sim::CostTable: sum over its ops
  std::vector<sim::Bytes> persistent;     // by unit
  std::vector<sim::Bytes> output;         // by unit: own storage of its ops' outputs
  // By unit: smallest `stage` and `branch` attributes of its ops, below the number of ops; -1 = none.
  std::vector<std::int32_t> stage;
  std::vector<std::int32_t> branch;
  std::vector<sim::DeviceIndex> expert;  // by op, given by the scenario; empty = none, agents use the rule
  // Runtime of a trivial placement on `devices`: the fastest single GPU that fits, else the expert's (the
  // scenario's, else the rule's), else the fastest single CPU; where none fits, the fastest of them all
  // without memory limit. Positive. It scales rewards and costs no sample: it is computed before the budget
  // opens. The CPU comes last, since its runtime is several times that of anything an
  // agent would keep, and all rewards would be crowded at one end.
  sim::Picos reference_runtime = 1;
  std::string reference;  // whose runtime that is: "gpu0", "expert", "cpu0, which does not fit"

  const sim::Device& device(sim::DeviceIndex d) const {
    return problem->cluster().devices[static_cast<std::size_t>(d)];
  }
  sim::Picos unit_cost(UnitIndex unit, sim::DeviceIndex d) const {
    return cost[problem->costs().IndexOf(unit, d)];
  }
  // Time to move bytes between two devices when nothing else moves [ps]; no transfer between them is ever
  // faster.
  sim::Picos TransferEstimate(sim::Bytes bytes, sim::DeviceIndex from, sim::DeviceIndex to) const;
};

// `devices`: names the agent may choose from; empty = all. Throws InputError for unknown ones, and for a
// `stage` or `branch` of an op that is not a whole number from 0 to below the number of ops.
Task MakeTask(const sim::Problem& problem, const std::string& grouper,
              const std::vector<std::string>& devices = {}, const sim::Placement* expert = nullptr);

// Ops take the device of their unit.
sim::Placement Expand(const Task& task, const UnitPlacement& units);

// A number that tells tasks apart (graph, units, devices, costs, rules, reference runtime): written into
// checkpoints.
std::uint64_t Fingerprint(const Task& task);

// The members of task.devices of one class; may be empty.
std::vector<sim::DeviceIndex> DevicesOf(const Task& task, sim::DeviceClass device_class);
// What partitioners and experts spread a model over: the task's GPUs, or all its devices where there is no
// GPU.
std::vector<sim::DeviceIndex> Accelerators(const Task& task);

}  // namespace stowplan::agents
