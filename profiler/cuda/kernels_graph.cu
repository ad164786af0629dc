#include "profiler/cuda/device_code.cuh"
#include "profiler/cuda/kernels_graph.h"

namespace berth::profiler::cuda {
namespace {

template <Each kOp>
__device__ float Apply(float x) {
  if constexpr (kOp == Each::kRelu) return fmaxf(x, 0.0f);
  if constexpr (kOp == Each::kGelu) return 0.5f * x * (1.0f + erff(x * 0.70710678f));
  if constexpr (kOp == Each::kTanh) return tanhf(x);
  if constexpr (kOp == Each::kSigmoid) return 1.0f / (1.0f + expf(-x));
  if constexpr (kOp == Each::kNeg) return -x;
  if constexpr (kOp == Each::kHalf) return 0.5f * x;
  if constexpr (kOp == Each::kAddHalf) return x + 0.5f;
  return x;
}

template <Pair kOp>
__device__ float Apply(float a, float b) {
  if constexpr (kOp == Pair::kSub) return a - b;
  if constexpr (kOp == Pair::kMul) return a * b;
  if constexpr (kOp == Pair::kReluGrad) return a > 0.0f ? b : 0.0f;
  if constexpr (kOp == Pair::kSigmoidGrad) return b * a * (1.0f - a);
  if constexpr (kOp == Pair::kTanhGrad) return b * (1.0f - a * a);
  return a + b;
}

template <Each kOp>
__global__ void EachKernel(const float* x, float* y, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) y[i] = Apply<kOp>(x[i]);
}

template <Pair kOp>
__global__ void PairKernel(const float* a, const float* b, float* out, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) out[i] = Apply<kOp>(a[i], b[i]);
}

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

// A block sums 32 neighbours of the inner axis, its eight rows of threads sharing the middle one.
__global__ void SumColumns(const float* a, const float* b, float* out, std::int64_t outer,
                           std::int64_t middle, std::int64_t inner, float scale) {
  __shared__ float partial[kSumDepth][kSumWidth];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSumWidth + threadIdx.x;
  for (std::int64_t o = blockIdx.y; o < outer; o += gridDim.y) {
    float sum = 0;
    for (std::int64_t m = threadIdx.y; i < inner && m < middle; m += kSumDepth) {
      const std::int64_t at = (o * middle + m) * inner + i;
      sum += b == nullptr ? a[at] : a[at] * b[at];
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && i < inner) {
      for (unsigned row = 1; row < kSumDepth; ++row) sum += partial[row][threadIdx.x];
      out[o * inner + i] = scale * sum;
    }
    __syncthreads();
  }
}

// A block for each sum, where what is summed stands together.
__global__ void SumRows(const float* a, const float* b, float* out, std::int64_t outer, std::int64_t middle,
                        float scale) {
  for (std::int64_t o = blockIdx.x; o < outer; o += gridDim.x) {
    float sum = 0;
    for (std::int64_t m = threadIdx.x; m < middle; m += blockDim.x)
      sum += b == nullptr ? a[o * middle + m] : a[o * middle + m] * b[o * middle + m];
    sum = BlockSum(sum);
    if (threadIdx.x == 0) out[o] = scale * sum;
  }
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
    atomicAdd(&table[RowOf(ids, i / width, rows) * width + i % width], dy[i]);
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
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) parameter[i] -= 1e-12f * gradient[i];
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

// run.operator()<Op>() for the one that is asked for.
template <auto kFirst, auto... kRest, typename Run>
void ForOp(decltype(kFirst) op, const Run& run) {
  if (op == kFirst) {
    run.template operator()<kFirst>();
  } else if constexpr (sizeof...(kRest) > 0) {
    ForOp<kRest...>(op, run);
  }
}

template <typename Run>
void ForPair(Pair op, const Run& run) {
  ForOp<Pair::kAdd, Pair::kSub, Pair::kMul, Pair::kReluGrad, Pair::kSigmoidGrad, Pair::kTanhGrad>(op, run);
  BERTH_CUDA(cudaGetLastError());
}

}  // namespace

void LaunchEach(Each op, const float* x, float* y, std::int64_t count, cudaStream_t stream) {
  ForOp<Each::kCopy, Each::kRelu, Each::kGelu, Each::kTanh, Each::kSigmoid, Each::kNeg, Each::kHalf,
        Each::kAddHalf>(
      op, [&]<Each kOp>() { EachKernel<kOp><<<Blocks(count), kThreads, 0, stream>>>(x, y, count); });
  BERTH_CUDA(cudaGetLastError());
}

