// CUPTI's activity records as plain records. The one class that touches CUPTI; nothing of it shows here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "profiler/traces/records.h"

namespace stowplan::profiler::cuda {

// Records kernels, copies, fills, memory, runtime and driver calls, external correlation, synchronisation, markers
// and the recorder's own overhead of this process, from Start() to Stop(). One at a time in a process.
//
// A kind that cannot be switched on (no permission, an old driver) is named in ActivityTrace::refused with
// CUPTI's reason; Start() throws Unavailable only where none can be. Buffers, records that CUPTI dropped and
// damaged ends of buffers are counted.
class CuptiActivity {
 public:
  CuptiActivity();
  ~CuptiActivity();
  CuptiActivity(const CuptiActivity&) = delete;
  CuptiActivity& operator=(const CuptiActivity&) = delete;

  void Start();
  // Waits for the device's records and returns what came since Start(); times begin just above 0.
  ActivityTrace Stop();

  static std::string Version();
  static void* Library();  // as dlopen() gives it; null where it cannot be told

  // Places in ActivityTrace::markers of ranges of which one end was seen, by CUPTI's id.
  using OpenRanges = std::unordered_map<std::uint32_t, std::size_t>;
  // Adds the records of one buffer, in any order; times as CUPTI gives them. A record that does not end within
  // `bytes` counts as cut. `ranges` goes from buffer to buffer.
  static void Decode(std::uint8_t* buffer, std::size_t bytes, ActivityTrace& trace, OpenRanges& ranges);

 private:
  bool recording_ = false;
};

}  // namespace stowplan::profiler::cuda
