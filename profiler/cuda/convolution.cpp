#include "profiler/cuda/convolution.h"

#include <stdexcept>
#include <string>

#include "profiler/backend.h"
#include "profiler/executor/memo.h"

namespace stowplan::profiler::cuda {
namespace {

cudnnDataType_t DataType(Type type) {
  return type == Type::kF32 ? CUDNN_DATA_FLOAT : type == Type::kF16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}

cudnnTensorFormat_t Layout(bool channels_last) {
  return channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

std::array<int, 4> Ints(const std::array<std::int64_t, 4>& shape) {
  return {static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]),
          static_cast<int>(shape[3])};
}

}  // namespace

std::int64_t ElementsOf(const std::array<std::int64_t, 4>& shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

cudnnTensorDescriptor_t DescribeTensor(std::vector<std::shared_ptr<void>>* keep, Type type,
                                       bool channels_last, const std::array<std::int64_t, 4>& shape) {
  cudnnTensorDescriptor_t descriptor = nullptr;
  STOWPLAN_CUDA(cudnnCreateTensorDescriptor(&descriptor));
  keep->push_back(Owned(descriptor, &cudnnDestroyTensorDescriptor));
  const auto [n, c, h, w] = Ints(shape);
  STOWPLAN_CUDA(cudnnSetTensor4dDescriptor(descriptor, Layout(channels_last), DataType(type), n, c, h, w));
  return descriptor;
}

CudnnConvolution::CudnnConvolution(const ConvolutionSize& size, ConvolutionWay way,
                                   const Libraries& libraries)
    : size_(size), way_(way) {
  x_ = DescribeTensor(&kept_, size.type, size.channels_last, size.input);
  STOWPLAN_CUDA(cudnnCreateFilterDescriptor(&w_));
  kept_.push_back(Owned(w_, &cudnnDestroyFilterDescriptor));
  const auto [k, c, r, s] = Ints(size.filter);
  STOWPLAN_CUDA(cudnnSetFilter4dDescriptor(w_, DataType(size.type), Layout(size.channels_last), k, c, r, s));
  STOWPLAN_CUDA(cudnnCreateConvolutionDescriptor(&how_));
  kept_.push_back(Owned(how_, &cudnnDestroyConvolutionDescriptor));
  STOWPLAN_CUDA(cudnnSetConvolution2dDescriptor(
      how_, static_cast<int>(size.padding[0]), static_cast<int>(size.padding[1]),
      static_cast<int>(size.stride[0]), static_cast<int>(size.stride[1]), 1, 1, CUDNN_CROSS_CORRELATION,
      CUDNN_DATA_FLOAT));
  STOWPLAN_CUDA(cudnnSetConvolutionGroupCount(how_, static_cast<int>(size.groups)));
  STOWPLAN_CUDA(cudnnSetConvolutionMathType(how_, size.tensor_cores ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH));
  std::array<int, 4> shape{};
  STOWPLAN_CUDA(
      cudnnGetConvolution2dForwardOutputDim(how_, x_, w_, &shape[0], &shape[1], &shape[2], &shape[3]));
  output_ = {shape[0], shape[1], shape[2], shape[3]};
  y_ = DescribeTensor(&kept_, size.type, size.channels_last, output_);
  const cudnnHandle_t dnn = libraries.dnn();
  switch (way) {
    case ConvolutionWay::kForward:
      Choose<cudnnConvolutionFwdAlgoPerf_t>(
          [&](int most, int* count, auto* ranked) {
            return cudnnGetConvolutionForwardAlgorithm_v7(dnn, x_, w_, how_, y_, most, count, ranked);
          },
          libraries);
      break;
    case ConvolutionWay::kDataGradient:
      Choose<cudnnConvolutionBwdDataAlgoPerf_t>(
          [&](int most, int* count, auto* ranked) {
            return cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn, w_, y_, how_, x_, most, count, ranked);
          },
          libraries);
      break;
    case ConvolutionWay::kFilterGradient:
      Choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
          [&](int most, int* count, auto* ranked) {
            return cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn, x_, y_, how_, w_, most, count, ranked);
          },
          libraries);
      break;
  }
}

void CudnnConvolution::Take(int algorithm, std::size_t workspace, cudnnMathType_t math) {
  algorithm_ = algorithm;
  workspace_ = workspace;
  // Any other than FMA lets f32 be rounded to tf32, CUDNN_DEFAULT_MATH too.
  STOWPLAN_CUDA(cudnnSetConvolutionMathType(how_, size_.tensor_cores ? math : CUDNN_FMA_MATH));
}

