// CUPTI without a GPU: records three products and three rectifiers of a program that runs under PyTorch's emit_nvtx,
// once ranges were asked for by NVTX, and hands them over when it is flushed.
#include <cstring>
#include <string>
#include <vector>

#include <cupti.h>

namespace {

constexpr std::uint64_t kCall = 200'000;  // [ns] from a call of an op to the next
constexpr std::uint32_t kThread = 41;

CUpti_BuffersCallbackRequestFunc request;
CUpti_BuffersCallbackCompleteFunc complete;
bool kernels, ranges, nvtx, recorded;

struct Op {
  const char *range, *kernel;
  std::uint64_t ns;
};
constexpr Op kOps[] = {
    {"aten::mm, seq = 5, op_id = 7, sizes = [[512, 512], [512, 512]]", "ampere_sgemm_128x64_nn", 100'000},
    {"aten::relu, seq = 6, op_id = 8, sizes = [[512, 512]]", "vectorized_elementwise_kernel<4, float>",
     5'000},
};

class Buffer {
 public:
  template <typename Record>
  void Add(const Record& record) {
    std::uint8_t* buffer = nullptr;
    if (at_ == nullptr) request(&buffer, &size_, &records_), at_ = buffer;
    std::memcpy(at_ + used_, &record, sizeof(Record));
    used_ += sizeof(Record);
  }
  ~Buffer() {
    if (at_ != nullptr) complete(nullptr, 0, at_, size_, used_);
  }

 private:
  std::uint8_t* at_ = nullptr;
  std::size_t size_ = 0, records_ = 0, used_ = 0;
};

CUpti_ActivityMarker2 RangeEnd(std::uint32_t id, CUpti_ActivityFlag which, std::uint64_t time,
                               const char* name) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = which;
  record.id = id;
  record.timestamp = time;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = 40;
  record.objectId.pt.threadId = kThread;
  record.name = name;
  return record;
}

void Record() {
  Buffer buffer;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const Op& op = kOps[i % 2];
    const std::uint64_t begin = 1'000'000'000 + i * kCall;
    if (ranges && nvtx) {
      buffer.Add(RangeEnd(i + 1, CUPTI_ACTIVITY_FLAG_MARKER_START, begin, op.range));
      buffer.Add(RangeEnd(i + 1, CUPTI_ACTIVITY_FLAG_MARKER_END, begin + 20'000, nullptr));
    }
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = 211;
    call.start = begin + 5'000;
    call.end = begin + 10'000;
    call.processId = 40;
    call.threadId = kThread;
    call.correlationId = i + 1;
    buffer.Add(call);
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = op.kernel;
    kernel.start = begin + 30'000;
    kernel.end = kernel.start + op.ns;
    kernel.streamId = 7;
    kernel.correlationId = i + 1;
    buffer.Add(kernel);
  }
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

int InitializeInjectionNvtx2(void* get_export_table) {
  nvtx = get_export_table != nullptr;
  return 1;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc ask,
                                                    CUpti_BuffersCallbackCompleteFunc done) {
  request = ask, complete = done;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kernels = true, recorded = false;
  if (kind == CUPTI_ACTIVITY_KIND_MARKER) ranges = true;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind) {
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t) {
  if (kernels && !recorded) Record(), recorded = true;
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
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult, const char** text) {
  *text = "made up";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t, const char** name) {
  *name = "cudaLaunchKernel_v7000";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version) {
  *version = 7;
  return CUPTI_SUCCESS;
}

}  // extern "C"
