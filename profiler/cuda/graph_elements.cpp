// Ops on elements, ops that move numbers and change none, updates of weights: our own kernels and copies.
#include <algorithm>

#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/kernels_graph.h"

namespace stowplan::profiler::cuda {
namespace {

using profiler::ElementsOf;

template <Each kOp>
std::optional<GpuKernel> MakeEach(const OpTensors& t, MakingOf&) {
  if (t.inputs() != 1 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes) return std::nullopt;
  return GpuKernel{[n = ElementsOf(t.out_shape(0))](const KernelArguments& a, const Libraries& libraries) {
    LaunchEach(Type::kF32, kOp, a.in(0), a.out(0), n, libraries.stream());
  }};
}

// Tensors of one size, in the order of the op's inputs.
template <Pair kOp>
std::optional<GpuKernel> MakePair(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 2 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes ||
      t.input(1).bytes != t.output(0).bytes)
    return std::nullopt;
  return GpuKernel{[n = ElementsOf(t.out_shape(0))](const KernelArguments& a, const Libraries& libraries) {
    LaunchPair(Type::kF32, kOp, a.in(0), a.in(1), a.out(0), n, libraries.stream());
  }};
}

// The smaller input is spread over the larger one.
template <Pair kOp>
std::optional<GpuKernel> MakeBinary(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 2 || t.outputs() != 1) return std::nullopt;
  const bool swapped = ElementsOf(t.in_shape(0)) < ElementsOf(t.in_shape(1));
  const std::size_t large = swapped ? 1 : 0, small = swapped ? 0 : 1;
  Spread s;
  if (t.input(large).bytes != t.output(0).bytes ||
      !FindSpread(t.op(), t.in_shape(large), t.in_shape(small), &s))
    return std::nullopt;
  return GpuKernel{[=](const KernelArguments& a, const Libraries& libraries) {
    LaunchSpread(kOp, a.in(large), a.in(small), a.out(0), s, libraries.stream());
  }};
}

std::optional<GpuKernel> MakeAddN(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 2 || t.outputs() != 1) return std::nullopt;
  for (std::size_t i = 0; i < t.inputs(); ++i) {
    if (t.input(i).bytes != t.output(0).bytes) return std::nullopt;
  }
  return GpuKernel{[terms = t.inputs(), n = ElementsOf(t.out_shape(0))](const KernelArguments& a,
                                                                        const Libraries& libraries) {
    LaunchPair(Type::kF32, Pair::kAdd, a.in(0), a.in(1), a.out(0), n, libraries.stream());
    for (std::size_t k = 2; k < terms; ++k)
      LaunchPair(Type::kF32, Pair::kAdd, a.out(0), a.in(k), a.out(0), n, libraries.stream());
  }};
}

std::optional<GpuKernel> MakeDropout(const OpTensors& t, MakingOf&) {
  if (t.inputs() != 1 || t.outputs() != 2 || t.output(0).bytes != t.output(1).bytes ||
      t.input(0).bytes != t.output(0).bytes)
    return std::nullopt;
  return GpuKernel{[n = ElementsOf(t.out_shape(0))](const KernelArguments& a, const Libraries& libraries) {
    LaunchDropout(a.in(0), a.out(0), a.out(1), n, libraries.stream());
  }};
}

std::optional<GpuKernel> MakeTile(const OpTensors& t, MakingOf&) {
  Spread s;
  if (t.inputs() < 1 || t.outputs() != 1 || !FindSpread(t.op(), t.out_shape(0), t.in_shape(0), &s))
    return std::nullopt;
  return GpuKernel{[s](const KernelArguments& a, const Libraries& libraries) {
    LaunchTile(a.in(0), a.out(0), s, libraries.stream());
  }};
}

// ---- parts and corners ----------------------------------------------------------------------------------------

