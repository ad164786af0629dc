#include "profiler/cuda/element_ops.cuh"
#include "profiler/executor/shapes.h"

namespace stowplan::profiler::cuda {
namespace {

template <typename T>
__global__ void Fill(T* x, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const unsigned mixed = static_cast<unsigned>(i) * 2654435761u;
    Store(x[i], static_cast<float>(mixed >> 8) / 8388608.0f * 0.1f - 0.1f);
  }
}

template <typename T, Each kOp>
__global__ void EachKernel(const T* x, T* y, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) Store(y[i], Apply<kOp>(Load(x[i])));
}

template <typename T, Pair kOp>
__global__ void PairKernel(const T* a, const T* b, T* out, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    Store(out[i], Apply<kOp>(Load(a[i]), Load(b[i])));
}

__global__ void Indices(std::int32_t* x, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride())
    x[i] = static_cast<std::int32_t>((static_cast<unsigned>(i) * 2654435761u) >> 1);
}

template <typename T>
__global__ void LstmGates(const T* gates, const T* cell, T* new_cell, T* hidden, std::int64_t count,
                          std::int64_t width) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const T* const row = gates + i / width * 4 * width + i % width;
    const float state = Apply<Each::kSigmoid>(Load(row[width])) * Load(cell[i]) +
                        Apply<Each::kSigmoid>(Load(row[0])) * tanhf(Load(row[2 * width]));
    Store(new_cell[i], state);
    Store(hidden[i], Apply<Each::kSigmoid>(Load(row[3 * width])) * tanhf(state));
  }
}

__global__ void SgdMomentum(float* parameter, const float* gradient, float* momentum, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const float velocity = UpdateRule::kDecay * momentum[i] + gradient[i];
    momentum[i] = velocity;
    parameter[i] -= UpdateRule::kRate * velocity;
  }
}

__global__ void Adam(float* parameter, const float* gradient, float* first, float* second,
                     std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    constexpr float kDecay = UpdateRule::kDecay;
    const float g = gradient[i];
    const float m = first[i] = kDecay * first[i] + (1 - kDecay) * g;
    const float v = second[i] = kDecay * second[i] + (1 - kDecay) * g * g;
    parameter[i] -= UpdateRule::kRate * m / (sqrtf(fabsf(v)) + UpdateRule::kEpsilon);
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

void LaunchIndices(std::int32_t* x, std::int64_t count, cudaStream_t stream) {
  Indices<<<Blocks(count), kThreads, 0, stream>>>(x, count);
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchEach(Type type, Each op, const void* x, void* y, std::int64_t count, cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    ForOp<Each::kCopy, Each::kRelu, Each::kGelu, Each::kTanh, Each::kSigmoid, Each::kNeg, Each::kHalf,
          Each::kAddHalf>(op, [&]<Each kOp>() {
      EachKernel<T, kOp>
          <<<Blocks(count), kThreads, 0, stream>>>(static_cast<const T*>(x), static_cast<T*>(y), count);
    });
  });
}

void LaunchPair(Type type, Pair op, const void* a, const void* b, void* out, std::int64_t count,
                cudaStream_t stream) {
  ForType(type, [&]<typename T>(T) {
    ForPair(op, [&]<Pair kOp>() {
      PairKernel<T, kOp><<<Blocks(count), kThreads, 0, stream>>>(
          static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), count);
    });
  });
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
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchAdam(float* parameter, const float* gradient, float* first, float* second, std::int64_t count,
                cudaStream_t stream) {
  Adam<<<Blocks(count), kThreads, 0, stream>>>(parameter, gradient, first, second, count);
  STOWPLAN_CUDA(cudaGetLastError());
}

}  // namespace stowplan::profiler::cuda
