// How a traced step ran: what the host asked for, in the order in which devices began it, with the times that let the rules of
// docs/model.md (sections 2 and 3) give the recorded ones again.
//
// What a device does waits for the host, for what stands before it on its stream, and for what it is told to wait for. Each of
// these has its time where it was the last: the host's is `host_us` of what it issues, a stream's is `cost_us` of what runs
// on it, short gaps between kernels included. Idle time that nothing recorded explains is in `cost_us`, too, and told as gap_us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/traces/correlation.h"

namespace stowplan::scenarios::trace {

inline double Micros(profiler::Nanos nanos) {
  constexpr double kNanosPerMicro = 1e3;
  return static_cast<double>(nanos) / kNanosPerMicro;
}

// One or more pieces of device work of one owner in a row; or, without any, the host waiting for others.
struct Issue {
  std::vector<std::size_t> work;  // of Correlation::work, ascending
  profiler::Nanos start = 0;      // as traced: of the work, or when the host had waited
  std::int32_t stream = 0;        // of those that are used, from 0
  bool host_waits = false;        // the host goes on when it has ended
  double host_us = 0;             // of the host between the issue before, or what it waited for, and this one
  double cost_us = 0;             // of the device
  double gap_us = 0;              // of that, idle time that nothing recorded explains
  std::vector<std::size_t> after;  // the issues that it waits for, ascending
};

struct Timeline {
  std::vector<Issue> issues;
  std::int32_t streams = 0;
  std::int64_t unlaunched = 0;  // pieces of device work whose launch was not recorded
  double step_us = 0;           // from the start of the first to the end of the last
  double gap_us = 0;            // sum of theirs
};

// What the device did, as shares of the step that add up to 1: get_temporal_breakdown() of HolisticTraceAnalysis.
struct StepShares {
  double compute = 0;  // some kernel that computes ran
  double other = 0;    // else some collective, copy or memset
  double idle = 0;
};
StepShares SharesOf(const profiler::ActivityTrace& trace);

// How many streams a device needs to run it: a wait of the host is an op of no time that must not stand behind what runs.
std::int64_t StreamsFor(const Timeline& timeline);

// `owner`: by piece of work, what it is done for; kNobody: for itself alone. The trace has device work, and is what the
// sanitiser returns.
Timeline ReadTimeline(const profiler::ActivityTrace& trace, const profiler::Correlation& correlation,
                      std::span<const std::ptrdiff_t> owner);

}  // namespace stowplan::scenarios::trace