// `rows` rows of `width` words, from rows of `from_width` into rows of `to_width`.
void CopyRows(const float* from, std::int64_t from_width, float* to, std::int64_t to_width,
              std::int64_t width, std::int64_t rows, cudaStream_t stream) {
  constexpr std::size_t kWord = sizeof(float);
  if (width == 0 || rows == 0) return;
  STOWPLAN_CUDA(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_width) * kWord, from,
                                  static_cast<std::size_t>(from_width) * kWord,
                                  static_cast<std::size_t>(width) * kWord, static_cast<std::size_t>(rows),
                                  cudaMemcpyDeviceToDevice, stream));
}

std::optional<GpuKernel> MakeJoin(const OpTensors& t, MakingOf&) {
  const auto parts = FindJoin(t);
  if (!parts) return std::nullopt;
  return GpuKernel{[parts = *parts](const KernelArguments& a, const Libraries& libraries) {
    const std::int64_t total = parts.total();
    std::int64_t offset = 0;
    for (std::size_t p = 0; p < parts.widths.size(); offset += parts.widths[p++])
      CopyRows(a.in(p), parts.widths[p], a.out(0) + offset, total, parts.widths[p], parts.outer,
               libraries.stream());
  }};
}

std::optional<GpuKernel> MakeSplit(const OpTensors& t, MakingOf&) {
  const auto parts = FindSplit(t);
  if (!parts) return std::nullopt;
  return GpuKernel{[parts = *parts](const KernelArguments& a, const Libraries& libraries) {
    const std::int64_t total = parts.total();
    std::int64_t offset = 0;
    for (std::size_t p = 0; p < parts.widths.size(); offset += parts.widths[p++])
      CopyRows(a.in(0) + offset, total, a.out(p), parts.widths[p], parts.widths[p], parts.outer,
               libraries.stream());
  }};
}

// Pad, Slice: the common corner is copied, what lies outside of the source is zero.
std::optional<GpuKernel> MakeCorner(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 1 || t.outputs() != 1 || t.in_shape(0).size() != t.out_shape(0).size() ||
      t.out_shape(0).empty() || t.out_shape(0).size() > Corner::kMostAxes)
    return std::nullopt;
  Corner corner;
  corner.axes = static_cast<int>(t.out_shape(0).size());
  for (std::size_t axis = 0; axis < t.out_shape(0).size(); ++axis) {
    corner.from[axis] = t.in_shape(0)[axis];
    corner.to[axis] = t.out_shape(0)[axis];
    corner.common[axis] = std::min(corner.from[axis], corner.to[axis]);
  }
  return GpuKernel{[corner, bytes = static_cast<std::size_t>(t.output(0).bytes),
                    pads = corner.common != corner.to](const KernelArguments& a, const Libraries& libraries) {
    if (pads) STOWPLAN_CUDA(cudaMemsetAsync(a.out(0), 0, bytes, libraries.stream()));
    LaunchCorner(a.in(0), a.out(0), corner, libraries.stream());
  }};
}

// ---- tables -----------------------------------------------------------------------------------------------------

std::optional<GpuKernel> MakeGather(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 2 || t.outputs() != 1 || t.in_shape(0).size() < 2) return std::nullopt;
  const std::int64_t rows = t.in_shape(0)[0], count = ElementsOf(t.in_shape(1));
  const std::int64_t width = ElementsOf(t.in_shape(0)) / std::max<std::int64_t>(rows, 1);
  if (rows <= 0 || t.input(1).dtype != "i32" || count * width != ElementsOf(t.out_shape(0)))
    return std::nullopt;
  return GpuKernel{[=](const KernelArguments& a, const Libraries& libraries) {
    LaunchGatherRows(a.in(0), a.in<std::int32_t>(1), a.out(0), rows, width, count, libraries.stream());
  }};
}

// GatherGrad: the rows of the gradient, as they are.
std::optional<GpuKernel> MakeRows(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 1 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes) return std::nullopt;
  return GpuKernel{[n = ElementsOf(t.out_shape(0))](const KernelArguments& a, const Libraries& libraries) {
    LaunchEach(Type::kF32, Each::kCopy, a.in(0), a.out(0), n, libraries.stream());
  }};
}

