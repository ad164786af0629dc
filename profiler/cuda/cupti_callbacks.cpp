#include "profiler/cuda/cupti_callbacks.h"

#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cupti.h>
#include <fmt/format.h>
#include <generated_nvtx_meta.h>

#include "profiler/traces/correlation.h"

namespace stowplan::profiler::cuda {
namespace {

ProgramWatch& TheWatch() {
  static auto* const watch = new ProgramWatch;  // never freed: the program may launch until its last moment
  return *watch;
}

// ---- ranges -------------------------------------------------------------------------------------------------

// Strings that the program registered, and ranges that any thread may end, by what NVTX returned for them.
struct Registered {
  std::mutex mutex;
  std::unordered_map<const void*, std::string> strings;
  std::unordered_map<nvtxRangeId_t, std::string> ranges;
};
Registered& TheRegistered() {
  static auto* const registered = new Registered;
  return *registered;
}

std::string NameOf(const nvtxEventAttributes_t* event) {
  if (event == nullptr) return "";
  if (event->messageType == NVTX_MESSAGE_TYPE_ASCII)
    return event->message.ascii == nullptr ? "" : event->message.ascii;
  if (event->messageType != NVTX_MESSAGE_TYPE_REGISTERED) return "";
  Registered& registered = TheRegistered();
  const std::lock_guard lock(registered.mutex);
  const auto found = registered.strings.find(event->message.registered);
  return found == registered.strings.end() ? "" : found->second;
}

class RangeWatch {
 public:
  void Add(CUpti_CallbackId id, const CUpti_NvtxData& data) {
    switch (id) {
      case CUPTI_CBID_NVTX_nvtxRangePushA:
        return Push(nullptr, Text(As<nvtxRangePushA_params>(data).message));
      case CUPTI_CBID_NVTX_nvtxRangePushEx:
        return Push(nullptr, NameOf(As<nvtxRangePushEx_params>(data).eventAttrib));
      case CUPTI_CBID_NVTX_nvtxRangePop:
        return Pop(nullptr);
      case CUPTI_CBID_NVTX_nvtxDomainRangePushEx: {
        const auto& made = As<nvtxDomainRangePushEx_params>(data);
        return Push(made.domain, NameOf(made.core.eventAttrib));
      }
      case CUPTI_CBID_NVTX_nvtxDomainRangePop:
        return Pop(As<nvtxDomainRangePop_params>(data).domain);
      case CUPTI_CBID_NVTX_nvtxRangeStartA:
        return Start(data, Text(As<nvtxRangeStartA_params>(data).message));
      case CUPTI_CBID_NVTX_nvtxRangeStartEx:
        return Start(data, NameOf(As<nvtxRangeStartEx_params>(data).eventAttrib));
      case CUPTI_CBID_NVTX_nvtxDomainRangeStartEx:
        return Start(data, NameOf(As<nvtxDomainRangeStartEx_params>(data).core.eventAttrib));
      case CUPTI_CBID_NVTX_nvtxRangeEnd:
        return End(As<nvtxRangeEnd_params>(data).id);
      case CUPTI_CBID_NVTX_nvtxDomainRangeEnd:
        return End(As<nvtxDomainRangeEnd_params>(data).core.id);
      case CUPTI_CBID_NVTX_nvtxDomainRegisterStringA:
        return Register(data, Text(As<nvtxDomainRegisterStringA_params>(data).string));
      default:
        return;
    }
  }

 private:
  template <typename Params>
  static const Params& As(const CUpti_NvtxData& data) {
    return *static_cast<const Params*>(data.functionParams);
  }
  static std::string Text(const char* text) { return text == nullptr ? "" : text; }

