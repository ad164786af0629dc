#include "profiler/cuda/cupti_activity.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <cupti.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "profiler/backend.h"
#include "profiler/cuda/cupti_callbacks.h"
#include "profiler/traces/activity_merge.h"
#include "profiler/traces/kernel_names.h"
#include "sim/base/error.h"

namespace stowplan::profiler::cuda {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 8;

struct KindRow {
  CUpti_ActivityKind kind;
  const char* name;
};
constexpr KindRow kKinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "memsets"},
    {CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls"},
    {CUPTI_ACTIVITY_KIND_DRIVER, "driver calls"},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "external correlation"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "synchronisations"},
    {CUPTI_ACTIVITY_KIND_MEMORY2, "memory"},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"},
    {CUPTI_ACTIVITY_KIND_MARKER, "markers"},
};

// CUPTI calls back from threads of its own: what they bring is kept here, under a lock. A record of before the
// last Start() may still arrive, so a generation is not told apart: Start() flushes first.
struct Collected {
  std::mutex mutex;
  ActivityTrace trace;
  CuptiActivity::OpenRanges ranges;
  CuptiActivity::Sink sink;
  std::atomic<std::int64_t> most_buffers{0}, buffers{0};  // that CUPTI has
};
Collected& TheCollected() {
  static auto* const collected =
      new Collected;  // never freed: CUPTI may call until the process's last moment
  return *collected;
}

void CUPTIAPI RequestBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  Collected& collected = TheCollected();
  *records = 0;  // as many as fit
  const bool room = ++collected.buffers <= collected.most_buffers;
  *buffer = room ? static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes)) : nullptr;
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  if (*buffer == nullptr) --collected.buffers;
}

// What is complete goes to the sink with times of its own.
void HandOver(Collected& collected) {
  ActivityTrace taken = std::exchange(collected.trace, {});
  // A program that never closes its ranges must not fill the memory.
  constexpr std::size_t kMostOpen = 1 << 16;
  if (collected.ranges.size() > kMostOpen) CuptiActivity::AddOpen(taken, collected.ranges);
  MoveToOrigin(taken);
  collected.sink(std::move(taken));
}

void CUPTIAPI CompleteBuffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                             std::size_t valid) {
  Collected& collected = TheCollected();
  const std::lock_guard lock(collected.mutex);
  if (valid > 0) ++collected.trace.buffers;
  CuptiActivity::Decode(buffer, valid, collected.trace, collected.ranges);
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    collected.trace.lost_records += static_cast<std::int64_t>(dropped);
  }
  std::free(buffer);
  if (collected.sink) HandOver(collected);
  --collected.buffers;
}

// ---- one function for each kind of record -----------------------------------------------------------------

MemoryKind MemoryOf(std::uint64_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return MemoryKind::kPageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return MemoryKind::kPinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return MemoryKind::kDevice;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return MemoryKind::kArray;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return MemoryKind::kManaged;
    default:
      return MemoryKind::kUnknown;
  }
}

// The fields that all records of device work have under the same names.
template <typename Record>
void FillWork(const Record& record, DeviceWork& work) {
  work.start = static_cast<Nanos>(record.start);
  work.end = static_cast<Nanos>(record.end);
  work.device = static_cast<std::int32_t>(record.deviceId);
  work.context = record.contextId;
  work.stream = record.streamId;
  work.correlation = record.correlationId;
  work.graph = record.graphId;
  work.graph_node = static_cast<Id>(record.graphNodeId);
}

void Add(const CUpti_ActivityKernel10& record, ActivityTrace& trace) {
  KernelRecord& kernel = trace.kernels.emplace_back();
  FillWork(record, kernel);
  kernel.name = record.name == nullptr ? "" : Demangled(record.name);
  kernel.grid = {record.gridX, record.gridY, record.gridZ};
  kernel.block = {record.blockX, record.blockY, record.blockZ};
  kernel.registers = record.registersPerThread;
  kernel.static_shared_bytes = record.staticSharedMemory;
  kernel.dynamic_shared_bytes = record.dynamicSharedMemory;
}

template <typename Record>
Copy& AddCopy(const Record& record, ActivityTrace& trace) {
  Copy& copy = trace.copies.emplace_back();
  FillWork(record, copy);
  copy.bytes = static_cast<sim::Bytes>(record.bytes);
  copy.from = MemoryOf(record.srcKind);
  copy.to = MemoryOf(record.dstKind);
  return copy;
}

void Add(const CUpti_ActivityMemcpy6& record, ActivityTrace& trace) {
  AddCopy(record, trace);
}
void Add(const CUpti_ActivityMemcpyPtoP4& record, ActivityTrace& trace) {
  Copy& copy = AddCopy(record, trace);
  copy.from_device = static_cast<std::int32_t>(record.srcDeviceId);
  copy.to_device = static_cast<std::int32_t>(record.dstDeviceId);
}

