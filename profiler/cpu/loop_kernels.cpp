// Arithmetic in plain loops: what is bound by bytes, and what oneDNN would need other inputs for.
#include <algorithm>
#include <cmath>

#include "profiler/cpu/cpu_kernels.h"

namespace stowplan::profiler {
namespace {

// out[i] = f(x[i], y[i]) for tensors of one size, in the order of the op's inputs.
template <typename F>
std::unique_ptr<Kernel> MakePair(const OpTensors& t, F f) {
  if (t.inputs() < 2 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes ||
      t.input(1).bytes != t.output(0).bytes)
    return nullptr;
  return KernelOf([f, n = ElementsOf(t.out_shape(0))](const KernelArguments& a) {
    const float* x = a.in(0);
    const float* y = a.in(1);
    float* out = a.out(0);
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
  });
}

std::unique_ptr<Kernel> MakeReluGrad(const OpTensors& t) {
  return MakePair(t, [](float y, float dy) { return y > 0 ? dy : 0.F; });
}
std::unique_ptr<Kernel> MakeSigmoidGrad(const OpTensors& t) {
  return MakePair(t, [](float y, float dy) { return dy * y * (1 - y); });
}
std::unique_ptr<Kernel> MakeTanhGrad(const OpTensors& t) {
  return MakePair(t, [](float y, float dy) { return dy * (1 - y * y); });
}

// Add, Mul, BiasAdd and their like: the smaller input is spread over the larger one.
template <typename F>
std::unique_ptr<Kernel> MakeBinary(const OpTensors& t, F f) {
  if (t.inputs() < 2 || t.outputs() != 1) return nullptr;
  const bool swapped = ElementsOf(t.in_shape(0)) < ElementsOf(t.in_shape(1));
  const std::size_t large = swapped ? 1 : 0, small = swapped ? 0 : 1;
  Spread s;
  if (t.input(large).bytes != t.output(0).bytes ||
      !FindSpread(t.op(), t.in_shape(large), t.in_shape(small), &s))
    return nullptr;
  if (s.inner == 1) {  // one number for a whole row
    return KernelOf([=](const KernelArguments& a) {
      for (std::int64_t o = 0; o < s.outer; ++o) {
        const float y = a.in(small)[o];
        const float* x = a.in(large) + o * s.middle;
        float* out = a.out(0) + o * s.middle;
        for (std::int64_t m = 0; m < s.middle; ++m) out[m] = f(x[m], y);
      }
    });
  }
  return KernelOf([=](const KernelArguments& a) {
    for (std::int64_t o = 0; o < s.outer; ++o) {
      const float* y = a.in(small) + o * s.inner;
      for (std::int64_t m = 0; m < s.middle; ++m) {
        const float* x = a.in(large) + (o * s.middle + m) * s.inner;
        float* out = a.out(0) + (o * s.middle + m) * s.inner;
        for (std::int64_t i = 0; i < s.inner; ++i) out[i] = f(x[i], y[i]);
      }
    }
  });
}
std::unique_ptr<Kernel> MakeAdd(const OpTensors& t) {
  return MakeBinary(t, [](float x, float y) { return x + y; });
}
std::unique_ptr<Kernel> MakeMul(const OpTensors& t) {
  return MakeBinary(t, [](float x, float y) { return x * y; });
}

std::unique_ptr<Kernel> MakeSub(const OpTensors& t) {
  return MakeBinary(t, [](float x, float y) { return x - y; });
}

// out[i] = f(x[i]).
template <typename F>
std::unique_ptr<Kernel> MakeEach(const OpTensors& t, F f) {
  if (t.inputs() != 1 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes) return nullptr;
  return KernelOf([f, n = ElementsOf(t.out_shape(0))](const KernelArguments& a) {
    const float* x = a.in(0);
    float* out = a.out(0);
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
  });
}
std::unique_ptr<Kernel> MakeNeg(const OpTensors& t) {
  return MakeEach(t, [](float x) { return -x; });
}
// By a constant that the graph does not say.
std::unique_ptr<Kernel> MakeScale(const OpTensors& t) {
  return MakeEach(t, [](float x) { return 0.5F * x; });
}
std::unique_ptr<Kernel> MakeShift(const OpTensors& t) {
  return MakeEach(t, [](float x) { return x + 0.5F; });
}

// Sums over the axes that the result lacks, times `scale`; the numbers that are summed come from `term`.
template <typename Term>
std::unique_ptr<Kernel> MakeSum(const OpTensors& t, float scale, Term term) {
  Spread s;
  if (!FindSpread(t.op(), t.in_shape(0), t.out_shape(0), &s)) return nullptr;
  if (s.inner == 1) {  // sums of rows
    return KernelOf([=](const KernelArguments& a) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        a.out(0)[o] = scale * SumOf(s.middle, [&](std::int64_t i) { return term(a, o * s.middle + i); });
    });
  }
  return KernelOf([=](const KernelArguments& a) {
    for (std::int64_t o = 0; o < s.outer; ++o) {
      float* out = a.out(0) + o * s.inner;
      std::fill_n(out, s.inner, 0.F);
      for (std::int64_t m = 0; m < s.middle; ++m) {
        const std::int64_t row = (o * s.middle + m) * s.inner;
        for (std::int64_t i = 0; i < s.inner; ++i) out[i] += scale * term(a, row + i);
      }
    }
  });
}

// ReduceSum, BiasAddGrad.
std::unique_ptr<Kernel> MakeReduceSum(const OpTensors& t) {
  if (t.inputs() < 1 || t.outputs() != 1) return nullptr;
  return MakeSum(t, 1, [](const KernelArguments& a, std::int64_t i) { return a.in(0)[i]; });
}
std::unique_ptr<Kernel> MakeMean(const OpTensors& t) {
  if (t.inputs() < 1 || t.outputs() != 1 || t.input(0).bytes == 0) return nullptr;
  const auto share =
      static_cast<float>(static_cast<double>(t.output(0).bytes) / static_cast<double>(t.input(0).bytes));
  return MakeSum(t, share, [](const KernelArguments& a, std::int64_t i) { return a.in(0)[i]; });
}
// The gradient of a factor that was spread: products, summed.
std::unique_ptr<Kernel> MakeMulSum(const OpTensors& t) {
  if (t.inputs() < 2 || t.outputs() != 1 || t.input(0).bytes != t.input(1).bytes) return nullptr;
  return MakeSum(t, 1, [](const KernelArguments& a, std::int64_t i) { return a.in(0)[i] * a.in(1)[i]; });
}

std::unique_ptr<Kernel> MakeAddN(const OpTensors& t) {
  if (t.inputs() < 1 || t.outputs() != 1) return nullptr;
  for (std::size_t i = 0; i < t.inputs(); ++i) {
    if (t.input(i).bytes != t.output(0).bytes) return nullptr;
  }
  return KernelOf([terms = t.inputs(), n = ElementsOf(t.out_shape(0))](const KernelArguments& a) {
    float* out = a.out(0);
    if (terms == 1) std::copy_n(a.in(0), n, out);
    const float* sum = a.in(0);
    for (std::size_t k = 1; k < terms; ++k) {
      const float* x = a.in(k);
      for (std::int64_t i = 0; i < n; ++i) out[i] = sum[i] + x[i];
      sum = out;
    }
  });
}

// Output 1 is the mask. The noise is a hash of the position: a step does the same as the one before.
std::unique_ptr<Kernel> MakeDropout(const OpTensors& t) {
  if (t.inputs() != 1 || t.outputs() != 2 || t.output(0).bytes != t.output(1).bytes ||
      t.input(0).bytes != t.output(0).bytes)
    return nullptr;
  return KernelOf([n = ElementsOf(t.out_shape(0))](const KernelArguments& a) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto noise = static_cast<std::uint32_t>(i) * 2654435761U;
      const float keep = (noise >> 31) != 0 ? 2.F : 0.F;
      a.out(1)[i] = keep;
      a.out(0)[i] = a.in(0)[i] * keep;
    }
  });
}

