// A quick estimate of what a placement takes, to choose which placement to sample next: a screen, never an answer.
//
// One pass over the graph in topological order, the order of issue on every device:
//  - a device runs one op at a time, each once it is issued, its inputs are there and the device is free; issuing costs
//    the device's own host thread DispatchCost(), one op after another;
//  - a tensor is sent once to each device that reads it, when it is ready; a transfer has each link of its route, in
//    its direction, for itself until it is through (rules published: the sender's channel);
//  - storage lives from the start of its op to the last op of the order that reads it, a copy from when it is sent.
// Left out: shared bandwidth, streams, copy engines, one host thread for all devices, priorities.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/objective.h"
#include "agents/task.h"

namespace berth::agents {

class ScheduleEstimate {
 public:
  explicit ScheduleEstimate(const Task& task);  // keeps a reference

  // Reuses scratch memory: one object per thread.
  Objective Of(const UnitPlacement& placement);

  // Told the peaks [B, by device] of a placement that was simulated: from then on estimated peaks are scaled by what
  // they fell short of them, so that what does not fit is not preferred again.
  void CorrectPeaks(const UnitPlacement& placement, const std::vector<sim::Bytes>& peak);

 private:
  struct Op {  // at its position in the topological order
    std::int32_t unit;
    std::int32_t first_input, last_input;    // in inputs_
    std::int32_t first_output, last_output;  // in outputs_
    std::int32_t first_dead, last_dead;      // in dead_: storage that nothing reads behind this op
    sim::Bytes persistent, workspace;
  };
  struct Input {
    std::int32_t op;      // position of the producer
    std::int32_t output;  // in outputs_; -1 = control
  };
  struct Output {
    sim::Bytes bytes;  // of a copy
    sim::Bytes own;    // of storage where it is made
  };
  struct Route {
    double picos_per_byte = 0;
    sim::Picos latency = 0;
    std::vector<std::size_t> lanes;  // directions of links, each taken by one transfer at a time
  };

  void AddOp(sim::OpIndex index, std::vector<std::int32_t>& position,
             std::vector<std::int32_t>& first_output);
  void FindDeaths();
  Route MakeRoute(sim::DeviceIndex from, sim::DeviceIndex to) const;
  sim::Picos Arrival(const Input& input, std::size_t from, std::size_t to);
  void Release(const Op& op);

  const Task& task_;
  std::size_t devices_;
  std::vector<Op> ops_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<std::int32_t> dead_;
  std::vector<sim::Picos> cost_;      // [position * devices + device]
  std::vector<sim::Picos> dispatch_;  // same shape
  std::vector<Route> routes_;         // [from * devices + to]
  std::vector<double> peak_scale_;    // by device

  // Of the run under way.
  std::vector<sim::Picos> end_;          // by position
  std::vector<sim::Picos> issued_;       // by device
  std::vector<sim::Picos> free_;         // by device
  std::vector<sim::Picos> lane_free_;    // by lane
  std::vector<sim::Picos> arrival_;      // [output * devices + device]; kAbsent, kMadeHere
  std::vector<sim::Bytes> live_, peak_;  // by device
};

}  // namespace berth::agents
