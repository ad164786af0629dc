// stowplan.validation: whole steps of one graph as they were measured under several placements, for scoring at any
// time (docs/formats.md). Written by `stowplan validate --record` and by `stowplan-profile graph`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/executor.h"
#include "sim/cluster.h"
#include "sim/hardware.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::profiler {

struct MeasuredPlacement {
  std::string family;  // how it was found: "one device", "blocks", "few cuts", "random", "searched", …
  sim::Placement placement;
  // Undisturbed ones, or all where there are too few (see `undisturbed`), in the order in which they were measured.
  std::vector<double> steps_us;
  int undisturbed = 0;  // steps during which no device lost its core
  int run = 0;          // steps in all, without warm-up
  // By device, of the undisturbed steps: median, least and most.
  std::vector<sim::Bytes> peak_bytes, least_peak_bytes, most_peak_bytes;
  std::optional<sim::OutOfMemory> oom;  // it did not fit: no steps, peaks up to there; without time
  bool exhausted = false;               // `oom` is the machine's, which had no more, whatever the limit
  std::optional<ExecutedStep> traced;   // a step of its own
};

// Where a recording comes from.
struct StepOrigin {
  std::string machine;  // "AMD EPYC 9B45, 2 cores"
  std::string date;     // UTC, "2026-11-21T00:12:33Z"
  std::string commit;   // that the recorder was built from
  bool dirty = false;   // from a tree with changes that are in no commit
  std::string command;
  sim::Attributes software;  // libraries and drivers with their versions; may be empty
  bool operator==(const StepOrigin&) const = default;
};

// What the device's clocks were (Backend::Clocks) before this placement, by its number in the recording.
struct ClocksReading {
  int before = 0;
  sim::Attribute clocks;
  bool operator==(const ClocksReading&) const = default;
};

struct StepRecording {
  std::string workload;  // a name of `stowplan list workloads`, or a graph file
  StepOrigin origin;
  double load_before = 0, load_after = 0;  // the machine's load average over one minute
  int wanted_steps = 0;                    // of each placement, undisturbed
  std::int64_t pace_ns = 0;                // that they were measured at (Pace); 0 = not told
  std::string cluster;                     // stowplan.cluster, with everything that was measured of it
  std::vector<std::string> stand_ins;      // op types that a stand-in ran
  sim::Attributes execution;               // Executor::facts()
  std::vector<ClocksReading> clocks;       // of the accelerator, in the order they were taken
  std::vector<MeasuredPlacement> placements;
};

// Placements are checked against the graph that `load` makes of the workload's name, and against the cluster, whose
// kinds are the catalogue's. Throws InputError as all readers do.
using LoadWorkload = std::function<sim::OpGraph(const std::string& workload)>;
StepRecording ReadStepRecording(const std::string& path, const LoadWorkload& load,
                                const sim::HardwareCatalogue& catalogue);
StepRecording ParseStepRecording(std::string_view json, const std::string& source, const LoadWorkload& load,
                                 const sim::HardwareCatalogue& catalogue);  // source: what messages call it
// Version 2. Version 1 is read, too: there the least and the most peak may be left out, and are the peak then.
std::string PrintStepRecording(const StepRecording& recording);

// The first placement that has a traced step; -1 = none.
int TracedPlacement(const StepRecording& recording);

// How the steps of a placement are measured.
struct StepPlan {
  int warm_up = 10;
  int steps = 30;      // undisturbed ones that are wanted
  int at_most = 1000;  // in all
  double seconds = 0;  // for all of them; 10 are run whatever they take; 0 = any
  int pause_us = 0;    // asleep before each step
  int traced = 0;      // traced steps, of which the middle one is kept
  Pace pace = {};
};

struct FamilyPlacement {
  std::string family;
  sim::Placement placement;
};

// One checked step, then those that count. A placement that runs out of memory is a result. Throws RunError where an op
// writes a number that is not finite, and where the device fails.
MeasuredPlacement MeasurePlacement(Executor& executor, const sim::OpGraph& graph,
                                   const FamilyPlacement& which, const StepPlan& plan);
// The middle one of plan.traced steps; empty where it runs out of memory.
std::optional<ExecutedStep> TraceStep(Executor& executor, const sim::Placement& placement,
                                      const StepPlan& plan);

// Fewer undisturbed steps than these, and the disturbed ones count, too.
inline constexpr int kFewSteps = 10;
// What is kept of measured steps, none of which ran out of memory: times and peaks are those of the undisturbed
// ones, or of all where fewer than kFewSteps (and fewer than were wanted) are.
void Summarise(const std::vector<ExecutedStep>& steps, int wanted, MeasuredPlacement* into);
double SteadySeconds();  // from any start
// Seconds from when it is made.
class TimeBudget {
 public:
  using Clock = std::function<double()>;
  explicit TimeBudget(double seconds, Clock clock = SteadySeconds)
      : clock_(std::move(clock)), end_(clock_() + seconds) {}
  bool Spent() const { return clock_() >= end_; }

 private:
  Clock clock_;
  double end_;
};

// Placements of which too few steps of those `wanted` were undisturbed are measured again, up to twice, when what
// disturbed them may be over; not where that is all of them: then it is the workload itself. measure: by number; nothing
// ends it all.
using MeasureAgain = std::function<std::optional<MeasuredPlacement>(std::size_t number)>;
void MeasureDisturbedAgain(const MeasureAgain& measure, int wanted,
                           std::vector<MeasuredPlacement>* placements);
// The traced step in the middle of those that were not disturbed, or of all where none was.
ExecutedStep MiddleStep(std::vector<ExecutedStep> steps);
// Types of the ops that a stand-in runs, sorted, each once.
std::vector<std::string> TypesOf(const sim::OpGraph& graph, const std::vector<sim::OpIndex>& ops);

}  // namespace stowplan::profiler
