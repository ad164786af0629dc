// Errors of CUDA's libraries as exceptions. Constructors and functions use these; destructors must not throw and
// ignore what fails there.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

namespace stowplan::profiler::cuda {

// An error that has been dealt with must not be found by the next call, as those of algorithms that a library tried.
void ForgetLastError();

// Throw RunError with the call and the library's own words; NoMemory where CUDA has none; Unavailable where the library
// does not support what was asked.
void Check(cudaError_t status, const char* call);
void Check(cublasStatus_t status, const char* call);
void Check(cudnnStatus_t status, const char* call);

}  // namespace stowplan::profiler::cuda

#define STOWPLAN_CUDA(call) ::stowplan::profiler::cuda::Check((call), #call)
