// Runs a stowplan graph for real under a placement: ops on the devices that the placement says,
// tensors copied between them, memory counted and capped. What `stowplan validate` measures.
//
// It is no training framework: tensors hold small finite numbers, every op does the arithmetic and moves the
// bytes that its type and shapes say, and nothing is learned. An op whose type or shapes it does not know is
// replaced by a stand-in (stand_ins()), which multiplies matrices of as many FLOPs and moves as many bytes.
//
// The rules are those of docs/model.md, but for what hardware decides:
//  - sources (variables, constants, placeholders) are there before the step starts;
//  - a device is a pinned thread, which issues an op when its inputs are there, in the order of becoming
//    issuable (or by the placement's priority or order), runs it, and takes the next;
//  - a transfer is a memory copy by the receiving device's thread, between two of its ops, before the next op
//    is taken. Of several that wait the one that was queued first goes first;
//  - memory is requested, rounded and freed as in section 5, that of a copy when its way is free, and what it holds
//    at its source is released when it ends, whatever the devices do meanwhile; blocks come from a pool that keeps
//    them, so that no page is touched for the first time in a measured step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/outcome.h"
#include "sim/placement.h"

namespace stowplan::profiler {

// Times of one step, from its start [ns].
struct OpSpan {
  sim::OpIndex op = -1;
  sim::DeviceIndex device = -1;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  // Of an accelerator: the part of the span, from its start, during which the host was still enqueuing the op. The
  // device may have waited for that: 0 where the host was ahead, or the device is a CPU.
  std::int64_t enqueuing_ns = 0;
};
struct CopySpan {
  sim::TensorRef tensor;  // output = -1 for a control dependency
  sim::DeviceIndex from = -1;
  sim::DeviceIndex to = -1;
  sim::Bytes bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct ExecutedStep {
  std::int64_t ns = 0;                  // from the common start to the end of the last op or copy
  bool disturbed = false;               // a device lost its core, or was not at the pace that was asked for
  std::vector<sim::Bytes> peak;         // by device
  std::optional<sim::OutOfMemory> oom;  // the step was given up there; `time` is not set
  bool exhausted = false;        // `oom` is the machine's, which had no more, not that of a counted limit
  std::vector<OpSpan> ops;       // traced steps only, by device, in the order they ran; no sources
  std::vector<CopySpan> copies;  // traced steps only, by receiver, in the order they ran
  sim::OpIndex not_finite = -1;  // checked steps only: the first op seen to write a NaN or an infinity
};

// The pace that measurements are to be taken at (profiler/cpu/pace.h).
struct Pace {
  std::int64_t ns = 0;  // 0: any

  // Whether one is within a third of it: what the clock does before and after wide instructions, and a device that was
  // idle, makes up to a quarter; a neighbour makes half or more.
  bool Holds(std::int64_t measured) const {
    const std::int64_t away = measured > ns ? measured - ns : ns - measured;
    return ns == 0 || away * 3 <= ns;
  }
};

struct ExecuteOptions {
  int warm_up = 10;      // steps before the first that is returned
  int steps = 30;        // undisturbed ones that are wanted
  int at_most = 30;      // steps in all, disturbed ones included; those are returned, too
  int pause_us = 0;      // asleep before each step: on a busy machine one who slept is let run for a while
  Pace pace = {};        // of all devices, before a step and after it; where the executor can tell
  bool traced = false;   // costs two readings of the clock for each op and copy
  bool checked = false;  // look at every number that an op writes
};

// Not thread-safe. Keeps references: graph and cluster must outlive it.
class Executor {
 public:
  virtual ~Executor() = default;

  // The placement must satisfy CheckPlacement(). Steps come in the order they ran; after one that ran out of
  // memory there is no other. Throws RunError where a device fails; other placements may be tried afterwards.
  virtual std::vector<ExecutedStep> Run(const sim::Placement& placement, const ExecuteOptions& options) = 0;

  // Ops that a stand-in runs, ascending.
  virtual const std::vector<sim::OpIndex>& stand_ins() const = 0;
  // What a recording should say of how ops are run: why there are stand-ins, which algorithms libraries chose.
  virtual const sim::Attributes& facts() const = 0;
};

// Where an executor runs: the cores of each device's thread, by device. CPUs have as many as one another, and an op
// on one uses them all.
using CoresByDevice = std::vector<std::vector<int>>;

}  // namespace stowplan::profiler