// Inputs: y, dy; rows are the last axis.
std::unique_ptr<Kernel> MakeSoftmaxGrad(const OpTensors& t) {
  if (t.inputs() < 2 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes ||
      t.input(1).bytes != t.output(0).bytes || t.out_shape(0).empty() || t.out_shape(0).back() == 0)
    return nullptr;
  const std::int64_t width = t.out_shape(0).back();
  return KernelOf([width, rows = ElementsOf(t.out_shape(0)) / width](const KernelArguments& a) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* y = a.in(0) + r * width;
      const float* dy = a.in(1) + r * width;
      float* out = a.out(0) + r * width;
      const float dot = SumOf(width, [&](std::int64_t i) { return y[i] * dy[i]; });
      for (std::int64_t i = 0; i < width; ++i) out[i] = y[i] * (dy[i] - dot);
    }
  });
}

// Inputs: probabilities and, unless this is the loss itself, the gradient of each row's loss. The label's
// column is taken to be the first: which one it is costs nothing.
std::unique_ptr<Kernel> MakeCrossEntropyGrad(const OpTensors& t) {
  if (t.inputs() < 1 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes || t.out_shape(0).empty() ||
      t.out_shape(0).back() == 0)
    return nullptr;
  const std::int64_t width = t.out_shape(0).back();
  const std::int64_t rows = ElementsOf(t.out_shape(0)) / width;
  const bool scaled = t.inputs() > 1 && ElementsOf(t.in_shape(1)) == rows;
  return KernelOf([=](const KernelArguments& a) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* p = a.in(0) + r * width;
      float* out = a.out(0) + r * width;
      const float scale = scaled ? a.in(1)[r] : 1.F / static_cast<float>(rows);
      for (std::int64_t i = 0; i < width; ++i) out[i] = scale * p[i];
      out[0] -= scale;
    }
  });
}

