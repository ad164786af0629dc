// What a run on real hardware leaves behind, as plain records: no header of CUDA or CUPTI is needed to read,
// check or convert them. What the fields mean is what CUPTI and Kineto mean by them; docs/formats.md has the
// table.
//
// All times are nanoseconds on one clock, that of the trace; `ActivityTrace::base_ns` added to them gives Unix
// time. kNoStamp (0) is what a device writes that ran out of buffers, so collectors keep true times above it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::profiler {

using Nanos = std::int64_t;  // [ns]
inline constexpr Nanos kNoStamp = 0;

// Ids are the recorder's own; 0 = none, but for devices, where -1 = none.
using Id = std::int64_t;

// What every record of work on a device has.
struct DeviceWork {
  Nanos start = kNoStamp;
  Nanos end = kNoStamp;
  std::int32_t device = 0;
  Id context = 0;
  Id stream = 0;
  Id correlation = 0;  // the ApiCall that asked for it; all nodes of a CUDA graph share that of its launch
  Id graph = 0;        // the CUDA graph it is a node of
  Id graph_node = 0;
  bool operator==(const DeviceWork&) const = default;
};

struct KernelRecord : DeviceWork {
  std::string name;
  std::array<std::int32_t, 3> grid{};   // blocks
  std::array<std::int32_t, 3> block{};  // threads
  std::int32_t registers = 0;           // per thread
  sim::Bytes static_shared_bytes = 0;   // per block
  sim::Bytes dynamic_shared_bytes = 0;
  bool operator==(const KernelRecord&) const = default;
};

enum class MemoryKind : std::uint8_t { kUnknown, kPageable, kPinned, kDevice, kArray, kManaged };
inline constexpr std::string_view kMemoryKindNames[] = {"unknown", "pageable", "pinned",
                                                        "device",  "array",    "managed"};

struct Copy : DeviceWork {
  sim::Bytes bytes = 0;
  MemoryKind from = MemoryKind::kUnknown;
  MemoryKind to = MemoryKind::kUnknown;
  std::int32_t from_device = -1;  // of copies between two devices
  std::int32_t to_device = -1;
  bool operator==(const Copy&) const = default;
};

struct Memset : DeviceWork {
  sim::Bytes bytes = 0;
  MemoryKind kind = MemoryKind::kUnknown;
  bool operator==(const Memset&) const = default;
};

// A call of the host into the runtime or the driver: "cudaLaunchKernel", "cuMemcpyAsync".
struct ApiCall {
  std::string name;
  Nanos start = kNoStamp;
  Nanos end = kNoStamp;
  enum class Level : std::uint8_t { kRuntime, kDriver } level = Level::kRuntime;
  Id process = 0;
  Id thread = 0;
  Id correlation = 0;
  bool operator==(const ApiCall&) const = default;
};
inline constexpr std::string_view kApiLevelNames[] = {"runtime", "driver"};

struct MemoryEvent {
  Nanos time = kNoStamp;
  enum class What : std::uint8_t { kAllocate, kFree } what = What::kAllocate;
  MemoryKind kind = MemoryKind::kUnknown;
  std::int32_t device = -1;
  sim::Bytes bytes = 0;  // of the block, in both cases
  Id address = 0;
  Id correlation = 0;
  bool operator==(const MemoryEvent&) const = default;
};
inline constexpr std::string_view kMemoryEventNames[] = {"allocate", "free"};

// The host, or a stream, waiting for the device.
struct Synchronisation {
  Nanos start = kNoStamp;
  Nanos end = kNoStamp;
  enum class What : std::uint8_t { kUnknown, kEvent, kStreamWait, kStream, kContext } what = What::kUnknown;
  Id context = 0;
  Id stream = 0;
  Id event = 0;
  Id correlation = 0;
  bool operator==(const Synchronisation&) const = default;
};
inline constexpr std::string_view kSynchronisationNames[] = {"unknown", "event", "stream_wait", "stream",
                                                             "context"};

// Time that the recorder itself took from the program.
struct Overhead {
  std::string name;
  Nanos start = kNoStamp;
  Nanos end = kNoStamp;
  Id process = 0;
  Id thread = 0;
  bool operator==(const Overhead&) const = default;
};

// "What was called as `correlation` belongs to the op whose marker has this `external` id."
struct ExternalCorrelation {
  Id external = 0;
  Id correlation = 0;
  bool operator==(const ExternalCorrelation&) const = default;
};

// A range that the program itself named: a framework's op, an annotation such as "ProfilerStep#3".
struct Marker {
  std::string name;
  Nanos start = kNoStamp;
  Nanos end = kNoStamp;
  enum class What : std::uint8_t { kOp, kAnnotation } what = What::kOp;
  Id process = 0;
  Id thread = 0;
  Id external = 0;             // 0 = nothing refers to it
  sim::Attributes attributes;  // what else the recorder says: "Input Dims", "Input type"
  bool operator==(const Marker&) const = default;
};
inline constexpr std::string_view kMarkerNames[] = {"op", "annotation"};

struct ActivityTrace {
  std::int64_t base_ns = 0;          // Unix time of the trace's zero; 0 = not known
  std::int64_t buffers = 0;          // that the recorder handed over; 0 = not told
  std::int64_t lost_records = 0;     // that it says it dropped
  std::int64_t cut_records = 0;      // found damaged at the end of a buffer, and what stood behind them
  std::vector<std::string> refused;  // kinds of records that could not be switched on, each with the reason

  std::vector<KernelRecord> kernels;
  std::vector<Copy> copies;
  std::vector<Memset> memsets;
  std::vector<ApiCall> calls;
  std::vector<MemoryEvent> memory;
  std::vector<Synchronisation> synchronisations;
  std::vector<Overhead> overheads;
  std::vector<ExternalCorrelation> external;
  std::vector<Marker> markers;
  bool operator==(const ActivityTrace&) const = default;
};

// visit(record) for every kernel, copy and memset.
template <typename Trace, typename Visit>
void ForEachDeviceWork(Trace& trace, const Visit& visit) {
  for (auto& kernel : trace.kernels) visit(kernel);
  for (auto& copy : trace.copies) visit(copy);
  for (auto& memset : trace.memsets) visit(memset);
}

}  // namespace stowplan::profiler
