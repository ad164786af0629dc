// Ops that look at rows (the last axis), at sums or at windows: our own kernels.
#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/kernels_graph.h"

namespace stowplan::profiler::cuda {
namespace {

using profiler::ElementsOf;

// The rows of a tensor along its last axis.
struct Rows {
  std::int64_t rows = 0, columns = 0;
};
std::optional<Rows> RowsOf(const std::vector<std::int64_t>& shape) {
  if (shape.empty() || ElementsOf(shape) == 0) return std::nullopt;
  return Rows{ElementsOf(shape) / shape.back(), shape.back()};
}

std::optional<GpuKernel> MakeSoftmax(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 1 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes) return std::nullopt;
  const auto r = RowsOf(t.out_shape(0));
  if (!r) return std::nullopt;
  return GpuKernel{[r = *r](const KernelArguments& a, const Libraries& libraries) {
    LaunchSoftmax(Type::kF32, a.in(0), a.out(0), r.rows, r.columns, libraries.stream());
  }};
}

// Inputs: y, dy.
std::optional<GpuKernel> MakeSoftmaxGrad(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 2 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes ||
      t.input(1).bytes != t.output(0).bytes)
    return std::nullopt;
  const auto r = RowsOf(t.out_shape(0));
  if (!r) return std::nullopt;
  return GpuKernel{[r = *r](const KernelArguments& a, const Libraries& libraries) {
    LaunchSoftmaxGradient(Type::kF32, a.in(0), a.in(1), a.out(0), r.rows, r.columns, libraries.stream());
  }};
}

// Inputs: logits, labels. Outputs: the loss of each row, its probabilities.
std::optional<GpuKernel> MakeCrossEntropy(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 2 || t.outputs() != 2 || t.input(1).dtype != "i32" ||
      t.input(0).bytes != t.output(1).bytes)
    return std::nullopt;
  const std::int64_t rows = ElementsOf(t.out_shape(0));
  if (rows == 0 || ElementsOf(t.in_shape(1)) != rows || ElementsOf(t.out_shape(1)) % rows != 0)
    return std::nullopt;
  return GpuKernel{[rows, columns = ElementsOf(t.out_shape(1)) / rows](const KernelArguments& a,
                                                                       const Libraries& libraries) {
    LaunchSoftmax(Type::kF32, a.in(0), a.out(1), rows, columns, libraries.stream());
    LaunchLoss(a.out(1), a.in<std::int32_t>(1), a.out(0), rows, columns, libraries.stream());
  }};
}

// Inputs: probabilities and, unless this is the loss itself, the gradient of each row's loss.
std::optional<GpuKernel> MakeCrossEntropyGrad(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 1 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes) return std::nullopt;
  const auto r = RowsOf(t.out_shape(0));
  if (!r) return std::nullopt;
  const bool scaled = t.inputs() > 1 && ElementsOf(t.in_shape(1)) == r->rows;
  return GpuKernel{[r = *r, scaled](const KernelArguments& a, const Libraries& libraries) {
    LaunchLossGradient(a.in(0), scaled ? a.in(1) : nullptr, a.out(0), r.rows, r.columns, libraries.stream());
  }};
}

// Inputs: x, scale, offset.
std::optional<GpuKernel> MakeLayerNorm(const OpTensors& t, MakingOf&) {
  if (t.inputs() != 3 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes) return std::nullopt;
  const auto r = RowsOf(t.out_shape(0));
  if (!r || ElementsOf(t.in_shape(1)) != r->columns || ElementsOf(t.in_shape(2)) != r->columns)
    return std::nullopt;
  return GpuKernel{[r = *r](const KernelArguments& a, const Libraries& libraries) {
    LaunchLayerNorm(Type::kF32, a.in(0), a.in(1), a.in(2), a.out(0), r.rows, r.columns, libraries.stream());
  }};
}

// Inputs: dy, x, scale. Outputs: gradients of x, of the scale, of the offset; normalised rows in the scratch.
std::optional<GpuKernel> MakeLayerNormGrad(const OpTensors& t, MakingOf&) {
  if (t.inputs() != 3 || t.outputs() != 3 || t.input(0).bytes != t.output(0).bytes ||
      t.input(1).bytes != t.output(0).bytes)
    return std::nullopt;
  const auto r = RowsOf(t.out_shape(0));
  if (!r || ElementsOf(t.in_shape(2)) != r->columns || ElementsOf(t.out_shape(1)) != r->columns ||
      ElementsOf(t.out_shape(2)) != r->columns)
    return std::nullopt;
  const Spread columns{1, r->rows, r->columns};
  return GpuKernel{
      [r = *r, columns](const KernelArguments& a, const Libraries& libraries) {
        const cudaStream_t stream = libraries.stream();
        LaunchLayerNormGradient(Type::kF32, a.in(1), a.in(0), a.in(2), a.out(0), r.rows, r.columns, stream);
        LaunchLayerNorm(Type::kF32, a.in(1), nullptr, nullptr, a.scratch, r.rows, r.columns, stream);
        float* const partial = Floats(a.scratch) + r.rows * r.columns;
        LaunchSpreadSum(a.in(0), Floats(a.scratch), a.out(1), columns, 1, partial, stream);
        LaunchSpreadSum(a.in(0), nullptr, a.out(2), columns, 1, partial, stream);
      },
      static_cast<std::size_t>(r->rows * r->columns) * sizeof(float) + PartialBytes(columns)};
}