template <typename Performance, typename Rank>
void CudnnConvolution::Choose(const Rank& rank, const Libraries& libraries) {
  std::array<Performance, 16> ranked{};
  int count = 0;
  STOWPLAN_CUDA(rank(static_cast<int>(ranked.size()), &count, ranked.data()));
  const auto buffer = [&](const std::array<std::int64_t, 4>& of) {
    DeviceBuffer made(static_cast<std::size_t>(ElementsOf(of)) * BytesOf(size_.type));
    STOWPLAN_CUDA(cudaMemsetAsync(made.get(), 0, made.bytes(), libraries.stream()));
    return made;
  };
  const DeviceBuffer x = buffer(size_.input), w = buffer(size_.filter), y = buffer(output_);
  std::string reason = "none is ranked";
  for (int i = 0; i < count; ++i) {
    const Performance& one = ranked[static_cast<std::size_t>(i)];
    const bool wants_tensor_cores =
        one.mathType == CUDNN_TENSOR_OP_MATH || one.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
    if (one.status != CUDNN_STATUS_SUCCESS || one.memory > libraries.workspace().bytes() ||
        (wants_tensor_cores && !size_.tensor_cores))
      continue;
    try {
      Take(static_cast<int>(one.algo), one.memory, one.mathType);
      switch (way_) {
        case ConvolutionWay::kForward:
          Run(libraries, x.get(), w.get(), y.get());
          break;
        case ConvolutionWay::kDataGradient:
          Run(libraries, y.get(), w.get(), x.get());
          break;
        case ConvolutionWay::kFilterGradient:
          Run(libraries, x.get(), y.get(), w.get());
          break;
      }
      STOWPLAN_CUDA(cudaStreamSynchronize(libraries.stream()));
      ForgetLastError();
      return;
    } catch (const std::runtime_error& why) {
      reason = why.what();
    }
  }
  throw Unavailable("cuDNN has no algorithm for this convolution within the workspace (" + reason + ")");
}

namespace {

using ConvolutionKey = std::pair<ConvolutionSize, ConvolutionWay>;

Memo<ConvolutionKey, std::shared_ptr<const CudnnConvolution>>& TheConvolutions() {
  static Memo<ConvolutionKey, std::shared_ptr<const CudnnConvolution>> convolutions;
  return convolutions;
}

template <std::size_t kCount>
sim::Attribute ListOf(const std::array<std::int64_t, kCount>& numbers) {
  sim::Attribute::List list;
  for (const std::int64_t number : numbers) list.push_back({number});
  return {std::move(list)};
}

}  // namespace

std::shared_ptr<const CudnnConvolution> FindCudnnConvolution(const ConvolutionSize& size, ConvolutionWay way,
                                                             const Libraries& libraries) {
  return TheConvolutions().Get(
      {size, way}, [&] { return std::make_shared<const CudnnConvolution>(size, way, libraries); });
}

sim::Attribute ChosenConvolutions() {
  static constexpr const char* kWays[] = {"forward", "data_gradient", "filter_gradient"};
  static constexpr const char* kTypes[] = {"f32", "f16", "bf16"};
  sim::Attribute::List list;
  for (const auto& [key, entry] : TheConvolutions().entries()) {
    const auto& [size, way] = key;
    sim::Attributes one = {{"way", {std::string(kWays[static_cast<std::size_t>(way)])}},
                           {"type", {std::string(kTypes[static_cast<std::size_t>(size.type)])}},
                           {"tensor_cores", {size.tensor_cores}},
                           {"channels_last", {size.channels_last}},
                           {"input", ListOf(size.input)},
                           {"filter", ListOf(size.filter)},
                           {"padding", ListOf(size.padding)},
                           {"stride", ListOf(size.stride)},
                           {"groups", {size.groups}}};
    if (entry.value == nullptr) {
      one.emplace_back("unavailable", sim::Attribute{entry.unavailable});
    } else {
      one.emplace_back("algorithm", sim::Attribute{std::int64_t{entry.value->algorithm()}});
      one.emplace_back("workspace_bytes",
                       sim::Attribute{static_cast<std::int64_t>(entry.value->workspace_bytes())});
    }
    list.push_back({std::move(one)});
  }
  return {std::move(list)};
}

void CudnnConvolution::Run(const Libraries& libraries, const void* first, const void* second,
                           void* into) const {
  const float one = 1, zero = 0;
  void* const workspace = libraries.workspace().get();
  switch (way_) {
    case ConvolutionWay::kForward:
      STOWPLAN_CUDA(cudnnConvolutionForward(libraries.dnn(), &one, x_, first, w_, second, how_,
                                            static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), workspace,
                                            workspace_, &zero, y_, into));
      break;
    case ConvolutionWay::kDataGradient:
      STOWPLAN_CUDA(cudnnConvolutionBackwardData(libraries.dnn(), &one, w_, second, y_, first, how_,
                                                 static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_),
                                                 workspace, workspace_, &zero, x_, into));
      break;
    case ConvolutionWay::kFilterGradient:
      STOWPLAN_CUDA(cudnnConvolutionBackwardFilter(libraries.dnn(), &one, x_, first, y_, second, how_,
                                                   static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_),
                                                   workspace, workspace_, &zero, w_, into));
      break;
  }
}

}  // namespace stowplan::profiler::cuda
