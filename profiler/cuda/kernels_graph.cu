#include <algorithm>

#include "profiler/cuda/element_ops.cuh"
#include "profiler/cuda/kernels_graph.h"

namespace stowplan::profiler::cuda {
namespace {

// Where the element at `index` of the large tensor is in the small one.
__device__ std::int64_t SmallIndex(std::int64_t index, std::int64_t middle, std::int64_t inner) {
  return index / (middle * inner) * inner + index % inner;
}

template <Pair kOp>
__global__ void SpreadKernel(const float* large, const float* small, float* out, std::int64_t count,
                             std::int64_t middle, std::int64_t inner) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    out[i] = Apply<kOp>(large[i], small[SmallIndex(i, middle, inner)]);
}

__global__ void TileKernel(const float* small, float* out, std::int64_t count, std::int64_t middle,
                           std::int64_t inner) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) out[i] = small[SmallIndex(i, middle, inner)];
}

constexpr unsigned kSumWidth = 32, kSumDepth = 8;

// A block sums 32 neighbours of the inner axis over one slice of the middle one, its eight rows of threads sharing that.
// out[o, slice, i].
__global__ void SumColumns(const float* a, const float* b, float* out, std::int64_t outer,
                           std::int64_t middle, std::int64_t inner, std::int64_t slices, float scale) {
  __shared__ float partial[kSumDepth][kSumWidth];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSumWidth + threadIdx.x;
  const std::int64_t begin = middle * blockIdx.z / slices, end = middle * (blockIdx.z + 1) / slices;
  for (std::int64_t o = blockIdx.y; o < outer; o += gridDim.y) {
    float sum = 0;
    for (std::int64_t m = begin + threadIdx.y; i < inner && m < end; m += kSumDepth) {
      const std::int64_t at = (o * middle + m) * inner + i;
      sum += b == nullptr ? a[at] : a[at] * b[at];
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && i < inner) {
      for (unsigned row = 1; row < kSumDepth; ++row) sum += partial[row][threadIdx.x];
      out[(o * slices + blockIdx.z) * inner + i] = scale * sum;
    }
    __syncthreads();
  }
}

// A block for each slice of a sum, where what is summed stands together. out[o, slice].
__global__ void SumRows(const float* a, const float* b, float* out, std::int64_t outer, std::int64_t middle,
                        std::int64_t slices, float scale) {
  for (std::int64_t k = blockIdx.x; k < outer * slices; k += gridDim.x) {
    const std::int64_t o = k / slices, slice = k % slices;
    const std::int64_t end = middle * (slice + 1) / slices;
    float sum = 0;
    for (std::int64_t m = middle * slice / slices + threadIdx.x; m < end; m += blockDim.x)
      sum += b == nullptr ? a[o * middle + m] : a[o * middle + m] * b[o * middle + m];
    sum = BlockSum(sum);
    if (threadIdx.x == 0) out[k] = scale * sum;
  }
}

void SumSliced(const float* a, const float* b, float* out, const Spread& s, std::int64_t slices, float scale,
               cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 65535;
  if (s.inner == 1) {
    const auto blocks = static_cast<unsigned>(std::min(s.outer * slices, kMostBlocks));
    SumRows<<<blocks, RowThreads(s.middle / slices), 0, stream>>>(a, b, out, s.outer, s.middle, slices,
                                                                  scale);
  } else {
    const dim3 grid(static_cast<unsigned>((s.inner + kSumWidth - 1) / kSumWidth),
                    static_cast<unsigned>(std::min(s.outer, kMostBlocks)), static_cast<unsigned>(slices));
    SumColumns<<<grid, dim3(kSumWidth, kSumDepth), 0, stream>>>(a, b, out, s.outer, s.middle, s.inner, slices,
                                                                scale);
  }
  STOWPLAN_CUDA(cudaGetLastError());
}

__global__ void DropoutKernel(const float* x, float* out, float* mask, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const float keep = (static_cast<unsigned>(i) * 2654435761u) >> 31 != 0 ? 2.0f : 0.0f;
    mask[i] = keep;
    out[i] = x[i] * keep;
  }
}

