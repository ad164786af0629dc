// Pooling over NHWC images and its gradients: windows may hang over the border, as cuDNN's cannot on one side alone.
#include "profiler/cuda/device_code.cuh"
#include "profiler/cuda/kernels_graph.h"

namespace stowplan::profiler::cuda {
namespace {

// One window and channel: where the window lies within the image.
struct Place {
  std::int64_t n, c, top, bottom, left, right;
};

__device__ Place PlaceOf(std::int64_t index, const Windows& w) {
  Place place;
  place.c = index % w.channels;
  index /= w.channels;
  const std::int64_t column = index % w.out_width;
  index /= w.out_width;
  const std::int64_t row = index % w.out_height;
  place.n = index / w.out_height;
  place.top = row * w.strides[0] - w.before[0];
  place.left = column * w.strides[1] - w.before[1];
  place.bottom = min(place.top + w.kernel[0], w.height);
  place.right = min(place.left + w.kernel[1], w.width);
  place.top = max(place.top, static_cast<std::int64_t>(0));
  place.left = max(place.left, static_cast<std::int64_t>(0));
  return place;
}

__device__ std::int64_t Pixel(const Place& p, std::int64_t row, std::int64_t column, const Windows& w) {
  return ((p.n * w.height + row) * w.width + column) * w.channels + p.c;
}

__global__ void MaxPoolKernel(const float* x, float* y, Windows w, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const Place p = PlaceOf(i, w);
    float best = -INFINITY;
    for (std::int64_t row = p.top; row < p.bottom; ++row)
      for (std::int64_t column = p.left; column < p.right; ++column)
        best = fmaxf(best, x[Pixel(p, row, column, w)]);
    y[i] = best;
  }
}

__global__ void AveragePoolKernel(const float* x, float* y, Windows w, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const Place p = PlaceOf(i, w);
    float sum = 0;
    for (std::int64_t row = p.top; row < p.bottom; ++row)
      for (std::int64_t column = p.left; column < p.right; ++column) sum += x[Pixel(p, row, column, w)];
    y[i] = sum / static_cast<float>((p.bottom - p.top) * (p.right - p.left));
  }
}

// Into dx, which is zero: the gradient of a window goes where its maximum was first.
__global__ void MaxPoolGradientKernel(const float* x, const float* dy, float* dx, Windows w,
                                      std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const Place p = PlaceOf(i, w);
    std::int64_t best = -1;
    for (std::int64_t row = p.top; row < p.bottom; ++row) {
      for (std::int64_t column = p.left; column < p.right; ++column) {
        const std::int64_t at = Pixel(p, row, column, w);
        if (best < 0 || x[at] > x[best]) best = at;
      }
    }
    if (best >= 0) atomicAdd(&dx[best], dy[i]);
  }
}

__global__ void AveragePoolGradientKernel(const float* dy, float* dx, Windows w, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const Place p = PlaceOf(i, w);
    const float share = dy[i] / static_cast<float>((p.bottom - p.top) * (p.right - p.left));
    for (std::int64_t row = p.top; row < p.bottom; ++row)
      for (std::int64_t column = p.left; column < p.right; ++column)
        atomicAdd(&dx[Pixel(p, row, column, w)], share);
  }
}

std::int64_t Results(const Windows& w) {
  return w.batch * w.out_height * w.out_width * w.channels;
}

void Clear(float* dx, const Windows& w, cudaStream_t stream) {
  const auto pixels = static_cast<std::size_t>(w.batch * w.height * w.width * w.channels);
  STOWPLAN_CUDA(cudaMemsetAsync(dx, 0, pixels * sizeof(float), stream));
}

}  // namespace

void LaunchMaxPool(const float* x, float* y, const Windows& w, cudaStream_t stream) {
  MaxPoolKernel<<<Blocks(Results(w)), kThreads, 0, stream>>>(x, y, w, Results(w));
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchAveragePool(const float* x, float* y, const Windows& w, cudaStream_t stream) {
  AveragePoolKernel<<<Blocks(Results(w)), kThreads, 0, stream>>>(x, y, w, Results(w));
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchMaxPoolGradient(const float* x, const float* dy, float* dx, const Windows& w,
                           cudaStream_t stream) {
  Clear(dx, w, stream);
  MaxPoolGradientKernel<<<Blocks(Results(w)), kThreads, 0, stream>>>(x, dy, dx, w, Results(w));
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchAveragePoolGradient(const float* dy, float* dx, const Windows& w, cudaStream_t stream) {
  Clear(dx, w, stream);
  AveragePoolGradientKernel<<<Blocks(Results(w)), kThreads, 0, stream>>>(dy, dx, w, Results(w));
  STOWPLAN_CUDA(cudaGetLastError());
}

}  // namespace stowplan::profiler::cuda
