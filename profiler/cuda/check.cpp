#include "profiler/cuda/check.h"

#include <fmt/format.h>

#include "profiler/backend.h"
#include "profiler/executor/block_pool.h"
#include "sim/base/error.h"

namespace stowplan::profiler::cuda {
namespace {

// "cudaMalloc(&data_, bytes)" is told as "cudaMalloc".
std::string NameOf(const char* call) {
  const std::string text(call);
  return text.substr(0, text.find('('));
}

}  // namespace

void ForgetLastError() {
  cudaGetLastError();
}

void Check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  ForgetLastError();
  const std::string what =
      fmt::format("{}: {} ({})", NameOf(call), cudaGetErrorString(status), cudaGetErrorName(status));
  if (status == cudaErrorMemoryAllocation) throw NoMemory(what);
  throw RunError(what);
}

void Check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  ForgetLastError();
  const std::string what = fmt::format("{}: {}", NameOf(call), cublasGetStatusString(status));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) throw Unavailable(what);
  throw RunError(what);
}

void Check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  ForgetLastError();
  const std::string what = fmt::format("{}: {}", NameOf(call), cudnnGetErrorString(status));
  if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) throw Unavailable(what);
  throw RunError(what);
}

}  // namespace stowplan::profiler::cuda
