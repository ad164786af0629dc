// One convolution through cuDNN, in one of its three ways, by the algorithm that cuDNN measures to be the fastest
// within the workspace.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "profiler/cuda/prepared_op.h"

namespace berth::profiler::cuda {

enum class ConvolutionWay : std::uint8_t { kForward, kDataGradient, kFilterGradient };

// Tensors in NHWC or NCHW alike (the filter KRSC or KCRS); shapes are written batch, channels, height, width and
// results, channels of a group, height, width.
struct ConvolutionSize {
  Type type = Type::kF32;
  bool channels_last = true;
  bool tensor_cores = true;  // f32: as tf32
  std::array<std::int64_t, 4> input{}, filter{};
  std::array<std::int64_t, 2> padding{}, stride{1, 1};  // padding: of each side
  std::int64_t groups = 1;
  auto operator<=>(const ConvolutionSize&) const = default;
};

class CudnnConvolution {
 public:
  // Measures on operands of its own. Throws Unavailable where cuDNN has no algorithm for it.
  CudnnConvolution(const ConvolutionSize& size, ConvolutionWay way, const Libraries& libraries);

  const std::array<std::int64_t, 4>& output() const { return output_; }

  // Enqueues on the stream of `libraries`, which may be others than it was made with. Forward: input, filter, results.
  // Gradients: of the results and the filter, into the input; the input and of the results, into the filter.
  void Run(const Libraries& libraries, const void* first, const void* second, void* into) const;

 private:
  template <typename Find, typename Performance>
  void Choose(const Find& find, const Libraries& libraries);

  ConvolutionWay way_;
  std::array<std::int64_t, 4> output_{};
  std::vector<std::shared_ptr<void>> kept_;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t how_ = nullptr;
  int algorithm_ = 0;  // of the way's own enumeration
  std::size_t workspace_ = 0;
};

// A descriptor of cuDNN's with what destroys it.
template <typename Descriptor>
std::shared_ptr<void> Owned(Descriptor descriptor, cudnnStatus_t (*destroy)(Descriptor)) {
  return {static_cast<void*>(descriptor), [destroy](void* kept) { destroy(static_cast<Descriptor>(kept)); }};
}

// A tensor of four axes, batch, channels, height, width, in one of both layouts.
cudnnTensorDescriptor_t DescribeTensor(std::vector<std::shared_ptr<void>>* keep, Type type,
                                       bool channels_last, const std::array<std::int64_t, 4>& shape);
std::int64_t ElementsOf(const std::array<std::int64_t, 4>& shape);

}  // namespace berth::profiler::cuda
