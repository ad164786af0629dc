// What element-wise kernels compute, in f32 whatever the tensors are of, and the choice of one at run time.
#pragma once

#include "profiler/cuda/device_code.cuh"
#include "profiler/cuda/kernels.h"

namespace stowplan::profiler::cuda {

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
}

}  // namespace stowplan::profiler::cuda