void Add(const CUpti_ActivityMemset4& record, ActivityTrace& trace) {
  Memset& memset = trace.memsets.emplace_back();
  FillWork(record, memset);
  memset.bytes = static_cast<sim::Bytes>(record.bytes);
  memset.kind = MemoryOf(record.memoryKind);
}

void Add(const CUpti_ActivityAPI& record, ActivityTrace& trace) {
  const bool runtime = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  const char* name = nullptr;
  cuptiGetCallbackName(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, record.cbid,
                       &name);
  const std::string_view plain = name == nullptr ? "" : runtime ? WithoutVersion(name) : name;
  trace.calls.push_back({plain.empty() ? fmt::format("callback {}", record.cbid) : std::string(plain),
                         static_cast<Nanos>(record.start), static_cast<Nanos>(record.end),
                         runtime ? ApiCall::Level::kRuntime : ApiCall::Level::kDriver, record.processId,
                         record.threadId, record.correlationId});
}

void Add(const CUpti_ActivityMemory4& record, ActivityTrace& trace) {
  MemoryEvent event;
  event.time = static_cast<Nanos>(record.timestamp);
  event.what = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                   ? MemoryEvent::What::kFree
                   : MemoryEvent::What::kAllocate;
  event.kind = MemoryOf(record.memoryKind);
  event.device = static_cast<std::int32_t>(record.deviceId);
  event.bytes = static_cast<sim::Bytes>(record.bytes);
  event.address = static_cast<Id>(record.address);
  event.correlation = record.correlationId;
  trace.memory.push_back(event);
}

void Add(const CUpti_ActivitySynchronization2& record, ActivityTrace& trace) {
  Synchronisation wait;
  wait.start = static_cast<Nanos>(record.start);
  wait.end = static_cast<Nanos>(record.end);
  // The enumerations have the same order; what is newer than both is unknown.
  const auto type = static_cast<std::size_t>(record.type);
  wait.what = static_cast<Synchronisation::What>(type < std::size(kSynchronisationNames) ? type : 0);
  wait.context = record.contextId;
  wait.stream = record.streamId == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : record.streamId;
  wait.event = record.cudaEventId == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : record.cudaEventId;
  wait.correlation = record.correlationId;
  trace.synchronisations.push_back(wait);
}

void Add(const CUpti_ActivityOverhead3& record, ActivityTrace& trace) {
  // Never freed: CUPTI may call until the process's last moment.
  static const auto& names = *new std::map<int, const char*>{
      {CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "compiling"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "buffer flush"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "instrumentation"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "resources"},
      {CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, "module loading"},
      {CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, "lazy function loading"},
      {CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, "command buffer full"},
      {CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, "buffer request"},
  };
  const auto name = names.find(record.overheadKind);
  const bool of_thread = record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
  trace.overheads.push_back({name == names.end() ? "overhead" : name->second,
                             static_cast<Nanos>(record.start), static_cast<Nanos>(record.end),
                             of_thread ? record.objectId.pt.processId : Id{0},
                             of_thread ? record.objectId.pt.threadId : Id{0}});
}

void Add(const CUpti_ActivityExternalCorrelation& record, ActivityTrace& trace) {
  trace.external.push_back({static_cast<Id>(record.externalId), record.correlationId});
}

// A range comes as two records of one id; whichever is first waits for the other.
void AddMarker(const CUpti_ActivityMarker2& record, ActivityTrace& trace, CuptiActivity::OpenRanges& ranges) {
  const bool starts = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0;
  const bool ends = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0;
  if (!starts && !ends) return;  // an instant
  const auto [open, fresh] = ranges.try_emplace(record.id);
  Marker& marker = open->second;
  if (record.name != nullptr) marker.name = record.name;
  if (record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
    marker.process = record.objectId.pt.processId;
    marker.thread = record.objectId.pt.threadId;
  }
  (starts ? marker.start : marker.end) = static_cast<Nanos>(record.timestamp);
  if (fresh) {
    marker.what = Marker::What::kAnnotation;
    marker.attributes = {{"range", {static_cast<std::int64_t>(record.id)}}};
    return;
  }
  trace.markers.push_back(std::move(marker));
  ranges.erase(open);
}

// Adds the record at `at`; returns where it ends, or null for a kind that is not ours.
template <typename Record>
const std::uint8_t* AddAs(const CUpti_Activity* at, ActivityTrace& trace) {
  Add(*reinterpret_cast<const Record*>(at), trace);
  return reinterpret_cast<const std::uint8_t*>(at) + sizeof(Record);
}

