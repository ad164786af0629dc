#include "profiler/cuda/device_code.cuh"

namespace stowplan::profiler::cuda {
namespace {

template <typename T>
__global__ void RowSum(const T* x, T* y, std::int64_t columns) {
  const T* const row = x + blockIdx.x * columns;
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += Load(row[i]);
  sum = BlockSum(sum);
  if (threadIdx.x == 0) Store(y[blockIdx.x], sum);
}

template <typename T>
__global__ void Softmax(const T* x, T* y, std::int64_t columns) {
  const T* const row = x + blockIdx.x * columns;
  T* const out = y + blockIdx.x * columns;
  float largest = -INFINITY;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, Load(row[i]));
  largest = BlockMax(largest);
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(Load(row[i]) - largest);
  sum = BlockSum(sum);
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    Store(out[i], expf(Load(row[i]) - largest) / sum);
}

template <typename T>
__global__ void SoftmaxGradient(const T* y, const T* dy, T* dx, std::int64_t columns) {
  const std::int64_t begin = blockIdx.x * columns;
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    sum += Load(y[begin + i]) * Load(dy[begin + i]);
  sum = BlockSum(sum);
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    Store(dx[begin + i], Load(y[begin + i]) * (Load(dy[begin + i]) - sum));
  }
}

struct Moments {
  float mean;
  float inverse_deviation;
};

template <typename T>
__device__ Moments RowMoments(const T* row, std::int64_t columns) {
  float sum = 0, squares = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float x = Load(row[i]);
    sum += x;
    squares += x * x;
  }
  const float mean = BlockSum(sum) / columns;
  const float variance = fmaxf(BlockSum(squares) / columns - mean * mean, 0.0f);
  return {mean, rsqrtf(variance + 1e-5f)};
}

template <typename T>
__global__ void LayerNorm(const T* x, const float* scale, const float* shift, T* y, std::int64_t columns) {
  const T* const row = x + blockIdx.x * columns;
  const Moments moments = RowMoments(row, columns);
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float normal = (Load(row[i]) - moments.mean) * moments.inverse_deviation;
    Store(y[blockIdx.x * columns + i], scale == nullptr ? normal : normal * scale[i] + shift[i]);
  }
}

template <typename T>
__global__ void LayerNormGradient(const T* x, const T* dy, const float* scale, T* dx, std::int64_t columns) {
  const std::int64_t begin = blockIdx.x * columns;
  const Moments moments = RowMoments(x + begin, columns);
  float sum = 0, projected = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float gradient = Load(dy[begin + i]) * scale[i];
    sum += gradient;
    projected += gradient * (Load(x[begin + i]) - moments.mean) * moments.inverse_deviation;
  }
  sum = BlockSum(sum) / columns;
  projected = BlockSum(projected) / columns;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float normal = (Load(x[begin + i]) - moments.mean) * moments.inverse_deviation;
    Store(dx[begin + i],
          (Load(dy[begin + i]) * scale[i] - sum - normal * projected) * moments.inverse_deviation);
  }
}

}  // namespace

void LaunchRowSum(Type type, const void* x, void* y, std::int64_t rows, std::int64_t columns,
                  cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    RowSum<T><<<static_cast<unsigned>(rows), RowThreads(columns), 0, stream>>>(static_cast<const T*>(x),
                                                                               static_cast<T*>(y), columns);
  });
}

void LaunchSoftmax(Type type, const void* x, void* y, std::int64_t rows, std::int64_t columns,
                   cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    Softmax<T><<<static_cast<unsigned>(rows), RowThreads(columns), 0, stream>>>(static_cast<const T*>(x),
                                                                                static_cast<T*>(y), columns);
  });
}

void LaunchSoftmaxGradient(Type type, const void* y, const void* dy, void* dx, std::int64_t rows,
                           std::int64_t columns, cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    SoftmaxGradient<T><<<static_cast<unsigned>(rows), RowThreads(columns), 0, stream>>>(
        static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx), columns);
  });
}

void LaunchLayerNorm(Type type, const void* x, const float* scale, const float* shift, void* y,
                     std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    LayerNorm<T><<<static_cast<unsigned>(rows), RowThreads(columns), 0, stream>>>(
        static_cast<const T*>(x), scale, shift, static_cast<T*>(y), columns);
  });
}

void LaunchLayerNormGradient(Type type, const void* x, const void* dy, const float* scale, void* dx,
                             std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    LayerNormGradient<T><<<static_cast<unsigned>(rows), RowThreads(columns), 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(dy), scale, static_cast<T*>(dx), columns);
  });
}

}  // namespace stowplan::profiler::cuda
