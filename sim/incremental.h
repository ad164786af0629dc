// Re-evaluation after a small change: a base placement is run once, then placements that differ from it in a
// few ops cost little more than the segment of the timeline that the difference disturbs.
//
// A sequential agent that decides ops in topological order forks the shared prefix with it: Base() with what
// is decided so far and anything for the rest, RunTrial() each device for the next op, Commit() the chosen one. All
// trials share the timeline before the op can matter.
#pragma once

#include <memory>
#include <span>

#include "sim/simulator.h"

namespace berth::sim {

struct Move {
  OpIndex op = 0;
  DeviceIndex device = 0;
};

// One per thread, like Simulator. What every implementation guarantees:
//  - The outcome of RunTrial() is that of Simulator::Run() on the moved placement with the same options, bit for
//    bit: runtime, verdict, peaks, busy times, links, what is recorded, and where a run is given up at a
//    cutoff. How it came about shows in nothing but the time it takes.
//  - RunTrial() leaves the base as it was. What Base() and RunTrial() return is valid until the next call.
//  - A trial is an evaluation like any other: who counts evaluations counts it.
class IncrementalSimulator {
 public:
  virtual ~IncrementalSimulator() = default;

  // Makes the placement the base and runs it; it must satisfy CheckPlacement().
  virtual const Outcome& Base(const Placement& placement) = 0;

  // The base with these ops on these devices; the moved placement must satisfy CheckPlacement(), so a
  // colocation set moves as one. Of several moves of one op the last counts; a move to where the op is
  // changes nothing. Aborts before the first Base().
  virtual const Outcome& RunTrial(std::span<const Move> moves, const RunOptions& options = {}) = 0;

  // The placement of the last RunTrial() becomes the base. Aborts if there was none since the base was made.
  virtual void Commit() = 0;

  virtual const Placement& base() const = 0;

  // False if every trial runs from scratch: then a base is not worth making.
  virtual bool replays() const = 0;
};

// The one for the cluster's rules: `published` replays what the moves disturb (published_incremental.h); `native`
// skips what they do not (native/incremental.h).
std::unique_ptr<IncrementalSimulator> MakeIncrementalSimulator(const Problem& problem);

// From scratch every time, under any rules: what the others are compared with.
std::unique_ptr<IncrementalSimulator> MakePlainIncrementalSimulator(const Problem& problem);

}  // namespace berth::sim