// ---- sums over the axes that the result lacks -----------------------------------------------------------------

std::optional<GpuKernel> MakeSum(const OpTensors& t, bool product, float scale) {
  Spread s;
  if (t.inputs() < (product ? 2U : 1U) || t.outputs() != 1 ||
      !FindSpread(t.op(), t.in_shape(0), t.out_shape(0), &s) ||
      (product && t.input(0).bytes != t.input(1).bytes))
    return std::nullopt;
  return GpuKernel{[=](const KernelArguments& a, const Libraries& libraries) {
                     LaunchSpreadSum(a.in(0), product ? a.in(1) : nullptr, a.out(0), s, scale,
                                     Floats(a.scratch), libraries.stream());
                   },
                   PartialBytes(s)};
}
std::optional<GpuKernel> MakeReduceSum(const OpTensors& t, MakingOf&) {
  return MakeSum(t, false, 1);
}
std::optional<GpuKernel> MakeMulSum(const OpTensors& t, MakingOf&) {
  return MakeSum(t, true, 1);
}
std::optional<GpuKernel> MakeMean(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 1 || t.outputs() != 1 || t.input(0).bytes == 0) return std::nullopt;
  return MakeSum(
      t, false,
      static_cast<float>(static_cast<double>(t.output(0).bytes) / static_cast<double>(t.input(0).bytes)));
}

// ---- windows --------------------------------------------------------------------------------------------------

std::optional<Windows> FindPool(const OpTensors& t, const std::vector<std::int64_t>& images,
                                const std::vector<std::int64_t>& results) {
  Windows w;
  if (!FindWindows(t.op(), images, results, &w) || results[3] != w.channels) return std::nullopt;
  return w;
}

template <void (*kLaunch)(const float*, float*, const Windows&, cudaStream_t)>
std::optional<GpuKernel> MakePool(const OpTensors& t, MakingOf&) {
  if (t.inputs() != 1 || t.outputs() != 1) return std::nullopt;
  const auto w = FindPool(t, t.in_shape(0), t.out_shape(0));
  if (!w) return std::nullopt;
  return GpuKernel{[w = *w](const KernelArguments& a, const Libraries& libraries) {
    kLaunch(a.in(0), a.out(0), w, libraries.stream());
  }};
}

// Input: the gradient of the results.
std::optional<GpuKernel> MakeAveragePoolGrad(const OpTensors& t, MakingOf&) {
  if (t.inputs() != 1 || t.outputs() != 1) return std::nullopt;
  const auto w = FindPool(t, t.out_shape(0), t.in_shape(0));
  if (!w) return std::nullopt;
  return GpuKernel{[w = *w](const KernelArguments& a, const Libraries& libraries) {
    LaunchAveragePoolGradient(a.in(0), a.out(0), w, libraries.stream());
  }};
}

// Inputs: x, y, dy.
std::optional<GpuKernel> MakeMaxPoolGrad(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 3 || t.outputs() != 1 || t.input(2).bytes != t.input(1).bytes ||
      t.input(0).bytes != t.output(0).bytes)
    return std::nullopt;
  const auto w = FindPool(t, t.in_shape(0), t.in_shape(1));
  if (!w) return std::nullopt;
  return GpuKernel{[w = *w](const KernelArguments& a, const Libraries& libraries) {
    LaunchMaxPoolGradient(a.in(0), a.in(2), a.out(0), w, libraries.stream());
  }};
}

}  // namespace

const std::vector<GpuRow>& RowRows() {
  static const std::vector<GpuRow> rows = {
      {"Softmax", MakeSoftmax},
      {"SoftmaxGrad", MakeSoftmaxGrad},
      {"SoftmaxCrossEntropyWithLogits", MakeCrossEntropy},
      {"SoftmaxCrossEntropyGrad", MakeCrossEntropyGrad},
      {"LayerNorm", MakeLayerNorm},
      {"LayerNormGrad", MakeLayerNormGrad},
      {"ReduceSum", MakeReduceSum},
      {"BiasAddGrad", MakeReduceSum},
      {"Mean", MakeMean},
      {"MulSum", MakeMulSum},
      {"MaxPool", MakePool<LaunchMaxPool>},
      {"AvgPool", MakePool<LaunchAveragePool>},
      {"MaxPoolGrad", MakeMaxPoolGrad},
      {"AvgPoolGrad", MakeAveragePoolGrad},
  };
  return rows;
}

}  // namespace stowplan::profiler::cuda
