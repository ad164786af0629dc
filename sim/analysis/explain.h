// Why a run takes as long as it does: the critical path through ops, transfers and dispatch, idle time by
// cause, and what fills a device at its peak. Reads a recorded outcome; runs nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/simulator.h"

namespace stowplan::sim {

// One segment of the critical path. The segments follow one another without a gap from 0 to the end of the
// run.
struct CriticalStep {
  enum class Kind : std::uint8_t {
    kOp,        // index = op
    kTransfer,  // index = position in Outcome::transfers
    kDispatch,  // a host thread issues; index = op
    kWait,  // a fixed gap (published rules), or an order that was asked for; index = the op or transfer that
            // waits
    kCollective,  // index = op, the member that was ready last
  };
  Kind kind = Kind::kOp;
  std::int32_t index = 0;
  Picos start = 0;
  Picos end = 0;
};

// Time in which no op runs on a device, by what its next op waits for. The parts add up to runtime - busy.
struct IdleTime {
  Picos upstream = 0;    // producers elsewhere have not ended
  Picos queued = 0;      // the tensor waits for an engine or a link
  Picos transfer = 0;    // the tensor is on its way
  Picos collective = 0;  // a collective whose result it reads runs, or the last of the device
  Picos dispatch = 0;    // everything is there, but the op has not been issued
  Picos finished = 0;    // no op is left for this device
};

struct PeakItem {
  OpIndex op = 0;  // who made it; for copies, the producer
  OutOfMemory::What what = OutOfMemory::What::kOutput;
  Bytes bytes = 0;
};

struct Explanation {
  std::vector<CriticalStep> critical_path;  // ascending in time
  std::vector<IdleTime> idle;               // by device
  std::vector<Picos> peak_time;             // by device: when the peak was first reached
  std::vector<std::vector<PeakItem>> peak;  // by device, largest first
};

// `outcome` must have been recorded with RunOptions::Record::kTimeline.
Explanation Explain(const Problem& problem, const Placement& placement, const Outcome& outcome);

}  // namespace stowplan::sim
