// The kernels that no library gives: plain, memory-bound, one pass where one is enough. Launchers enqueue and
// return; pointers are to device memory, `count` and sizes are in elements. They throw RunError if the launch
// fails.
#pragma once

#include <cstdint>
#include <string_view>

#include <cuda_runtime.h>

namespace stowplan::profiler::cuda {

// Element types; tf32 is f32 in memory.
enum class Type : std::uint8_t { kF32, kF16, kBf16 };
Type TypeNamed(std::string_view format);  // "f32", "tf32", "f16", "bf16"
std::size_t BytesOf(Type type);

// Small numbers of both signs that repeat with no short period.
void LaunchFill(Type type, void* x, std::int64_t count, cudaStream_t stream);
// Indices with no order, to be taken modulo the rows of a table.
void LaunchIndices(std::int32_t* x, std::int64_t count, cudaStream_t stream);

// y[i] = f(x[i])
enum class Each : std::uint8_t { kCopy, kRelu, kGelu, kTanh, kSigmoid, kNeg, kHalf, kAddHalf };
void LaunchEach(Type type, Each op, const void* x, void* y, std::int64_t count, cudaStream_t stream);

// out[i] = f(a[i], b[i]); of gradients b is that of the results and a the results.
enum class Pair : std::uint8_t { kAdd, kSub, kMul, kReluGrad, kSigmoidGrad, kTanhGrad };
void LaunchPair(Type type, Pair op, const void* a, const void* b, void* out, std::int64_t count,
                cudaStream_t stream);

// Of `rows` rows of `columns` elements, one block for each; sums are in f32.
void LaunchRowSum(Type type, const void* x, void* y, std::int64_t rows, std::int64_t columns,
                  cudaStream_t stream);
void LaunchSoftmax(Type type, const void* x, void* y, std::int64_t rows, std::int64_t columns,
                   cudaStream_t stream);
// dx = y * (dy - sum(dy * y))
void LaunchSoftmaxGradient(Type type, const void* y, const void* dy, void* dx, std::int64_t rows,
                           std::int64_t columns, cudaStream_t stream);
// scale and shift: `columns` f32 each; both null for 1 and 0.
void LaunchLayerNorm(Type type, const void* x, const float* scale, const float* shift, void* y,
                     std::int64_t rows, std::int64_t columns, cudaStream_t stream);
// The gradient for x alone.
void LaunchLayerNormGradient(Type type, const void* x, const void* dy, const float* scale, void* dx,
                             std::int64_t rows, std::int64_t columns, cudaStream_t stream);

// gates: batch x 4 width (input, forget, cell, output, before their functions); cell and hidden: batch x width.
void LaunchLstmGates(Type type, const void* gates, const void* cell, void* new_cell, void* hidden,
                     std::int64_t batch, std::int64_t width, cudaStream_t stream);

// By profiler/executor/shapes.h's rule.
void LaunchSgdMomentum(float* parameter, const float* gradient, float* momentum, std::int64_t count,
                       cudaStream_t stream);
void LaunchAdam(float* parameter, const float* gradient, float* first, float* second, std::int64_t count,
                cudaStream_t stream);

void LaunchEmpty(cudaStream_t stream);
// Keeps the stream waiting until *flag (in pinned host memory) is not 0, at most two seconds.
void LaunchHold(const std::int32_t* flag, cudaStream_t stream);

}  // namespace stowplan::profiler::cuda
