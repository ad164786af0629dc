// Holds a trace against the faults that recorders are known to have
// (docs/profiling.md#known-faults-of-traces) before anybody uses it.
//
// Device records that cannot be true are left out and counted; nothing is invented or moved. What would lose
// too much, or has lost what nobody can count, is refused with one sentence. Durations of what is left can be
// trusted; sums over a whole step lack what was left out, which is why there is a limit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiler/traces/records.h"

namespace stowplan::profiler {

enum class Fault : std::uint8_t {
  kZeroStamp,           // the device ran out of buffers: start or end is 0
  kForeignClock,        // the time is not of this run: the recorder's clock was registered again
  kCorruptDuration,     // ends before it starts, or covers what came after it on its stream
  kOverlap,             // runs into its successor on a stream, where only one thing runs at a time
  kBeforeLaunch,        // starts before the call that launched it: kept, but its launch delay means nothing
  kLostRecords,         // dropped or cut by the recorder, launches without work, work without a launch
  kHiddenGraph,         // a CUDA graph was launched and its nodes were not recorded
  kGraphNodes,          // work of CUDA graphs, which has no launch of its own: no fault, but must be known
  kNoDevice,            // calls, but no record of any device: no permission, or tracing was off
  kHostClock,           // a call, marker or wait that ends before it starts or has no stamp
  kNoSynchronisations,  // the program waited, but waits were not recorded
  kEmpty,               // no record at all
};
inline constexpr int kFaults = 12;
std::string_view ToString(Fault fault);  // "zero stamp"

struct Finding {
  Fault fault = Fault::kZeroStamp;
  std::int64_t count = 0;     // records that have it
  std::int64_t left_out = 0;  // of them, those that are no longer in the trace
  std::string sentence;       // "3 device records have no time stamp (first: kernel gemm of stream 7)"
};

struct SanitiserLimits {
  double most_left_out = 0.05;        // share of the device records that may be lost or left out
  double most_before_launch = 0.05;   // share of the device records with a known launch
  Nanos overlap = 2'000;              // [ns] neighbours of a stream may overlap by the clock's resolution
  Nanos clock_slack = 1'000'000'000;  // [ns] device work may lie this far outside of what the host recorded
};

struct SanitisedTrace {
  enum class Verdict : std::uint8_t { kUsable, kRepaired, kRefused } verdict = Verdict::kUsable;
  std::string sentence;           // the verdict with its reason and counts
  std::vector<Finding> findings;  // in the order of Fault; empty where there is nothing to say
  ActivityTrace trace;            // what is left; of a refused trace too, for looking at

  const Finding* Find(Fault fault) const;  // null if absent
};
SanitisedTrace Sanitise(ActivityTrace trace, const SanitiserLimits& limits = {});

}  // namespace stowplan::profiler
