// Convolutions and batch normalisation through cuDNN, tensors in NHWC for 16-bit types and NCHW for 32-bit ones, as
// PyTorch lays them out for speed. The algorithm is what cuDNN measures to be the fastest within the workspace; that
// choice is not timed.
#include <array>

#include "profiler/backend.h"
#include "profiler/cuda/prepared_op.h"

namespace berth::profiler::cuda {
namespace {

template <typename Descriptor>
std::shared_ptr<void> Owned(Descriptor descriptor, cudnnStatus_t (*destroy)(Descriptor)) {
  return {static_cast<void*>(descriptor), [destroy](void* kept) { destroy(static_cast<Descriptor>(kept)); }};
}

cudnnDataType_t DataType(Type type) {
  return type == Type::kF32 ? CUDNN_DATA_FLOAT : type == Type::kF16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}
cudnnTensorFormat_t Layout(Type type) {
  return type == Type::kF32 ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
}

cudnnTensorDescriptor_t Tensor(PreparedOp& op, Type type, const std::array<std::int64_t, 4>& nchw) {
  cudnnTensorDescriptor_t descriptor = nullptr;
  BERTH_CUDA(cudnnCreateTensorDescriptor(&descriptor));
  op.Keep(Owned(descriptor, &cudnnDestroyTensorDescriptor));
  BERTH_CUDA(cudnnSetTensor4dDescriptor(descriptor, Layout(type), DataType(type), static_cast<int>(nchw[0]),
                                        static_cast<int>(nchw[1]), static_cast<int>(nchw[2]),
                                        static_cast<int>(nchw[3])));
  return descriptor;
}

std::int64_t Elements(const std::array<std::int64_t, 4>& shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

// The fastest of what cuDNN measured that works and fits.
template <typename Performance>
const Performance& Fastest(const std::array<Performance, 8>& found, int count, const Libraries& libraries) {
  for (int i = 0; i < count; ++i) {
    const auto& one = found[static_cast<std::size_t>(i)];
    if (one.status == CUDNN_STATUS_SUCCESS && one.memory <= libraries.workspace().bytes()) return one;
  }
  throw Unavailable("cuDNN has no algorithm for this convolution within the workspace");
}

struct Convolution {
  cudnnTensorDescriptor_t input, output;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t how;
  void *x, *w, *y;
};

Convolution Describe(PreparedOp& op, const OpCase& one, const Libraries& libraries) {
  const Type type = TypeNamed(one.format);
  const std::int64_t stride = one.dim("stride"), kernel_h = one.dim("kernel_h"),
                     kernel_w = one.dim("kernel_w");
  const std::array<std::int64_t, 4> input = {one.dim("batch"), one.dim("in"), one.dim("side"),
                                             one.dim("side")};
  const std::array<std::int64_t, 4> filter = {one.dim("out"), one.dim("in"), kernel_h, kernel_w};
  Convolution c{};
  c.input = Tensor(op, type, input);
  BERTH_CUDA(cudnnCreateFilterDescriptor(&c.filter));
  op.Keep(Owned(c.filter, &cudnnDestroyFilterDescriptor));
  BERTH_CUDA(cudnnSetFilter4dDescriptor(c.filter, DataType(type), Layout(type), static_cast<int>(filter[0]),
                                        static_cast<int>(filter[1]), static_cast<int>(filter[2]),
                                        static_cast<int>(filter[3])));
  BERTH_CUDA(cudnnCreateConvolutionDescriptor(&c.how));
  op.Keep(Owned(c.how, &cudnnDestroyConvolutionDescriptor));
  BERTH_CUDA(cudnnSetConvolution2dDescriptor(
      c.how, static_cast<int>(kernel_h / 2), static_cast<int>(kernel_w / 2), static_cast<int>(stride),
      static_cast<int>(stride), 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  BERTH_CUDA(cudnnSetConvolutionMathType(c.how, one.format == "f32" ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
  std::array<int, 4> shape{};
  BERTH_CUDA(cudnnGetConvolution2dForwardOutputDim(c.how, c.input, c.filter, &shape[0], &shape[1], &shape[2],
                                                   &shape[3]));
  const std::array<std::int64_t, 4> output = {shape[0], shape[1], shape[2], shape[3]};
  c.output = Tensor(op, type, output);
  c.x = op.Operand(type, Elements(input), libraries.stream());
  c.w = op.Operand(type, Elements(filter), libraries.stream());
  c.y = op.Operand(type, Elements(output), libraries.stream());
  return c;
}

Work Forward(const Convolution& c, const Libraries& libraries) {
  std::array<cudnnConvolutionFwdAlgoPerf_t, 8> found{};
  int count = 0;
  BERTH_CUDA(cudnnFindConvolutionForwardAlgorithmEx(
      libraries.dnn(), c.input, c.x, c.filter, c.w, c.how, c.output, c.y, static_cast<int>(found.size()),
      &count, found.data(), libraries.workspace().get(), libraries.workspace().bytes()));
  const auto best = Fastest(found, count, libraries);
  BERTH_CUDA(cudnnSetConvolutionMathType(c.how, best.mathType));
  return [c, best, &libraries] {
    const float one = 1, zero = 0;
    BERTH_CUDA(cudnnConvolutionForward(libraries.dnn(), &one, c.input, c.x, c.filter, c.w, c.how, best.algo,
                                       libraries.workspace().get(), best.memory, &zero, c.output, c.y));
  };
}

Work DataGradient(const Convolution& c, const Libraries& libraries) {
  std::array<cudnnConvolutionBwdDataAlgoPerf_t, 8> found{};
  int count = 0;
  BERTH_CUDA(cudnnFindConvolutionBackwardDataAlgorithmEx(
      libraries.dnn(), c.filter, c.w, c.output, c.y, c.how, c.input, c.x, static_cast<int>(found.size()),
      &count, found.data(), libraries.workspace().get(), libraries.workspace().bytes()));
  const auto best = Fastest(found, count, libraries);
  BERTH_CUDA(cudnnSetConvolutionMathType(c.how, best.mathType));
  return [c, best, &libraries] {
    const float one = 1, zero = 0;
    BERTH_CUDA(cudnnConvolutionBackwardData(libraries.dnn(), &one, c.filter, c.w, c.output, c.y, c.how,
                                            best.algo, libraries.workspace().get(), best.memory, &zero,
                                            c.input, c.x));
  };
}

Work FilterGradient(const Convolution& c, const Libraries& libraries) {
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, 8> found{};
  int count = 0;
  BERTH_CUDA(cudnnFindConvolutionBackwardFilterAlgorithmEx(
      libraries.dnn(), c.input, c.x, c.output, c.y, c.how, c.filter, c.w, static_cast<int>(found.size()),
      &count, found.data(), libraries.workspace().get(), libraries.workspace().bytes()));
  const auto best = Fastest(found, count, libraries);
  BERTH_CUDA(cudnnSetConvolutionMathType(c.how, best.mathType));
  return [c, best, &libraries] {
    const float one = 1, zero = 0;
    BERTH_CUDA(cudnnConvolutionBackwardFilter(libraries.dnn(), &one, c.input, c.x, c.output, c.y, c.how,
                                              best.algo, libraries.workspace().get(), best.memory, &zero,
                                              c.filter, c.w));
  };
}

}  // namespace

std::unique_ptr<PreparedOp> PrepareConvolution(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Convolution c = Describe(*op, one, libraries);
  op->run = one.phase == "forward"         ? Forward(c, libraries)
            : one.phase == "data_gradient" ? DataGradient(c, libraries)
                                           : FilterGradient(c, libraries);
  return op;
}

std::unique_ptr<PreparedOp> PrepareBatchNorm(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t channels = one.dim("channels");
  const std::array<std::int64_t, 4> shape = {one.dim("batch"), channels, one.dim("side"), one.dim("side")};
  const cudnnTensorDescriptor_t tensor = Tensor(*op, type, shape);
  cudnnTensorDescriptor_t per_channel = nullptr;
  BERTH_CUDA(cudnnCreateTensorDescriptor(&per_channel));
  op->Keep(Owned(per_channel, &cudnnDestroyTensorDescriptor));
  BERTH_CUDA(cudnnDeriveBNTensorDescriptor(per_channel, tensor, CUDNN_BATCHNORM_SPATIAL_PERSISTENT));
  const cudaStream_t stream = libraries.stream();
  const void* const x = op->Operand(type, Elements(shape), stream);
  void* const y = op->Operand(type, Elements(shape), stream);
  const void* const dy = op->Operand(type, Elements(shape), stream);
  std::array<void*, 6> c{};
  for (void*& vector : c) vector = op->Operand(Type::kF32, channels, stream);
  constexpr auto kMode = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
  const bool backward = one.phase == "backward";
  op->run = [=, &libraries] {
    const float alpha = 1, beta = 0;
    if (backward) {
      BERTH_CUDA(cudnnBatchNormalizationBackward(libraries.dnn(), kMode, &alpha, &beta, &alpha, &beta, tensor,
                                                 x, tensor, dy, tensor, y, per_channel, c[0], c[1], c[2],
                                                 1e-5, nullptr, nullptr));
    } else {
      BERTH_CUDA(cudnnBatchNormalizationForwardTraining(libraries.dnn(), kMode, &alpha, &beta, tensor, x,
                                                        tensor, y, per_channel, c[0], c[1], 0.1, c[2], c[3],
                                                        1e-5, c[4], c[5]));
    }
  };
  return op;
}

}  // namespace berth::profiler::cuda
