#include "profiler/cuda/convolution.h"

#include "profiler/backend.h"

namespace berth::profiler::cuda {
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
  BERTH_CUDA(cudnnCreateTensorDescriptor(&descriptor));
  keep->push_back(Owned(descriptor, &cudnnDestroyTensorDescriptor));
  const auto [n, c, h, w] = Ints(shape);
  BERTH_CUDA(cudnnSetTensor4dDescriptor(descriptor, Layout(channels_last), DataType(type), n, c, h, w));
  return descriptor;
}

CudnnConvolution::CudnnConvolution(const ConvolutionSize& size, ConvolutionWay way,
                                   const Libraries& libraries)
    : way_(way) {
  x_ = DescribeTensor(&kept_, size.type, size.channels_last, size.input);
  BERTH_CUDA(cudnnCreateFilterDescriptor(&w_));
  kept_.push_back(Owned(w_, &cudnnDestroyFilterDescriptor));
  const auto [k, c, r, s] = Ints(size.filter);
  BERTH_CUDA(cudnnSetFilter4dDescriptor(w_, DataType(size.type), Layout(size.channels_last), k, c, r, s));
  BERTH_CUDA(cudnnCreateConvolutionDescriptor(&how_));
  kept_.push_back(Owned(how_, &cudnnDestroyConvolutionDescriptor));
  BERTH_CUDA(cudnnSetConvolution2dDescriptor(
      how_, static_cast<int>(size.padding[0]), static_cast<int>(size.padding[1]),
      static_cast<int>(size.stride[0]), static_cast<int>(size.stride[1]), 1, 1, CUDNN_CROSS_CORRELATION,
      CUDNN_DATA_FLOAT));
  BERTH_CUDA(cudnnSetConvolutionGroupCount(how_, static_cast<int>(size.groups)));
  BERTH_CUDA(cudnnSetConvolutionMathType(how_, size.tensor_cores ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH));
  std::array<int, 4> shape{};
  BERTH_CUDA(cudnnGetConvolution2dForwardOutputDim(how_, x_, w_, &shape[0], &shape[1], &shape[2], &shape[3]));
  output_ = {shape[0], shape[1], shape[2], shape[3]};
  y_ = DescribeTensor(&kept_, size.type, size.channels_last, output_);

  const auto buffer = [&](const std::array<std::int64_t, 4>& of) {
    return DeviceBuffer(static_cast<std::size_t>(ElementsOf(of)) * BytesOf(size.type));
  };
  const DeviceBuffer x = buffer(size.input), w = buffer(size.filter), y = buffer(output_);
  for (const DeviceBuffer* operand : {&x, &w, &y})
    BERTH_CUDA(cudaMemsetAsync(operand->get(), 0, operand->bytes(), libraries.stream()));
  const DeviceBuffer& workspace = libraries.workspace();
  if (way == ConvolutionWay::kForward) {
    const auto find = [&](int most, int* count, cudnnConvolutionFwdAlgoPerf_t* found) {
      BERTH_CUDA(cudnnFindConvolutionForwardAlgorithmEx(libraries.dnn(), x_, x.get(), w_, w.get(), how_, y_,
                                                        y.get(), most, count, found, workspace.get(),
                                                        workspace.bytes()));
    };
    Choose<decltype(find), cudnnConvolutionFwdAlgoPerf_t>(find, libraries);
  } else if (way == ConvolutionWay::kDataGradient) {
    const auto find = [&](int most, int* count, cudnnConvolutionBwdDataAlgoPerf_t* found) {
      BERTH_CUDA(cudnnFindConvolutionBackwardDataAlgorithmEx(libraries.dnn(), w_, w.get(), y_, y.get(), how_,
                                                             x_, x.get(), most, count, found, workspace.get(),
                                                             workspace.bytes()));
    };
    Choose<decltype(find), cudnnConvolutionBwdDataAlgoPerf_t>(find, libraries);
  } else {
    const auto find = [&](int most, int* count, cudnnConvolutionBwdFilterAlgoPerf_t* found) {
      BERTH_CUDA(cudnnFindConvolutionBackwardFilterAlgorithmEx(libraries.dnn(), x_, x.get(), y_, y.get(),
                                                               how_, w_, w.get(), most, count, found,
                                                               workspace.get(), workspace.bytes()));
    };
    Choose<decltype(find), cudnnConvolutionBwdFilterAlgoPerf_t>(find, libraries);
  }
  BERTH_CUDA(cudaStreamSynchronize(libraries.stream()));  // before the operands go
}

// The fastest of what cuDNN measured that works and fits.
template <typename Find, typename Performance>
void CudnnConvolution::Choose(const Find& find, const Libraries& libraries) {
  std::array<Performance, 8> found{};
  int count = 0;
  find(static_cast<int>(found.size()), &count, found.data());
  ForgetLastError();
  for (int i = 0; i < count; ++i) {
    const Performance& one = found[static_cast<std::size_t>(i)];
    if (one.status != CUDNN_STATUS_SUCCESS || one.memory > libraries.workspace().bytes()) continue;
    algorithm_ = static_cast<int>(one.algo);
    workspace_ = one.memory;
    BERTH_CUDA(cudnnSetConvolutionMathType(how_, one.mathType));
    return;
  }
  throw Unavailable("cuDNN has no algorithm for this convolution within the workspace");
}

void CudnnConvolution::Run(const Libraries& libraries, const void* first, const void* second,
                           void* into) const {
  const float one = 1, zero = 0;
  void* const workspace = libraries.workspace().get();
  switch (way_) {
    case ConvolutionWay::kForward:
      BERTH_CUDA(cudnnConvolutionForward(libraries.dnn(), &one, x_, first, w_, second, how_,
                                         static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), workspace,
                                         workspace_, &zero, y_, into));
      break;
    case ConvolutionWay::kDataGradient:
      BERTH_CUDA(cudnnConvolutionBackwardData(libraries.dnn(), &one, w_, second, y_, first, how_,
                                              static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_),
                                              workspace, workspace_, &zero, x_, into));
      break;
    case ConvolutionWay::kFilterGradient:
      BERTH_CUDA(cudnnConvolutionBackwardFilter(libraries.dnn(), &one, x_, first, y_, second, how_,
                                                static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_),
                                                workspace, workspace_, &zero, w_, into));
      break;
  }
}

}  // namespace berth::profiler::cuda
