// CUPTI's activity records as plain records. The one class that touches CUPTI; nothing of it shows here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "profiler/traces/records.h"

namespace stowplan::profiler::cuda {

// Records kernels, copies, fills, memory, runtime and driver calls, external correlation, synchronisation, markers
// and the recorder's own overhead of this process, from Start() to Stop(). One at a time in a process.
//
// A kind that cannot be switched on (no permission, an old driver) is named in ActivityTrace::refused with
// CUPTI's reason; Start() throws Unavailable only where none can be. Buffers, records that CUPTI dropped and
// damaged ends of buffers are counted. Kernels have their plain names, times begin just above 0 of each trace.
class CuptiActivity {
 public:
  // Takes what a buffer held once it is full or flushed, by one thread at a time, which may be CUPTI's own. Must not throw.
  using Sink = std::function<void(ActivityTrace)>;
  // most_buffer_bytes: of the buffers that CUPTI has at once; what comes while it has them all is dropped and counted.
  explicit CuptiActivity(std::int64_t most_buffer_bytes = INT64_MAX, Sink sink = {});
  ~CuptiActivity();
  CuptiActivity(const CuptiActivity&) = delete;
  CuptiActivity& operator=(const CuptiActivity&) = delete;

  void Start();
  void Pause();  // what is on its way still comes
  void Flush();  // gives the sink what is complete
  // Pauses, waits for the device's records and returns what came since Start() and the sink was not given.
  ActivityTrace Stop();

  static std::string Version();
  static void* Library();  // as dlopen() gives it; null where it cannot be told

  // Ranges of which one end was seen, by CUPTI's id.
  using OpenRanges = std::unordered_map<std::uint32_t, Marker>;
  // Adds the records of one buffer, in any order; times as CUPTI gives them. A record that does not end within
  // `bytes` counts as cut. `ranges` goes from buffer to buffer.
  static void Decode(std::uint8_t* buffer, std::size_t bytes, ActivityTrace& trace, OpenRanges& ranges);
  // Those that were never closed, each without its other end.
  static void AddOpen(ActivityTrace& trace, OpenRanges& ranges);

 private:
  std::atomic<bool> recording_ = false;
};

}  // namespace stowplan::profiler::cuda
