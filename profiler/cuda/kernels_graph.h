// The kernels of executed graphs (f32) that no library gives; as kernels.h for the rest. Launchers enqueue and
// return, and throw RunError if the launch fails; pointers are to device memory.
#pragma once

#include <array>
#include <cstdint>

#include <cuda_runtime.h>

#include "profiler/cuda/kernels.h"
#include "profiler/executor/shapes.h"

namespace stowplan::profiler::cuda {

// The smaller tensor is spread over the larger one.
void LaunchSpread(Pair op, const float* large, const float* small, float* out, const Spread& spread,
                  cudaStream_t stream);
// out[o, m, i] = small[o, i]
void LaunchTile(const float* small, float* out, const Spread& spread, cudaStream_t stream);
// out[o, i] = scale * sum over m of a[o, m, i], times b[o, m, i] unless b is null. In SumSlices(spread) slices, whose
// sums are kept in `partial` (PartialBytes(spread), null where there is one slice).
void LaunchSpreadSum(const float* a, const float* b, float* out, const Spread& spread, float scale,
                     float* partial, cudaStream_t stream);

// out = x * mask, the mask a hash of the place: 0 or 2.
void LaunchDropout(const float* x, float* out, float* mask, std::int64_t count, cudaStream_t stream);
// loss[r] = -log of the share of the row's label; labels wrap around.
void LaunchLoss(const float* shares, const std::int32_t* labels, float* loss, std::int64_t rows,
                std::int64_t columns, cudaStream_t stream);
// dx = s (share - [column 0]), s = dloss[r], or 1 / rows where that is null.
void LaunchLossGradient(const float* shares, const float* dloss, float* dx, std::int64_t rows,
                        std::int64_t columns, cudaStream_t stream);

// y[t] = table[ids[t]] and table[ids[t]] += rate dy[t], by profiler/executor/shapes.h's rule; ids wrap around.
void LaunchGatherRows(const float* table, const std::int32_t* ids, float* y, std::int64_t rows,
                      std::int64_t width, std::int64_t count, cudaStream_t stream);
void LaunchScatterRows(float* table, const std::int32_t* ids, const float* dy, std::int64_t rows,
                       std::int64_t width, std::int64_t count, cudaStream_t stream);

// The common corner of two tensors of one rank, shifted by `before` in the target.
struct Corner {
  static constexpr int kMostAxes = 8;
  int axes = 0;
  std::array<std::int64_t, kMostAxes> from{}, to{}, common{}, from_offset{}, to_offset{};
};
void LaunchCorner(const float* x, float* y, const Corner& corner, cudaStream_t stream);

// y[j, i] = x[i, j]
void LaunchTranspose(const float* x, float* y, std::int64_t rows, std::int64_t columns, cudaStream_t stream);

// Windows over NHWC.
void LaunchMaxPool(const float* x, float* y, const Windows& windows, cudaStream_t stream);
void LaunchAveragePool(const float* x, float* y, const Windows& windows, cudaStream_t stream);
void LaunchMaxPoolGradient(const float* x, const float* dy, float* dx, const Windows& windows,
                           cudaStream_t stream);
void LaunchAveragePoolGradient(const float* dy, float* dx, const Windows& windows, cudaStream_t stream);

void LaunchSgd(float* parameter, const float* gradient, std::int64_t count, cudaStream_t stream);
// Reads every byte and keeps nothing; `sink` is one word that nobody reads.
void LaunchRead(const void* x, std::int64_t bytes, std::uint32_t* sink, cudaStream_t stream);
// *found = 1 where one of the numbers is a NaN or an infinity.
void LaunchFindNotFinite(const float* x, std::int64_t count, int* found, cudaStream_t stream);

}  // namespace stowplan::profiler::cuda