// Inputs: a table, numbers of rows, what is added to them. Writes into the table, which the output shares.
std::optional<GpuKernel> MakeScatterAdd(const OpTensors& t, MakingOf&) {
  if (t.inputs() != 3 || t.outputs() != 1 || t.in_shape(0).size() != 2 || t.input(1).dtype != "i32" ||
      t.output(0).storage != sim::Output::Storage::kInput)
    return std::nullopt;
  const std::int64_t rows = t.in_shape(0)[0], width = t.in_shape(0)[1], count = ElementsOf(t.in_shape(1));
  if (rows <= 0 || ElementsOf(t.in_shape(2)) != count * width) return std::nullopt;
  return GpuKernel{[=](const KernelArguments& a, const Libraries& libraries) {
    LaunchScatterRows(a.out(0), a.in<std::int32_t>(1), a.in(2), rows, width, count, libraries.stream());
  }};
}

// ---- updates ----------------------------------------------------------------------------------------------------

// Inputs: the variable, its gradient (a sparse one has fewer rows). Reads and writes `kSlots` words beside each weight.
template <int kSlots>
std::optional<GpuKernel> MakeUpdate(const OpTensors& t, MakingOf&) {
  if (t.inputs() < 2) return std::nullopt;
  const std::int64_t weights = ElementsOf(t.in_shape(0));
  const std::int64_t n = std::min(weights, ElementsOf(t.in_shape(1)));
  if (n == 0 || t.producer(0).persistent_bytes < weights * 4 * (1 + kSlots)) return std::nullopt;
  return GpuKernel{[=](const KernelArguments& a, const Libraries& libraries) {
    if (a.slots == nullptr) return;  // a copy of the weights is nobody's to change
    float* const w = Floats(a.slots);
    if constexpr (kSlots == 0) {
      LaunchSgd(w, a.in(1), n, libraries.stream());
    } else if constexpr (kSlots == 1) {
      LaunchSgdMomentum(w, a.in(1), w + weights, n, libraries.stream());
    } else {
      LaunchAdam(w, a.in(1), w + weights, w + 2 * weights, n, libraries.stream());
    }
  }};
}

}  // namespace

const std::vector<GpuRow>& ElementRows() {
  static const std::vector<GpuRow> rows = {
      {"Relu", MakeEach<Each::kRelu>},
      {"Gelu", MakeEach<Each::kGelu>},
      {"Tanh", MakeEach<Each::kTanh>},
      {"Sigmoid", MakeEach<Each::kSigmoid>},
      {"Neg", MakeEach<Each::kNeg>},
      {"Scale", MakeEach<Each::kHalf>},
      {"Shift", MakeEach<Each::kAddHalf>},
      {"Add", MakeBinary<Pair::kAdd>},
      {"AddV2", MakeBinary<Pair::kAdd>},
      {"BiasAdd", MakeBinary<Pair::kAdd>},
      {"Sub", MakeBinary<Pair::kSub>},
      {"Mul", MakeBinary<Pair::kMul>},
      {"AddN", MakeAddN},
      {"ReluGrad", MakePair<Pair::kReluGrad>},
      {"SigmoidGrad", MakePair<Pair::kSigmoidGrad>},
      {"TanhGrad", MakePair<Pair::kTanhGrad>},
      {"Dropout", MakeDropout},
      {"Tile", MakeTile},
      {"ConcatV2", MakeJoin},
      {"Concat", MakeJoin},
      {"Pack", MakeJoin},
      {"Split", MakeSplit},
      {"Unpack", MakeSplit},
      {"Pad", MakeCorner},
      {"Slice", MakeCorner},
      {"GatherV2", MakeGather},
      {"Gather", MakeGather},
      {"GatherGrad", MakeRows},
      {"ScatterAdd", MakeScatterAdd},
      {"ApplyGradientDescent", MakeUpdate<0>},
      {"ApplyMomentum", MakeUpdate<1>},
      {"ApplyAdam", MakeUpdate<2>},
      {"ApplyRMSProp", MakeUpdate<2>},
  };
  return rows;
}

}  // namespace stowplan::profiler::cuda