  void Push(const void* domain, std::string name) {
    TheWatch().range_began(name);
    pushed_[domain].push_back(std::move(name));
  }
  void Pop(const void* domain) {
    std::vector<std::string>& pushed = pushed_[domain];
    if (pushed.empty()) return;
    const std::string name = std::move(pushed.back());
    pushed.pop_back();
    TheWatch().range_ended(name);
  }
  static void Start(const CUpti_NvtxData& data, const std::string& name) {
    if (data.functionReturnValue == nullptr) return;
    TheWatch().range_began(name);
    Registered& registered = TheRegistered();
    const std::lock_guard lock(registered.mutex);
    registered.ranges[*static_cast<const nvtxRangeId_t*>(data.functionReturnValue)] = name;
  }
  static void End(nvtxRangeId_t id) {
    Registered& registered = TheRegistered();
    std::unique_lock lock(registered.mutex);
    const auto node = registered.ranges.extract(id);
    lock.unlock();
    if (!node.empty()) TheWatch().range_ended(node.mapped());
  }
  static void Register(const CUpti_NvtxData& data, std::string text) {
    if (data.functionReturnValue == nullptr) return;
    Registered& registered = TheRegistered();
    const std::lock_guard lock(registered.mutex);
    registered.strings[*static_cast<const nvtxStringHandle_t*>(data.functionReturnValue)] = std::move(text);
  }

  std::map<const void*, std::vector<std::string>> pushed_;  // by domain, of one thread
};

// ---- launches -----------------------------------------------------------------------------------------------

// Only launches are enabled, so every call that comes is one.
void AddLaunch(CUpti_CallbackDomain domain, const CUpti_CallbackData& call) {
  thread_local int in_runtime = 0;
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  if (runtime) in_runtime += enters ? 1 : in_runtime > 0 ? -1 : 0;
  if (!enters && in_runtime == 0) TheWatch().launched();
}

void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_NVTX) {
    thread_local RangeWatch ranges;
    ranges.Add(id, *static_cast<const CUpti_NvtxData*>(data));
  } else {
    AddLaunch(domain, *static_cast<const CUpti_CallbackData*>(data));
  }
}

void EnableLaunches(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain, std::uint32_t ids) {
  for (std::uint32_t id = 1; id < ids; ++id) {
    const char* name = nullptr;
    if (cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) continue;
    if (IsKernelLaunch(name) || IsGraphLaunch(name)) cuptiEnableCallback(1, subscriber, domain, id);
  }
}

// CUPTI 13 tells who was there before, and tells others of us.
CUptiResult SubscribeAs(CUpti_SubscriberHandle* subscriber, std::string& other) {
#if CUPTI_API_VERSION >= 130000
  char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "stowplan-profile";
  params.oldSubscriberName = name;
  params.oldSubscriberSize = sizeof name;
  const CUptiResult result = cuptiSubscribe_v2(subscriber, OnCallback, nullptr, &params);
  other = name;
  return result;
#else
  return cuptiSubscribe(subscriber, OnCallback, nullptr);
#endif
}

}  // namespace

void Subscribe(ProgramWatch watch) {
  TheWatch() = std::move(watch);
  CUpti_SubscriberHandle subscriber = nullptr;
  std::string other;
  const CUptiResult result = SubscribeAs(&subscriber, other);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && !other.empty())
    throw Unavailable(other +
                      " profiles this process already, and CUPTI serves one profiler: run without it");
  if (result != CUPTI_SUCCESS) throw Unavailable("CUPTI records nothing here: " + CuptiReason(result));
  EnableLaunches(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
  EnableLaunches(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
  if (TheWatch().range_began) cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_NVTX);
}

std::string CuptiReason(int result) {
  static const auto& helps = *new std::map<int, const char*>{
      {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
       "the driver lets administrators profile only: run as root, or load it with "
       "NVreg_RestrictProfilingToAdminUsers=0"},
      {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
       "the host of this virtual GPU must allow it to profile"},
      {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
       "a virtual GPU cannot be profiled: pass the whole GPU through"},
      {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
       "another profiler has CUPTI in this process already: run without it"},
      {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "a MIG slice cannot be profiled so: use a GPU without MIG"},
      {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
       "a GPU in confidential computing mode cannot be profiled: switch that mode off"},
  };
  const auto help = helps.find(result);
  if (help != helps.end()) return help->second;
  const char* text = nullptr;
  cuptiGetResultString(static_cast<CUptiResult>(result), &text);
  return text == nullptr ? fmt::format("CUPTI error {}", result) : text;
}

}  // namespace stowplan::profiler::cuda
