// One convolution through cuDNN, in one of its three ways, by the first algorithm of cuDNN's own ranking that runs within
// the workspace. Ranked and not timed: a search would take time, and find one thing today and another
// tomorrow.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "profiler/cuda/prepared_op.h"

namespace stowplan::profiler::cuda {

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
  // Tries on operands of its own. Throws Unavailable where cuDNN has no algorithm for it, NoMemory where there is no
  // room to try.
  CudnnConvolution(const ConvolutionSize& size, ConvolutionWay way, const Libraries& libraries);

  const std::array<std::int64_t, 4>& output() const { return output_; }
  int algorithm() const { return algorithm_; }  // of the way's own enumeration in cudnn.h
  std::size_t workspace_bytes() const { return workspace_; }

  // Enqueues on the stream of `libraries`, which may be others than it was made with. Forward: input, filter, results.
  // Gradients: of the results and the filter, into the input; the input and of the results, into the filter.
  void Run(const Libraries& libraries, const void* first, const void* second, void* into) const;

 private:
  template <typename Performance, typename Rank>
  void Choose(const Rank& rank, const Libraries& libraries);
  void Take(int algorithm, std::size_t workspace, cudnnMathType_t math);

  ConvolutionSize size_;
  ConvolutionWay way_;
  std::array<std::int64_t, 4> output_{};
  std::vector<std::shared_ptr<void>> kept_;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t how_ = nullptr;
  int algorithm_ = 0;
  std::size_t workspace_ = 0;
};

// The process's one for that size and way, made when first asked for: also what cannot be made is tried once. For one
// thread at a time.
std::shared_ptr<const CudnnConvolution> FindCudnnConvolution(const ConvolutionSize& size, ConvolutionWay way,
                                                             const Libraries& libraries);
// What was chosen so far, for recordings: a list of {way, type, tensor_cores, channels_last, input, filter, padding,
// stride, groups, and algorithm with workspace_bytes or unavailable}.
sim::Attribute ChosenConvolutions();

// A descriptor of cuDNN's with what destroys it.
template <typename Descriptor>
std::shared_ptr<void> Owned(Descriptor descriptor, cudnnStatus_t (*destroy)(Descriptor)) {
  return {static_cast<void*>(descriptor), [destroy](void* kept) { destroy(static_cast<Descriptor>(kept)); }};
}

// A tensor of four axes, batch, channels, height, width, in one of both layouts.
cudnnTensorDescriptor_t DescribeTensor(std::vector<std::shared_ptr<void>>* keep, Type type,
                                       bool channels_last, const std::array<std::int64_t, 4>& shape);
std::int64_t ElementsOf(const std::array<std::int64_t, 4>& shape);

}  // namespace stowplan::profiler::cuda