// Inputs: x, y, dy. The gradient of a window goes where its maximum was first.
std::unique_ptr<Kernel> MakeMaxPoolGrad(const OpTensors& t) {
  Windows w;
  if (t.inputs() < 3 || t.outputs() != 1 || t.input(2).bytes != t.input(1).bytes ||
      t.input(0).bytes != t.output(0).bytes || !FindWindows(t.op(), t.in_shape(0), t.in_shape(1), &w) ||
      t.in_shape(1)[3] != w.channels)
    return nullptr;
  return KernelOf([w](const KernelArguments& a) {
    const float* x = a.in(0);
    std::fill_n(a.out(0), w.batch * w.height * w.width * w.channels, 0.F);
    std::int64_t window = 0;
    for (std::int64_t n = 0; n < w.batch; ++n) {
      for (std::int64_t oh = 0; oh < w.out_height; ++oh) {
        for (std::int64_t ow = 0; ow < w.out_width; ++ow, ++window) {
          const std::int64_t top = oh * w.strides[0] - w.before[0], left = ow * w.strides[1] - w.before[1];
          for (std::int64_t c = 0; c < w.channels; ++c) {
            std::int64_t best = -1;
            for (std::int64_t h = std::max<std::int64_t>(top, 0); h < std::min(top + w.kernel[0], w.height);
                 ++h) {
              for (std::int64_t v = std::max<std::int64_t>(left, 0);
                   v < std::min(left + w.kernel[1], w.width); ++v) {
                const std::int64_t at = ((n * w.height + h) * w.width + v) * w.channels + c;
                if (best < 0 || x[at] > x[best]) best = at;
              }
            }
            if (best >= 0) a.out(0)[best] += a.in(2)[window * w.channels + c];
          }
        }
      }
    }
  });
}

// Inputs: the variable, its gradient (a sparse one has fewer rows). Reads and writes `kSlots` words beside each
// weight.
template <int kSlots>
std::unique_ptr<Kernel> MakeUpdate(const OpTensors& t) {
  if (t.inputs() < 2) return nullptr;
  const std::int64_t weights = ElementsOf(t.in_shape(0));
  const std::int64_t n = std::min(weights, ElementsOf(t.in_shape(1)));
  if (t.producer(0).persistent_bytes < weights * 4 * (1 + kSlots)) return nullptr;
  return KernelOf([=](const KernelArguments& a) {
    constexpr float kRate = UpdateRule::kRate, kDecay = UpdateRule::kDecay;
    if (a.slots == nullptr) return;  // a copy of the weights is nobody's to change
    auto* __restrict w = static_cast<float*>(a.slots);
    float* __restrict first = w + weights;
    float* __restrict second = first + weights;
    const float* __restrict g = a.in(1);
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (kSlots == 0) {
        w[i] -= kRate * g[i];
      } else if constexpr (kSlots == 1) {
        first[i] = kDecay * first[i] + g[i];
        w[i] -= kRate * first[i];
      } else {
        first[i] = kDecay * first[i] + (1 - kDecay) * g[i];
        second[i] = kDecay * second[i] + (1 - kDecay) * g[i] * g[i];
        w[i] -= kRate * first[i] / (std::sqrt(std::abs(second[i])) + UpdateRule::kEpsilon);
      }
    }
  });
}

}  // namespace

const std::vector<KernelRow>& LoopKernels() {
  static const std::vector<KernelRow> rows = {
      {"Add", MakeAdd},
      {"AddV2", MakeAdd},
      {"BiasAdd", MakeAdd},
      {"Sub", MakeSub},
      {"Mul", MakeMul},
      {"Neg", MakeNeg},
      {"Scale", MakeScale},
      {"Shift", MakeShift},
      {"AddN", MakeAddN},
      {"ReluGrad", MakeReluGrad},
      {"SigmoidGrad", MakeSigmoidGrad},
      {"TanhGrad", MakeTanhGrad},
      {"ReduceSum", MakeReduceSum},
      {"BiasAddGrad", MakeReduceSum},
      {"Mean", MakeMean},
      {"MulSum", MakeMulSum},
      {"Dropout", MakeDropout},
      {"SoftmaxGrad", MakeSoftmaxGrad},
      {"SoftmaxCrossEntropyGrad", MakeCrossEntropyGrad},
      {"MaxPoolGrad", MakeMaxPoolGrad},
      {"ApplyGradientDescent", MakeUpdate<0>},
      {"ApplyMomentum", MakeUpdate<1>},
      {"ApplyAdam", MakeUpdate<2>},
      {"ApplyRMSProp", MakeUpdate<2>},
  };
  return rows;
}

}  // namespace stowplan::profiler