__global__ void LossKernel(const float* shares, const std::int32_t* labels, float* loss, std::int64_t rows,
                           std::int64_t columns) {
  for (std::int64_t r = FirstIndex(); r < rows; r += Stride()) {
    const std::int64_t label = static_cast<unsigned>(labels[r]) % columns;
    loss[r] = -logf(fmaxf(shares[r * columns + label], 1e-30f));
  }
}

__global__ void LossGradientKernel(const float* shares, const float* dloss, float* dx, std::int64_t rows,
                                   std::int64_t columns) {
  for (std::int64_t i = FirstIndex(); i < rows * columns; i += Stride()) {
    const float scale = dloss == nullptr ? 1.0f / static_cast<float>(rows) : dloss[i / columns];
    dx[i] = scale * (shares[i] - (i % columns == 0 ? 1.0f : 0.0f));
  }
}

__device__ std::int64_t RowOf(const std::int32_t* ids, std::int64_t place, std::int64_t rows) {
  return static_cast<std::int64_t>(static_cast<unsigned>(ids[place])) % rows;
}

__global__ void GatherRows(const float* table, const std::int32_t* ids, float* y, std::int64_t rows,
                           std::int64_t width, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    y[i] = table[RowOf(ids, i / width, rows) * width + i % width];
}

__global__ void ScatterRows(float* table, const std::int32_t* ids, const float* dy, std::int64_t rows,
                            std::int64_t width, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    atomicAdd(&table[RowOf(ids, i / width, rows) * width + i % width], UpdateRule::kRate * dy[i]);
}

__global__ void CornerKernel(const float* x, float* y, Corner corner, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    std::int64_t left = i, from = 0, to = 0, from_step = 1, to_step = 1;
    for (int axis = corner.axes - 1; axis >= 0; --axis) {
      const std::int64_t place = left % corner.common[axis];
      left /= corner.common[axis];
      from += (place + corner.from_offset[axis]) * from_step;
      to += (place + corner.to_offset[axis]) * to_step;
      from_step *= corner.from[axis];
      to_step *= corner.to[axis];
    }
    y[to] = x[from];
  }
}

constexpr unsigned kTile = 32;

__global__ void TransposeKernel(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  __shared__ float tile[kTile][kTile + 1];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const std::int64_t tiles = (rows + kTile - 1) / kTile;
  for (std::int64_t t = blockIdx.y; t < tiles; t += gridDim.y) {
    for (unsigned k = threadIdx.y; k < kTile; k += blockDim.y) {
      const std::int64_t row = t * kTile + k;
      if (row < rows && column < columns) tile[k][threadIdx.x] = x[row * columns + column];
    }
    __syncthreads();
    const std::int64_t out_column = t * kTile + threadIdx.x;
    for (unsigned k = threadIdx.y; k < kTile; k += blockDim.y) {
      const std::int64_t out_row = static_cast<std::int64_t>(blockIdx.x) * kTile + k;
      if (out_row < columns && out_column < rows) y[out_row * rows + out_column] = tile[threadIdx.x][k];
    }
    __syncthreads();
  }
}

__global__ void SgdKernel(float* parameter, const float* gradient, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    parameter[i] -= UpdateRule::kRate * gradient[i];
}

__global__ void ReadKernel(const std::uint32_t* words, std::int64_t count, const unsigned char* rest,
                           std::int64_t left, std::uint32_t* sink) {
  std::uint32_t mixed = 0;
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) mixed ^= words[i];
  if (FirstIndex() < left) mixed ^= rest[FirstIndex()];
  if (mixed == 0x5EED5EEDu) *sink = mixed;  // or the compiler would read nothing
}

__global__ void FindNotFiniteKernel(const float* x, std::int64_t count, int* found) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    if (!isfinite(x[i])) *found = 1;
}

}  // namespace

