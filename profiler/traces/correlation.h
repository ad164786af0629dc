// What belongs to what in a trace: device work to the call that launched it, both to the op that the program
// was in, and the idle time between the records of a stream with its cause.
//
// Pure and deterministic; records may stand in any order. Run it on what the sanitiser returns.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "profiler/traces/records.h"

namespace stowplan::profiler {

// One kernel, copy or memset by its place in the trace.
struct WorkRef {
  enum class List : std::uint8_t { kKernels, kCopies, kMemsets } list = List::kKernels;
  std::size_t index = 0;
  bool operator==(const WorkRef&) const = default;
};
const DeviceWork& WorkAt(const ActivityTrace& trace, WorkRef ref);
// All of them by start, end, list and index.
std::vector<WorkRef> WorkByStart(const ActivityTrace& trace);

// Names of CUDA calls come with versions and variants around what tells them apart.
inline bool NameContains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// Calls that put one kernel into a queue, and those that put in a whole CUDA graph: of the runtime and of the
// driver, in all their spellings.
bool IsKernelLaunch(std::string_view call);
bool IsGraphLaunch(std::string_view call);

inline constexpr std::ptrdiff_t kNobody = -1;

struct LinkedWork {
  WorkRef work;
  std::ptrdiff_t call = kNobody;  // index into calls
  std::ptrdiff_t op = kNobody;    // index into markers
  // Its duration without what its predecessor on the stream ran on beside it (programmatic dependent launch); of nodes of
  // CUDA graphs, which may run side by side, all of it.
  Nanos device_time = 0;
};

// Idle time of a stream before a piece of work. If the stream was empty when the host launched, the host is the cause
// and `launch_delay` counts; else it is the device's own gap from kernel to kernel.
struct Gap {
  enum class Cause : std::uint8_t { kUnknown, kHost, kDevice } cause = Cause::kUnknown;
  Nanos length = 0;
  Nanos launch_delay = 0;  // of kHost: from the start of the call to the start of the work
  bool operator==(const Gap&) const = default;
};

struct Correlation {
  std::vector<LinkedWork> work;  // as WorkByStart()
  std::vector<Gap> gaps;         // those above 0, by the start of what follows
};

// An op is found through its external id; where nothing refers to the call by one, it is the innermost op
// around the call's start on the same thread.
Correlation Correlate(const ActivityTrace& trace);

}  // namespace stowplan::profiler
