// Products through cuBLAS, convolutions and batch normalisation through cuDNN.
//
// Images are NHWC and filters HWIO, as in the graph. cuDNN wants filters KRSC and the same padding on both sides: filters
// are transposed, and images of uneven padding are padded or cropped, in every step, as part of the op.
#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/kernels_graph.h"

namespace stowplan::profiler::cuda {
namespace {

GpuKernel ProductKernel(const Product& product, bool tf32) {
  return {[=](const KernelArguments& a, const Libraries& libraries) {
    Multiply(libraries, Type::kF32, product, tf32, a.in(0), a.in(1), a.out(0));
  }};
}

std::optional<GpuKernel> MakeMatMul(const OpTensors& t, MakingOf& making) {
  const auto product = FindMatMul(t);
  return product ? std::optional(ProductKernel(*product, making.tf32.products)) : std::nullopt;
}

std::optional<GpuKernel> MakeBatchMatMul(const OpTensors& t, MakingOf& making) {
  const auto product = FindBatchMatMul(t);
  return product ? std::optional(ProductKernel(*product, making.tf32.products)) : std::nullopt;
}

// ---- convolutions -------------------------------------------------------------------------------------------

// How an op's tensors become cuDNN's: where the padding is uneven, `padded` images with no padding of cuDNN's.
struct ConvolutionPlan {
  std::shared_ptr<const CudnnConvolution> convolution;
  bool padded = false;
  Corner corner;  // images into padded ones
  std::int64_t padded_pixels = 0, image_pixels = 0;
  std::int64_t filter_rows = 0, filter_columns = 0;  // HWIO as a matrix whose columns are results
  std::size_t image_bytes() const { return padded ? static_cast<std::size_t>(padded_pixels) * 4 : 0; }
  std::size_t filter_bytes() const { return static_cast<std::size_t>(filter_rows * filter_columns) * 4; }
  // Padded images first, so that both are aligned.
  std::size_t filter_offset() const { return (image_bytes() + 255) / 256 * 256; }
  std::size_t scratch_bytes() const { return filter_offset() + filter_bytes(); }
};

std::optional<ConvolutionPlan> Plan(const OpTensors& t, ConvolutionWay way,
                                    const std::vector<std::int64_t>& images,
                                    const std::vector<std::int64_t>& filter,
                                    const std::vector<std::int64_t>& results, MakingOf& making) {
  const auto shape = FindConvolution(t.op(), images, filter, results);
  if (!shape) return std::nullopt;
  const Windows& w = shape->windows;
  ConvolutionPlan plan;
  plan.padded = w.before != w.after;
  ConvolutionSize size;
  size.input = {w.batch, w.channels, w.height, w.width};
  if (plan.padded) {
    size.input[2] += w.before[0] + w.after[0];
    size.input[3] += w.before[1] + w.after[1];
  } else {
    size.padding = w.before;
  }
  size.filter = {shape->results, shape->depthwise ? 1 : w.channels, w.kernel[0], w.kernel[1]};
  size.stride = w.strides;
  size.groups = shape->depthwise ? w.channels : 1;
  size.tensor_cores = making.tf32.convolutions;
  plan.convolution = FindCudnnConvolution(size, way, making.libraries);
  if (plan.convolution->output() !=
      std::array<std::int64_t, 4>{w.batch, shape->results, w.out_height, w.out_width})
    return std::nullopt;
  plan.corner.axes = 4;
  const std::array<std::int64_t, 4> from = {w.batch, w.height, w.width, w.channels},
                                    to = {w.batch, size.input[2], size.input[3], w.channels};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    plan.corner.from[axis] = plan.corner.common[axis] = from[axis];
    plan.corner.to[axis] = to[axis];
  }
  plan.corner.to_offset[1] = w.before[0];
  plan.corner.to_offset[2] = w.before[1];
  plan.image_pixels = ElementsOf(from);
  plan.padded_pixels = ElementsOf(to);
  plan.filter_columns = shape->results;
  plan.filter_rows = w.kernel[0] * w.kernel[1] * (shape->depthwise ? 1 : w.channels);
  return plan;
}

Corner Reversed(Corner corner) {
  std::swap(corner.from, corner.to);
  std::swap(corner.from_offset, corner.to_offset);
  return corner;
}

// The images as cuDNN wants them: themselves, or padded in the scratch.
const void* Padded(const ConvolutionPlan& plan, const KernelArguments& a, const float* images,
                   cudaStream_t stream) {
  if (!plan.padded) return images;
  STOWPLAN_CUDA(cudaMemsetAsync(a.scratch, 0, plan.image_bytes(), stream));
  LaunchCorner(images, Floats(a.scratch), plan.corner, stream);
  return a.scratch;
}

float* FilterScratch(const ConvolutionPlan& plan, const KernelArguments& a) {
  return Floats(static_cast<char*>(a.scratch) + plan.filter_offset());
}

// Inputs: images, filter.
std::optional<GpuKernel> MakeConvolution(const OpTensors& t, MakingOf& making) {
  if (t.inputs() < 2 || t.outputs() != 1) return std::nullopt;
  const auto plan = Plan(t, ConvolutionWay::kForward, t.in_shape(0), t.in_shape(1), t.out_shape(0), making);
  if (!plan) return std::nullopt;
  return GpuKernel{
      [plan = *plan](const KernelArguments& a, const Libraries& libraries) {
        float* const filter = FilterScratch(plan, a);
        LaunchTranspose(a.in(1), filter, plan.filter_rows, plan.filter_columns, libraries.stream());
        plan.convolution->Run(libraries, Padded(plan, a, a.in(0), libraries.stream()), filter, a.out(0));
      },
      plan->scratch_bytes()};
}

// Inputs: gradient of the results, filter.
std::optional<GpuKernel> MakeConvolutionInput(const OpTensors& t, MakingOf& making) {
  if (t.inputs() < 2 || t.outputs() != 1) return std::nullopt;
  const auto plan =
      Plan(t, ConvolutionWay::kDataGradient, t.out_shape(0), t.in_shape(1), t.in_shape(0), making);
  if (!plan) return std::nullopt;
  return GpuKernel{[plan = *plan](const KernelArguments& a, const Libraries& libraries) {
                     float* const filter = FilterScratch(plan, a);
                     LaunchTranspose(a.in(1), filter, plan.filter_rows, plan.filter_columns,
                                     libraries.stream());
                     float* const into = plan.padded ? Floats(a.scratch) : a.out(0);
                     plan.convolution->Run(libraries, a.in(0), filter, into);
                     if (plan.padded) LaunchCorner(into, a.out(0), Reversed(plan.corner), libraries.stream());
                   },
                   plan->scratch_bytes()};
}

// Inputs: images, gradient of the results.
std::optional<GpuKernel> MakeConvolutionFilter(const OpTensors& t, MakingOf& making) {
  if (t.inputs() < 2 || t.outputs() != 1) return std::nullopt;
  const auto plan =
      Plan(t, ConvolutionWay::kFilterGradient, t.in_shape(0), t.out_shape(0), t.in_shape(1), making);
  if (!plan) return std::nullopt;
  return GpuKernel{
      [plan = *plan](const KernelArguments& a, const Libraries& libraries) {
        float* const filter = FilterScratch(plan, a);
        plan.convolution->Run(libraries, Padded(plan, a, a.in(0), libraries.stream()), a.in(1), filter);
        LaunchTranspose(filter, a.out(0), plan.filter_columns, plan.filter_rows, libraries.stream());
      },
      plan->scratch_bytes()};
}

// ---- batch normalisation ------------------------------------------------------------------------------------

// Channels are the last axis; the descriptors, and a vector of ones where the op has no scale.
struct BatchNormPlan {
  std::vector<std::shared_ptr<void>> descriptors;
  std::shared_ptr<DeviceBuffer> ones;
  cudnnTensorDescriptor_t tensor = nullptr, per_channel = nullptr;
  std::size_t vector_bytes = 0;
};

BatchNormPlan PlanBatchNorm(const std::vector<std::int64_t>& shape, bool scaled, const Libraries& libraries) {
  BatchNormPlan plan;
  const std::int64_t channels = shape.back(), rows = profiler::ElementsOf(shape) / channels;
  const bool images = shape.size() == 4;
  plan.tensor = DescribeTensor(&plan.descriptors, Type::kF32, true,
                               images ? std::array<std::int64_t, 4>{shape[0], channels, shape[1], shape[2]}
                                      : std::array<std::int64_t, 4>{rows, channels, 1, 1});
  // As cudnnDeriveBNTensorDescriptor has it, whatever the layout of the images.
  plan.per_channel = DescribeTensor(&plan.descriptors, Type::kF32, false, {1, channels, 1, 1});
  plan.vector_bytes = (static_cast<std::size_t>(channels) * sizeof(float) + 255) / 256 * 256;
  if (!scaled) {
    plan.ones = std::make_shared<DeviceBuffer>(plan.vector_bytes);
    const std::vector<float> ones(static_cast<std::size_t>(channels), 1.0F);
    STOWPLAN_CUDA(cudaMemcpyAsync(plan.ones->get(), ones.data(), ones.size() * sizeof(float),
                                  cudaMemcpyHostToDevice, libraries.stream()));
    STOWPLAN_CUDA(cudaStreamSynchronize(libraries.stream()));  // before `ones` goes
  }
  return plan;
}

constexpr auto kNormMode = CUDNN_BATCHNORM_SPATIAL;
constexpr double kEpsilon = 1e-3;

// Inputs: x, scale if there is one, offset.
std::optional<GpuKernel> MakeBatchNorm(const OpTensors& t, MakingOf& making) {
  if (t.inputs() < 2 || t.inputs() > 3 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes ||
      t.out_shape(0).empty())
    return std::nullopt;
  const std::int64_t channels = t.out_shape(0).back();
  for (std::size_t i = 1; i < t.inputs(); ++i) {
    if (profiler::ElementsOf(t.in_shape(i)) != channels) return std::nullopt;
  }
  const bool scaled = t.inputs() == 3;
  const BatchNormPlan plan = PlanBatchNorm(t.out_shape(0), scaled, making.libraries);
  return GpuKernel{[=](const KernelArguments& a, const Libraries& libraries) {
    const float one = 1, zero = 0;
    const void* const scale = scaled ? a.in<void>(1) : plan.ones->get();
    STOWPLAN_CUDA(cudnnBatchNormalizationForwardTraining(
        libraries.dnn(), kNormMode, &one, &zero, plan.tensor, a.in(0), plan.tensor, a.out(0),
        plan.per_channel, scale, a.in(scaled ? 2 : 1), 1.0, nullptr, nullptr, kEpsilon, nullptr, nullptr));
  }};
}

// Inputs: dy, x, scale if there is one. Outputs: gradients of x, of the scale if there is one, of the offset.
std::optional<GpuKernel> MakeBatchNormGrad(const OpTensors& t, MakingOf& making) {
  const bool scaled = t.inputs() == 3;
  if (t.inputs() < 2 || t.inputs() > 3 || t.outputs() != (scaled ? 3U : 2U) || t.out_shape(0).empty() ||
      t.input(0).bytes != t.output(0).bytes || t.input(1).bytes != t.output(0).bytes)
    return std::nullopt;
  const std::int64_t channels = t.out_shape(0).back();
  for (std::size_t i = 1; i < t.outputs(); ++i) {
    if (profiler::ElementsOf(t.out_shape(i)) != channels) return std::nullopt;
  }
  if (scaled && profiler::ElementsOf(t.in_shape(2)) != channels) return std::nullopt;
  const BatchNormPlan plan = PlanBatchNorm(t.out_shape(0), scaled, making.libraries);
  return GpuKernel{[=](const KernelArguments& a, const Libraries& libraries) {
                     const float one = 1, zero = 0;
                     const void* const scale = scaled ? a.in<void>(2) : plan.ones->get();
                     void* const dscale = scaled ? a.out<void>(1) : a.scratch;
                     STOWPLAN_CUDA(cudnnBatchNormalizationBackward(
                         libraries.dnn(), kNormMode, &one, &zero, &one, &zero, plan.tensor, a.in(1),
                         plan.tensor, a.in(0), plan.tensor, a.out(0), plan.per_channel, scale, dscale,
                         a.out(scaled ? 2 : 1), kEpsilon, nullptr, nullptr));
                   },
                   plan.vector_bytes};
}

}  // namespace

const std::vector<GpuRow>& MatrixRows() {
  static const std::vector<GpuRow> rows = {
      {"MatMul", MakeMatMul},
      {"BatchMatMul", MakeBatchMatMul},
      {"Conv2D", MakeConvolution},
      {"Conv2DBackpropInput", MakeConvolutionInput},
      {"Conv2DBackpropFilter", MakeConvolutionFilter},
      {"DepthwiseConv2dNative", MakeConvolution},
      {"DepthwiseConv2dNativeBackpropInput", MakeConvolutionInput},
      {"DepthwiseConv2dNativeBackpropFilter", MakeConvolutionFilter},
      {"FusedBatchNorm", MakeBatchNorm},
      {"FusedBatchNormGrad", MakeBatchNormGrad},
  };
  return rows;
}

}  // namespace stowplan::profiler::cuda
