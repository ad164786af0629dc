// 16-bit convolutions and batch normalisation through cuDNN, tensors in NHWC, as PyTorch lays them out for speed.
#include <array>

#include "profiler/cuda/convolution.h"
#include "profiler/cuda/prepared_op.h"

namespace stowplan::profiler::cuda {
std::unique_ptr<PreparedOp> PrepareConvolution(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  ConvolutionSize size;
  size.type = TypeNamed(one.format);
  size.input = {one.dim("batch"), one.dim("in"), one.dim("side"), one.dim("side")};
  size.filter = {one.dim("out"), one.dim("in"), one.dim("kernel_h"), one.dim("kernel_w")};
  size.padding = {one.dim("kernel_h") / 2, one.dim("kernel_w") / 2};
  size.stride = {one.dim("stride"), one.dim("stride")};
  const ConvolutionWay way = one.phase == "forward"         ? ConvolutionWay::kForward
                             : one.phase == "data_gradient" ? ConvolutionWay::kDataGradient
                                                            : ConvolutionWay::kFilterGradient;
  const auto convolution = FindCudnnConvolution(size, way, libraries);
  void* const x = op->Operand(size.type, ElementsOf(size.input), libraries.stream());
  void* const w = op->Operand(size.type, ElementsOf(size.filter), libraries.stream());
  void* const y = op->Operand(size.type, ElementsOf(convolution->output()), libraries.stream());
  op->run = [=, &libraries] {
    if (way == ConvolutionWay::kForward) return convolution->Run(libraries, x, w, y);
    if (way == ConvolutionWay::kDataGradient) return convolution->Run(libraries, y, w, x);
    convolution->Run(libraries, x, y, w);
  };
  return op;
}

std::unique_ptr<PreparedOp> PrepareBatchNorm(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t channels = one.dim("channels");
  const std::array<std::int64_t, 4> shape = {one.dim("batch"), channels, one.dim("side"), one.dim("side")};
  std::vector<std::shared_ptr<void>> descriptors;
  const cudnnTensorDescriptor_t tensor = DescribeTensor(&descriptors, type, true, shape);
  cudnnTensorDescriptor_t per_channel = nullptr;
  STOWPLAN_CUDA(cudnnCreateTensorDescriptor(&per_channel));
  descriptors.push_back(Owned(per_channel, &cudnnDestroyTensorDescriptor));
  for (std::shared_ptr<void>& descriptor : descriptors) op->Keep(std::move(descriptor));
  STOWPLAN_CUDA(cudnnDeriveBNTensorDescriptor(per_channel, tensor, CUDNN_BATCHNORM_SPATIAL_PERSISTENT));
  const cudaStream_t stream = libraries.stream();
  const void* const x = op->Operand(type, ElementsOf(shape), stream);
  void* const y = op->Operand(type, ElementsOf(shape), stream);
  const void* const dy = op->Operand(type, ElementsOf(shape), stream);
  std::array<void*, 6> c{};
  for (void*& vector : c) vector = op->Operand(Type::kF32, channels, stream);
  constexpr auto kMode = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
  const bool backward = one.phase == "backward";
  op->run = [=, &libraries] {
    const float alpha = 1, beta = 0;
    if (backward) {
      STOWPLAN_CUDA(cudnnBatchNormalizationBackward(libraries.dnn(), kMode, &alpha, &beta, &alpha, &beta,
                                                    tensor, x, tensor, dy, tensor, y, per_channel, c[0], c[1],
                                                    c[2], 1e-5, nullptr, nullptr));
    } else {
      STOWPLAN_CUDA(cudnnBatchNormalizationForwardTraining(libraries.dnn(), kMode, &alpha, &beta, tensor, x,
                                                           tensor, y, per_channel, c[0], c[1], 0.1, c[2],
                                                           c[3], 1e-5, c[4], c[5]));
    }
  };
  return op;
}

}  // namespace stowplan::profiler::cuda
