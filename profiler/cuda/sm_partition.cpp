#include "profiler/cuda/sm_partition.h"

#include <algorithm>
#include <string>

#include <cuda.h>
#include <fmt/format.h>

#include "profiler/backend.h"
#include "profiler/executor/device_shares.h"

namespace stowplan::profiler::cuda {

#if CUDART_VERSION >= 12050

// The driver's functions, found at run time: the plug-in links the runtime alone, so that it opens without a driver.
struct SmPartition::Driver {
  template <typename Function>
  static Function Find(const char* name) {
    constexpr unsigned kVersion = 12050;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result);
    if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || found == nullptr) {
      ForgetLastError();
      throw Unavailable(fmt::format("the driver has no {}, which --sm-share needs", name));
    }
    return reinterpret_cast<Function>(found);
  }
  static void Check(CUresult status, const char* name) {
    if (status == CUDA_SUCCESS) return;
    throw Unavailable(fmt::format("the GPU cannot be divided: {} ended with error {} of the driver", name,
                                  static_cast<int>(status)));
  }

  decltype(&::cuDeviceGetDevResource) resource_of_device =
      Find<decltype(&::cuDeviceGetDevResource)>("cuDeviceGetDevResource");
  decltype(&::cuDevSmResourceSplitByCount) split =
      Find<decltype(&::cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
  decltype(&::cuDevResourceGenerateDesc) describe =
      Find<decltype(&::cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc");
  decltype(&::cuGreenCtxCreate) create = Find<decltype(&::cuGreenCtxCreate)>("cuGreenCtxCreate");
  decltype(&::cuGreenCtxDestroy) destroy = Find<decltype(&::cuGreenCtxDestroy)>("cuGreenCtxDestroy");
  decltype(&::cuGreenCtxGetDevResource) resource_of_context =
      Find<decltype(&::cuGreenCtxGetDevResource)>("cuGreenCtxGetDevResource");
  decltype(&::cuGreenCtxStreamCreate) create_stream =
      Find<decltype(&::cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate");
};

SmPartition::SmPartition(const std::vector<double>& shares) {
  STOWPLAN_CUDA(cudaFree(nullptr));  // the primary context, which the others hold on to
  driver_ = std::make_unique<const Driver>();
  constexpr CUdevice kDevice = 0;
  CUdevResource all{};
  Driver::Check(driver_->resource_of_device(kDevice, &all, CU_DEV_RESOURCE_TYPE_SM),
                "cuDeviceGetDevResource");
  // As many groups of the least size as there are; a part takes several of them.
  unsigned groups = 0;
  const unsigned least = std::max(all.sm.minSmPartitionSize, 1U);
  Driver::Check(driver_->split(nullptr, &groups, &all, nullptr, 0, least), "cuDevSmResourceSplitByCount");
  const std::vector<int> given = GroupsOfShares(shares, static_cast<int>(groups));
  std::vector<CUdevResource> split(groups);
  CUdevResource rest{};
  Driver::Check(driver_->split(split.data(), &groups, &all, &rest, 0, least), "cuDevSmResourceSplitByCount");
  CUdevResource* next = split.data();
  for (const int count : given) {
    CUdevResourceDesc description = nullptr;
    Driver::Check(driver_->describe(&description, next, static_cast<unsigned>(count)),
                  "cuDevResourceGenerateDesc");
    next += count;
    CUgreenCtx context = nullptr;
    Driver::Check(driver_->create(&context, description, kDevice, CU_GREEN_CTX_DEFAULT_STREAM),
                  "cuGreenCtxCreate");
    contexts_.push_back(context);
    CUdevResource mine{};
    Driver::Check(driver_->resource_of_context(context, &mine, CU_DEV_RESOURCE_TYPE_SM),
                  "cuGreenCtxGetDevResource");
    multiprocessors_.push_back(static_cast<int>(mine.sm.smCount));
  }
}

SmPartition::~SmPartition() {
  for (void* const context : contexts_) driver_->destroy(static_cast<CUgreenCtx>(context));
}

Stream SmPartition::NewStream(const std::shared_ptr<const SmPartition>& partition, std::size_t part) {
  CUstream stream = nullptr;
  auto* const context = static_cast<CUgreenCtx>(partition->contexts_.at(part));
  Driver::Check(partition->driver_->create_stream(&stream, context, CU_STREAM_NON_BLOCKING, 0),
                "cuGreenCtxStreamCreate");
  return {stream, partition};
}

#else

struct SmPartition::Driver {};
SmPartition::SmPartition(const std::vector<double>&) {
  throw Unavailable("this plug-in was built with a CUDA before 12.5, which cannot divide a GPU");
}
SmPartition::~SmPartition() = default;
Stream SmPartition::NewStream(const std::shared_ptr<const SmPartition>&, std::size_t) {
  return Stream();
}

#endif

}  // namespace stowplan::profiler::cuda