void LaunchPair(Pair op, const float* a, const float* b, float* out, std::int64_t count,
                cudaStream_t stream) {
  ForPair(op, [&]<Pair kOp>() { PairKernel<kOp><<<Blocks(count), kThreads, 0, stream>>>(a, b, out, count); });
}

void LaunchSpread(Pair op, const float* large, const float* small, float* out, const Spread& s,
                  cudaStream_t stream) {
  ForPair(op, [&]<Pair kOp>() {
    SpreadKernel<kOp>
        <<<Blocks(s.large()), kThreads, 0, stream>>>(large, small, out, s.large(), s.middle, s.inner);
  });
}

void LaunchTile(const float* small, float* out, const Spread& s, cudaStream_t stream) {
  TileKernel<<<Blocks(s.large()), kThreads, 0, stream>>>(small, out, s.large(), s.middle, s.inner);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchSpreadSum(const float* a, const float* b, float* out, const Spread& s, float scale,
                     cudaStream_t stream) {
  if (s.inner == 1) {
    const auto blocks = static_cast<unsigned>(s.outer < 65535 ? s.outer : 65535);
    SumRows<<<blocks, RowThreads(s.middle), 0, stream>>>(a, b, out, s.outer, s.middle, scale);
  } else {
    const dim3 grid(static_cast<unsigned>((s.inner + kSumWidth - 1) / kSumWidth),
                    static_cast<unsigned>(s.outer < 65535 ? s.outer : 65535));
    SumColumns<<<grid, dim3(kSumWidth, kSumDepth), 0, stream>>>(a, b, out, s.outer, s.middle, s.inner, scale);
  }
  BERTH_CUDA(cudaGetLastError());
}

void LaunchDropout(const float* x, float* out, float* mask, std::int64_t count, cudaStream_t stream) {
  DropoutKernel<<<Blocks(count), kThreads, 0, stream>>>(x, out, mask, count);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchLoss(const float* shares, const std::int32_t* labels, float* loss, std::int64_t rows,
                std::int64_t columns, cudaStream_t stream) {
  LossKernel<<<Blocks(rows), kThreads, 0, stream>>>(shares, labels, loss, rows, columns);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchLossGradient(const float* shares, const float* dloss, float* dx, std::int64_t rows,
                        std::int64_t columns, cudaStream_t stream) {
  LossGradientKernel<<<Blocks(rows * columns), kThreads, 0, stream>>>(shares, dloss, dx, rows, columns);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchGatherRows(const float* table, const std::int32_t* ids, float* y, std::int64_t rows,
                      std::int64_t width, std::int64_t count, cudaStream_t stream) {
  GatherRows<<<Blocks(count * width), kThreads, 0, stream>>>(table, ids, y, rows, width, count * width);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchScatterRows(float* table, const std::int32_t* ids, const float* dy, std::int64_t rows,
                       std::int64_t width, std::int64_t count, cudaStream_t stream) {
  ScatterRows<<<Blocks(count * width), kThreads, 0, stream>>>(table, ids, dy, rows, width, count * width);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchCorner(const float* x, float* y, const Corner& corner, cudaStream_t stream) {
  std::int64_t count = 1;
  for (int axis = 0; axis < corner.axes; ++axis) count *= corner.common[static_cast<std::size_t>(axis)];
  if (count == 0) return;
  CornerKernel<<<Blocks(count), kThreads, 0, stream>>>(x, y, corner, count);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchTranspose(const float* x, float* y, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  const std::int64_t tiles = (rows + kTile - 1) / kTile;
  const dim3 grid(static_cast<unsigned>((columns + kTile - 1) / kTile),
                  static_cast<unsigned>(tiles < 65535 ? tiles : 65535));
  TransposeKernel<<<grid, dim3(kTile, 8), 0, stream>>>(x, y, rows, columns);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchSgd(float* parameter, const float* gradient, std::int64_t count, cudaStream_t stream) {
  SgdKernel<<<Blocks(count), kThreads, 0, stream>>>(parameter, gradient, count);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchRead(const void* x, std::int64_t bytes, std::uint32_t* sink, cudaStream_t stream) {
  const auto* const words = static_cast<const std::uint32_t*>(x);
  const auto* const rest = static_cast<const unsigned char*>(x) + bytes / 4 * 4;
  ReadKernel<<<Blocks(bytes / 4), kThreads, 0, stream>>>(words, bytes / 4, rest, bytes % 4, sink);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchFindNotFinite(const float* x, std::int64_t count, int* found, cudaStream_t stream) {
  FindNotFiniteKernel<<<Blocks(count), kThreads, 0, stream>>>(x, count, found);
  BERTH_CUDA(cudaGetLastError());
}

}  // namespace berth::profiler::cuda