void LaunchSpread(Pair op, const float* large, const float* small, float* out, const Spread& s,
                  cudaStream_t stream) {
  ForPair(op, [&]<Pair kOp>() {
    SpreadKernel<kOp>
        <<<Blocks(s.large()), kThreads, 0, stream>>>(large, small, out, s.large(), s.middle, s.inner);
  });
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchTile(const float* small, float* out, const Spread& s, cudaStream_t stream) {
  TileKernel<<<Blocks(s.large()), kThreads, 0, stream>>>(small, out, s.large(), s.middle, s.inner);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchSpreadSum(const float* a, const float* b, float* out, const Spread& s, float scale, float* partial,
                     cudaStream_t stream) {
  const std::int64_t slices = SumSlices(s);
  if (slices == 1) return SumSliced(a, b, out, s, 1, scale, stream);
  SumSliced(a, b, partial, s, slices, 1, stream);
  SumSliced(partial, nullptr, out, {s.outer, slices, s.inner}, 1, scale, stream);
}

void LaunchDropout(const float* x, float* out, float* mask, std::int64_t count, cudaStream_t stream) {
  DropoutKernel<<<Blocks(count), kThreads, 0, stream>>>(x, out, mask, count);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchLoss(const float* shares, const std::int32_t* labels, float* loss, std::int64_t rows,
                std::int64_t columns, cudaStream_t stream) {
  LossKernel<<<Blocks(rows), kThreads, 0, stream>>>(shares, labels, loss, rows, columns);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchLossGradient(const float* shares, const float* dloss, float* dx, std::int64_t rows,
                        std::int64_t columns, cudaStream_t stream) {
  LossGradientKernel<<<Blocks(rows * columns), kThreads, 0, stream>>>(shares, dloss, dx, rows, columns);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchGatherRows(const float* table, const std::int32_t* ids, float* y, std::int64_t rows,
                      std::int64_t width, std::int64_t count, cudaStream_t stream) {
  GatherRows<<<Blocks(count * width), kThreads, 0, stream>>>(table, ids, y, rows, width, count * width);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchScatterRows(float* table, const std::int32_t* ids, const float* dy, std::int64_t rows,
                       std::int64_t width, std::int64_t count, cudaStream_t stream) {
  ScatterRows<<<Blocks(count * width), kThreads, 0, stream>>>(table, ids, dy, rows, width, count * width);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchCorner(const float* x, float* y, const Corner& corner, cudaStream_t stream) {
  std::int64_t count = 1;
  for (int axis = 0; axis < corner.axes; ++axis) count *= corner.common[static_cast<std::size_t>(axis)];
  if (count == 0) return;
  CornerKernel<<<Blocks(count), kThreads, 0, stream>>>(x, y, corner, count);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchTranspose(const float* x, float* y, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  const std::int64_t tiles = (rows + kTile - 1) / kTile;
  const dim3 grid(static_cast<unsigned>((columns + kTile - 1) / kTile),
                  static_cast<unsigned>(tiles < 65535 ? tiles : 65535));
  TransposeKernel<<<grid, dim3(kTile, 8), 0, stream>>>(x, y, rows, columns);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchSgd(float* parameter, const float* gradient, std::int64_t count, cudaStream_t stream) {
  SgdKernel<<<Blocks(count), kThreads, 0, stream>>>(parameter, gradient, count);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchRead(const void* x, std::int64_t bytes, std::uint32_t* sink, cudaStream_t stream) {
  const auto* const words = static_cast<const std::uint32_t*>(x);
  const auto* const rest = static_cast<const unsigned char*>(x) + bytes / 4 * 4;
  ReadKernel<<<Blocks(bytes / 4), kThreads, 0, stream>>>(words, bytes / 4, rest, bytes % 4, sink);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchFindNotFinite(const float* x, std::int64_t count, int* found, cudaStream_t stream) {
  FindNotFiniteKernel<<<Blocks(count), kThreads, 0, stream>>>(x, count, found);
  STOWPLAN_CUDA(cudaGetLastError());
}

}  // namespace stowplan::profiler::cuda
