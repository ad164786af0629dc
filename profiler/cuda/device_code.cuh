// What our kernels share: element types, indices, sums over a block, launches by type.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "profiler/cuda/check.h"
#include "profiler/cuda/kernels.h"

namespace stowplan::profiler::cuda {

constexpr int kThreads = 256;

__device__ inline float Load(float x) {
  return x;
}
__device__ inline float Load(__half x) {
  return __half2float(x);
}
__device__ inline float Load(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ inline void Store(float& y, float x) {
  y = x;
}
__device__ inline void Store(__half& y, float x) {
  y = __float2half(x);
}
__device__ inline void Store(__nv_bfloat16& y, float x) {
  y = __float2bfloat16(x);
}

__device__ inline std::int64_t FirstIndex() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t Stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// As many blocks as there are elements for, up to what fills the largest device several times.
inline unsigned Blocks(std::int64_t count) {
  const std::int64_t wanted = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted > 8192 ? 8192 : wanted);
}

// The sum over a block, known to all its threads.
__device__ inline float BlockSum(float x) {
  __shared__ float partial[32];
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) x += partial[warp];
  return x;
}

__device__ inline float BlockMax(float x) {
  __shared__ float partial[32];
  for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = partial[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) x = fmaxf(x, partial[warp]);
  return x;
}

// run(T{}) for the type's T.
template <typename Run>
void ForType(Type type, const Run& run) {
  switch (type) {
    case Type::kF32:
      run(float{});
      break;
    case Type::kF16:
      run(__half{});
      break;
    case Type::kBf16:
      run(__nv_bfloat16{});
      break;
  }
  STOWPLAN_CUDA(cudaGetLastError());
}

// One block for each row: few threads where rows are short.
inline unsigned RowThreads(std::int64_t columns) {
  return columns <= 128 ? 64 : columns <= 1024 ? 256 : 1024;
}

}  // namespace stowplan::profiler::cuda
