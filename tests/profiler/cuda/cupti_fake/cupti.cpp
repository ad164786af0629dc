// CUPTI without a GPU. A recorded command calls fake_run() where a program would launch kernels, and is told and recorded as
// CUPTI does it: names are mangled, ranges come by NVTX, nodes of a CUDA graph share the correlation of its launch, and what
// finds no buffer is dropped. Environment: FAKE_CUPTI_SUBSCRIBER (who subscribed before us), FAKE_CUPTI_REFUSES (all, or
// kernels: for lack of permission; later: all once there is a launch), FAKE_CUPTI_HOLDS (buffers are handed over at the end alone).
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cupti.h>
#include <generated_nvtx_meta.h>

namespace {

constexpr std::uint64_t kCall = 200'000;  // [ns] from a call of an op to the next
constexpr std::uint32_t kProcess = 40, kThread = 41;
constexpr std::uint32_t kLaunchKernel = 211, kGraphLaunch = 311, kDriverLaunch = 307;

struct Op {
  const char* range;
  std::vector<std::pair<const char*, std::uint64_t>> kernels;  // name as CUPTI tells it, [ns]
  bool graph = false;
};
struct Program {
  const char* name;
  std::vector<Op> ops;  // by turns
};

const std::vector<Program>& Programs() {
  static const char* const sizes_of_mm = "aten::mm, seq = 5, op_id = 7, sizes = [[512, 512], [512, 512]]";
  static const std::vector<Program> programs = {
      {"f32",
       {{sizes_of_mm, {{"ampere_sgemm_128x64_nn", 100'000}}},
        {"aten::add, seq = 6, op_id = 8, sizes = [[512, 512], [512, 512], []]",
         {{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_"
           "T1_",
           5'000}}}}},
      {"nvjet", {{sizes_of_mm, {{"nvjet_tst_128x64_64x8_2x1_v_bz_TNT", 10'000}}}}},
      {"cutlass",
       {{sizes_of_mm,
         {{"_ZN7cutlass7Kernel2I66cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8EEvNT_"
           "6ParamsE",
           10'000}}}}},
      {"nccl",
       {{"aten::mm, sizes = [[512, 512], [512, 512]]",
         {{"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", 10'000}}}}},
      {"graph", {{"replay", {{"ampere_sgemm_128x64_nn", 10'000}, {"_Z4reluPfi", 5'000}}, true}}},
  };
  return programs;
}

std::string Setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class FakeCupti {
 public:
  void Register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
    const std::lock_guard lock(mutex_);
    request_ = request, complete_ = complete;
  }
  void Enable(CUpti_ActivityKind kind, bool on) {
    const std::lock_guard lock(mutex_);
    if (on) {
      kinds_.insert(kind);
    } else {
      kinds_.erase(kind);
    }
  }
  void Subscribe(CUpti_CallbackFunc callback) { callback_ = callback; }
  void EnableCallback(std::uint32_t id) { calls_.insert(id); }
  void EnableRanges() { told_of_ranges_ = true; }
  void SetNvtx(bool there) { nvtx_ = there; }
  bool HasLaunched() const { return correlation_ > 0; }

  void Flush(bool forced) {
    const std::lock_guard lock(mutex_);
    const bool holds = !Setting("FAKE_CUPTI_HOLDS").empty();
    if (holds && !forced) return;
    for (const Buffer& buffer : std::exchange(full_, {})) Complete(buffer);
    if (buffer_.at != nullptr && buffer_.used > 0) Complete(std::exchange(buffer_, {}));
  }
  std::size_t Dropped() { return std::exchange(dropped_, 0); }

  // ---- what the program does ----------------------------------------------------------------------------------

  void Push(const char* range) {
    TellRange(CUPTI_CBID_NVTX_nvtxRangePushA, nvtxRangePushA_params{range}, nullptr);
    open_.push_back(++ranges_);
    AddRange(CUPTI_ACTIVITY_FLAG_MARKER_START, range);
  }
  void Pop() {
    AddRange(CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr);
    open_.pop_back();
    TellRange(CUPTI_CBID_NVTX_nvtxRangePop, nvtxRangePop_params{}, nullptr);
  }
  // As programs do that register their strings, in a domain of their own; told alone, not recorded.
  void Start(const char* range) {
    const auto domain = reinterpret_cast<nvtxDomainHandle_t>(this);
    const auto string = reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(range));
    const nvtxDomainRegisterStringA_params registers{domain, range};
    TellRange(CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, registers, &string);
    nvtxEventAttributes_t event{};
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = string;
    const nvtxRangeId_t id = 77;
    const nvtxDomainRangeStartEx_params starts{domain, {&event}};
    TellRange(CUPTI_CBID_NVTX_nvtxDomainRangeStartEx, starts, &id);
  }
  void End() {
    const nvtxDomainRangeEnd_params ends{reinterpret_cast<nvtxDomainHandle_t>(this), {77}};
    TellRange(CUPTI_CBID_NVTX_nvtxDomainRangeEnd, ends, nullptr);
  }
  void Run(const Op& op) {
    // Times of real runs differ from launch to launch.
    jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
    now_ += kCall + (jitter_ >> 33) % 1000;
    Push(op.range);
    const std::uint32_t id = op.graph ? kGraphLaunch : kLaunchKernel;
    Tell(CUPTI_CB_DOMAIN_RUNTIME_API, id, CUPTI_API_ENTER);
    Tell(CUPTI_CB_DOMAIN_DRIVER_API, kDriverLaunch, CUPTI_API_ENTER);
    AddWork(op, id);
    Tell(CUPTI_CB_DOMAIN_DRIVER_API, kDriverLaunch, CUPTI_API_EXIT);
    Tell(CUPTI_CB_DOMAIN_RUNTIME_API, id, CUPTI_API_EXIT);
    Pop();
  }

 private:
  struct Buffer {
    std::uint8_t* at = nullptr;
    std::size_t size = 0, used = 0;
  };

  template <typename Params>
  void TellRange(CUpti_CallbackId id, const Params& params, const void* returned) {
    if (!told_of_ranges_) return;
    const CUpti_NvtxData data{"", &params, returned};
    callback_(nullptr, CUPTI_CB_DOMAIN_NVTX, id, &data);
  }
  void Tell(CUpti_CallbackDomain domain, std::uint32_t id, CUpti_ApiCallbackSite site) {
    if (callback_ == nullptr || !calls_.contains(id)) return;
    CUpti_CallbackData data{};
    data.callbackSite = site;
    callback_(nullptr, domain, id, &data);
  }

  void AddRange(CUpti_ActivityFlag which, const char* name) {
    if (!nvtx_) return;
    CUpti_ActivityMarker2 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MARKER;
    record.flags = which;
    record.id = open_.back();
    record.timestamp = now_ + (which == CUPTI_ACTIVITY_FLAG_MARKER_END ? 20'000 : 0);
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record.objectId.pt.processId = kProcess;
    record.objectId.pt.threadId = kThread;
    record.name = name;
    Add(CUPTI_ACTIVITY_KIND_MARKER, record);
  }

  void AddWork(const Op& op, std::uint32_t id) {
    ++correlation_;
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = id;
    call.start = now_ + 5'000;
    call.end = now_ + 10'000;
    call.processId = kProcess;
    call.threadId = kThread;
    call.correlationId = correlation_;
    Add(CUPTI_ACTIVITY_KIND_RUNTIME, call);
    std::uint64_t start = now_ + 30'000;
    for (std::size_t node = 0; node < op.kernels.size(); ++node) {
      CUpti_ActivityKernel10 kernel{};
      kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      kernel.name = op.kernels[node].first;
      kernel.start = start;
      kernel.end = start + op.kernels[node].second;
      kernel.streamId = 7;
      kernel.correlationId = correlation_;
      kernel.graphId = op.graph ? 3 : 0;
      kernel.graphNodeId = op.graph ? 100 + node : 0;
      Add(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kernel);
      start = kernel.end;
    }
  }

  template <typename Record>
  void Add(CUpti_ActivityKind kind, const Record& record) {
    const std::lock_guard lock(mutex_);
    if (!kinds_.contains(kind)) return;
    if (buffer_.at != nullptr && buffer_.used + sizeof(Record) > buffer_.size) {
      if (Setting("FAKE_CUPTI_HOLDS").empty()) {
        Complete(buffer_);
      } else {
        full_.push_back(buffer_);
      }
      buffer_ = {};
    }
    std::size_t records = 0;
    if (buffer_.at == nullptr) request_(&buffer_.at, &buffer_.size, &records);
    if (buffer_.at == nullptr) {
      ++dropped_;
      return;
    }
    std::memcpy(buffer_.at + buffer_.used, &record, sizeof(Record));
    buffer_.used += sizeof(Record);
  }
  void Complete(const Buffer& buffer) { complete_(nullptr, 0, buffer.at, buffer.size, buffer.used); }

  std::mutex mutex_;  // of the buffers
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  std::set<int> kinds_;
  Buffer buffer_;
  std::vector<Buffer> full_;
  std::size_t dropped_ = 0;

  CUpti_CallbackFunc callback_ = nullptr;
  std::set<std::uint32_t> calls_;
  bool told_of_ranges_ = false, nvtx_ = false;
  std::uint64_t now_ = 1'000'000'000, jitter_ = 1;
  std::uint32_t correlation_ = 0, ranges_ = 0;
  std::vector<std::uint32_t> open_;
};

FakeCupti& Fake() {
  static auto* const fake = new FakeCupti;
  return *fake;
}

std::size_t SizeOf(const std::uint8_t* record) {
  switch (reinterpret_cast<const CUpti_Activity*>(record)->kind) {
    case CUPTI_ACTIVITY_KIND_MARKER:
      return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    default:
      return sizeof(CUpti_ActivityKernel10);
  }
}

}  // namespace

extern "C" {

// ---- for the recorded command ---------------------------------------------------------------------------------

void fake_run(const char* name, int launches) {
  for (const Program& program : Programs()) {
    if (std::string(name) != program.name) continue;
    for (int i = 0; i < launches; ++i)
      Fake().Run(program.ops[static_cast<std::size_t>(i) % program.ops.size()]);
  }
}
void fake_push(const char* range) {
  Fake().Push(range);
}
void fake_pop() {
  Fake().Pop();
}
void fake_start(const char* range) {
  Fake().Start(range);
}
void fake_end() {
  Fake().End();
}
// Another part of the program registers callbacks of its own, as torch.profiler does: buffers go there.
void fake_take_over() {
  Fake().Flush(true);
  Fake().Register(
      [](std::uint8_t** buffer, std::size_t* size, std::size_t*) {
        *size = std::size_t{1} << 20;
        *buffer = static_cast<std::uint8_t*>(std::malloc(*size));
      },
      [](CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); });
}

// ---- CUPTI ----------------------------------------------------------------------------------------------------

int InitializeInjectionNvtx2(void* get_export_table) {
  Fake().SetNvtx(get_export_table != nullptr);
  return 1;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc ask,
                                                    CUpti_BuffersCallbackCompleteFunc done) {
  Fake().Register(ask, done);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::string refused = Setting("FAKE_CUPTI_REFUSES");
  if (refused == "all" || (refused == "kernels" && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
      (refused == "later" && Fake().HasLaunched()))
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  Fake().Enable(kind, true);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  Fake().Enable(kind, false);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t flags) {
  Fake().Flush(flags == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes,
                                                CUpti_Activity** record) {
  auto* at = reinterpret_cast<std::uint8_t*>(*record);
  at = at == nullptr ? buffer : at + SizeOf(at);
  if (at >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = Fake().Dropped();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
  if (!Setting("FAKE_CUPTI_SUBSCRIBER").empty()) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  Fake().Subscribe(callback);
  return CUPTI_SUCCESS;
}
#if CUPTI_API_VERSION >= 130000
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                       void* data, CUpti_SubscriberParams* params) {
  const std::string other = Setting("FAKE_CUPTI_SUBSCRIBER").substr(0, params->oldSubscriberSize - 1);
  std::memcpy(params->oldSubscriberName, other.c_str(), other.size() + 1);
  return cuptiSubscribe(subscriber, callback, data);
}
#endif
CUptiResult CUPTIAPI cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                         CUpti_CallbackId id) {
  Fake().EnableCallback(id);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
  Fake().EnableRanges();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult, const char** text) {
  *text = "made up";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  *name = runtime && id == kLaunchKernel    ? "cudaLaunchKernel_v7000"
          : runtime && id == kGraphLaunch   ? "cudaGraphLaunch_v10000"
          : !runtime && id == kDriverLaunch ? "cuLaunchKernel"
                                            : nullptr;
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version) {
  *version = 7;
  return CUPTI_SUCCESS;
}

}  // extern "C"