const std::uint8_t* AddRecord(const CUpti_Activity* record, ActivityTrace& trace,
                              CuptiActivity::OpenRanges& ranges) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return AddAs<CUpti_ActivityKernel10>(record, trace);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return AddAs<CUpti_ActivityMemcpy6>(record, trace);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return AddAs<CUpti_ActivityMemcpyPtoP4>(record, trace);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return AddAs<CUpti_ActivityMemset4>(record, trace);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return AddAs<CUpti_ActivityAPI>(record, trace);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return AddAs<CUpti_ActivityMemory4>(record, trace);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return AddAs<CUpti_ActivitySynchronization2>(record, trace);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return AddAs<CUpti_ActivityOverhead3>(record, trace);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return AddAs<CUpti_ActivityExternalCorrelation>(record, trace);
    case CUPTI_ACTIVITY_KIND_MARKER:
      AddMarker(*reinterpret_cast<const CUpti_ActivityMarker2*>(record), trace, ranges);
      return reinterpret_cast<const std::uint8_t*>(record) + sizeof(CUpti_ActivityMarker2);
    default:
      return nullptr;
  }
}

}  // namespace

CuptiActivity::CuptiActivity(std::int64_t most_buffer_bytes, Sink sink) {
  static const CUptiResult registered = cuptiActivityRegisterCallbacks(RequestBuffer, CompleteBuffer);
  if (registered != CUPTI_SUCCESS)
    throw Unavailable("CUPTI records nothing here: " + CuptiReason(registered));
  Collected& collected = TheCollected();
  const std::lock_guard lock(collected.mutex);
  collected.sink = std::move(sink);
  collected.most_buffers =
      std::max<std::int64_t>(1, most_buffer_bytes / static_cast<std::int64_t>(kBufferBytes));
}

CuptiActivity::~CuptiActivity() {
  Pause();
}

void CuptiActivity::Start() {
  Collected& collected = TheCollected();
  // With a sink nothing is left from before, and a callback of CUPTI's, which may be where we are, must not wait for it.
  if (!collected.sink) {
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const std::lock_guard lock(collected.mutex);
    collected.trace = {};
    collected.ranges.clear();
  }
  std::vector<std::string> refused;
  for (const KindRow& row : kKinds) {
    const CUptiResult result = cuptiActivityEnable(row.kind);
    if (result != CUPTI_SUCCESS) refused.push_back(fmt::format("{}: {}", row.name, CuptiReason(result)));
  }
  if (refused.size() == std::size(kKinds))
    throw Unavailable("CUPTI records nothing here: " + refused.front());
  recording_ = true;
  const std::lock_guard lock(collected.mutex);
  collected.trace.refused = std::move(refused);
}

void CuptiActivity::Pause() {
  if (!recording_.exchange(false)) return;
  for (const KindRow& row : kKinds) cuptiActivityDisable(row.kind);
}

void CuptiActivity::Flush() {
  cuptiActivityFlushAll(0);
}

ActivityTrace CuptiActivity::Stop() {
  Pause();
  const CUptiResult flushed = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (flushed != CUPTI_SUCCESS) throw RunError("CUPTI lost its records: " + CuptiReason(flushed));
  Collected& collected = TheCollected();
  const std::lock_guard lock(collected.mutex);
  ActivityTrace trace = std::exchange(collected.trace, {});
  AddOpen(trace, collected.ranges);
  MoveToOrigin(trace);
  return trace;
}

std::string CuptiActivity::Version() {
  std::uint32_t version = 0;
  return cuptiGetVersion(&version) == CUPTI_SUCCESS ? std::to_string(version) : "unknown";
}

void* CuptiActivity::Library() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&cuptiGetVersion), &found) == 0) return nullptr;
  return ::dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

void CuptiActivity::Decode(std::uint8_t* buffer, std::size_t bytes, ActivityTrace& trace,
                           OpenRanges& ranges) {
  const std::uint8_t* end = buffer;  // of the last record that was added
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while (bytes > 0 && (result = cuptiActivityGetNextRecord(buffer, bytes, &record)) == CUPTI_SUCCESS) {
    end = AddRecord(record, trace, ranges);
    if (end == nullptr) end = buffer + bytes;  // of unknown length: what follows cannot be judged by place
  }
  if (bytes > 0 && (result != CUPTI_ERROR_MAX_LIMIT_REACHED || end < buffer + bytes)) ++trace.cut_records;
}

void CuptiActivity::AddOpen(ActivityTrace& trace, OpenRanges& ranges) {
  for (auto& [id, marker] : ranges) trace.markers.push_back(std::move(marker));
  ranges.clear();
}

}  // namespace stowplan::profiler::cuda
