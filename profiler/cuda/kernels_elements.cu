#include "profiler/cuda/device_code.cuh"

namespace berth::profiler::cuda {
namespace {

template <typename T>
__global__ void Fill(T* x, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const unsigned mixed = static_cast<unsigned>(i) * 2654435761u;
    Store(x[i], static_cast<float>(mixed >> 8) / 8388608.0f * 0.1f - 0.1f);
  }
}

template <Unary kOp>
__device__ float Apply(float x) {
  if constexpr (kOp == Unary::kRelu) return fmaxf(x, 0.0f);
  if constexpr (kOp == Unary::kTanh) return tanhf(x);
  if constexpr (kOp == Unary::kGelu) return 0.5f * x * (1.0f + erff(x * 0.70710678f));
  return x;
}

template <typename T, Unary kOp>
__global__ void Map(const T* x, T* y, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) Store(y[i], Apply<kOp>(Load(x[i])));
}

template <typename T>
__global__ void Add(const T* a, const T* b, T* y, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) Store(y[i], Load(a[i]) + Load(b[i]));
}

__global__ void Ids(std::int32_t* ids, std::int64_t count, std::int64_t rows) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    ids[i] = static_cast<std::int32_t>((static_cast<unsigned>(i) * 2654435761u) % rows);
  }
}

__global__ void Gather(const float* table, const std::int32_t* ids, float* y, std::int64_t count,
                       std::int64_t width) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    y[i] = table[ids[i / width] * width + i % width];
}

__global__ void ScatterAdd(const float* dy, const std::int32_t* ids, float* table, std::int64_t count,
                           std::int64_t width) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    atomicAdd(&table[ids[i / width] * width + i % width], dy[i]);
  }
}

__device__ float Sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

template <typename T>
__global__ void LstmGates(const T* gates, const T* cell, T* new_cell, T* hidden, std::int64_t count,
                          std::int64_t width) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const T* const row = gates + i / width * 4 * width + i % width;
    const float state =
        Sigmoid(Load(row[width])) * Load(cell[i]) + Sigmoid(Load(row[0])) * tanhf(Load(row[2 * width]));
    Store(new_cell[i], state);
    Store(hidden[i], Sigmoid(Load(row[3 * width])) * tanhf(state));
  }
}

__global__ void SgdMomentum(float* parameter, const float* gradient, float* momentum, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const float velocity = 0.9f * momentum[i] + gradient[i];
    momentum[i] = velocity;
    parameter[i] -= 1e-6f * velocity;
  }
}

__global__ void Adam(float* parameter, const float* gradient, float* first, float* second,
                     std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const float g = gradient[i];
    const float m = first[i] = 0.9f * first[i] + 0.1f * g;
    const float v = second[i] = 0.999f * fabsf(second[i]) + 0.001f * g * g;
    parameter[i] -= 1e-6f * m / (sqrtf(v) + 1e-8f);
  }
}

}  // namespace

Type TypeNamed(std::string_view format) {
  return format == "f16" ? Type::kF16 : format == "bf16" ? Type::kBf16 : Type::kF32;
}
std::size_t BytesOf(Type type) {
  return type == Type::kF32 ? 4 : 2;
}

void LaunchFill(Type type, void* x, std::int64_t count, cudaStream_t stream) {
  ForType(type,
          [&]<typename T>(T) { Fill<T><<<Blocks(count), kThreads, 0, stream>>>(static_cast<T*>(x), count); });
}

template <typename T>
static void Mapped(Unary op, const T* x, T* y, std::int64_t count, cudaStream_t stream) {
  const unsigned blocks = Blocks(count);
  switch (op) {
    case Unary::kCopy:
      Map<T, Unary::kCopy><<<blocks, kThreads, 0, stream>>>(x, y, count);
      break;
    case Unary::kRelu:
      Map<T, Unary::kRelu><<<blocks, kThreads, 0, stream>>>(x, y, count);
      break;
    case Unary::kGelu:
      Map<T, Unary::kGelu><<<blocks, kThreads, 0, stream>>>(x, y, count);
      break;
    case Unary::kTanh:
      Map<T, Unary::kTanh><<<blocks, kThreads, 0, stream>>>(x, y, count);
      break;
  }
}

void LaunchUnary(Type type, Unary op, const void* x, void* y, std::int64_t count, cudaStream_t stream) {
  ForType(type,
          [&]<typename T>(T) { Mapped<T>(op, static_cast<const T*>(x), static_cast<T*>(y), count, stream); });
}

void LaunchAdd(Type type, const void* a, const void* b, void* y, std::int64_t count, cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    Add<T><<<Blocks(count), kThreads, 0, stream>>>(static_cast<const T*>(a), static_cast<const T*>(b),
                                                   static_cast<T*>(y), count);
  });
}

void LaunchGather(const float* table, const std::int32_t* ids, float* y, std::int64_t tokens,
                  std::int64_t width, cudaStream_t stream) {
  Gather<<<Blocks(tokens * width), kThreads, 0, stream>>>(table, ids, y, tokens * width, width);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchScatterAdd(const float* dy, const std::int32_t* ids, float* table_gradient, std::int64_t tokens,
                      std::int64_t width, cudaStream_t stream) {
  ScatterAdd<<<Blocks(tokens * width), kThreads, 0, stream>>>(dy, ids, table_gradient, tokens * width, width);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchIds(std::int32_t* ids, std::int64_t count, std::int64_t rows, cudaStream_t stream) {
  Ids<<<Blocks(count), kThreads, 0, stream>>>(ids, count, rows);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchLstmGates(Type type, const void* gates, const void* cell, void* new_cell, void* hidden,
                     std::int64_t batch, std::int64_t width, cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    LstmGates<T><<<Blocks(batch * width), kThreads, 0, stream>>>(
        static_cast<const T*>(gates), static_cast<const T*>(cell), static_cast<T*>(new_cell),
        static_cast<T*>(hidden), batch * width, width);
  });
}

void LaunchSgdMomentum(float* parameter, const float* gradient, float* momentum, std::int64_t count,
                       cudaStream_t stream) {
  SgdMomentum<<<Blocks(count), kThreads, 0, stream>>>(parameter, gradient, momentum, count);
  BERTH_CUDA(cudaGetLastError());
}

void LaunchAdam(float* parameter, const float* gradient, float* first, float* second, std::int64_t count,
                cudaStream_t stream) {
  Adam<<<Blocks(count), kThreads, 0, stream>>>(parameter, gradient, first, second, count);
  BERTH_CUDA(cudaGetLastError());
}

}  // namespace berth::profiler::cuda
