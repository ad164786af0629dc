// Normalisations in plain loops: of channels over everything else, and of rows.
#include <algorithm>
#include <cmath>

#include "profiler/cpu/cpu_kernels.h"

namespace stowplan::profiler {
namespace {

// Statistics of each channel (the last axis) over all others: mean into `mean`, 1 / deviation into `inverse`.
void ChannelStatistics(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                       float* inverse) {
  std::fill_n(mean, channels, 0.F);
  std::fill_n(inverse, channels, 0.F);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < channels; ++c) {
      mean[c] += x[r * channels + c];
      inverse[c] += x[r * channels + c] * x[r * channels + c];
    }
  }
  const float share = 1.F / static_cast<float>(rows);
  for (std::int64_t c = 0; c < channels; ++c) {
    mean[c] *= share;
    inverse[c] = 1.F / std::sqrt(std::max(inverse[c] * share - mean[c] * mean[c], 0.F) + 1e-3F);
  }
}

// Inputs: x, scale if there is one, offset. Statistics are computed, as in training.
std::unique_ptr<Kernel> MakeBatchNorm(const OpTensors& t) {
  if (t.inputs() < 2 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes || t.out_shape(0).empty())
    return nullptr;
  const std::int64_t channels = t.out_shape(0).back();
  if (channels == 0) return nullptr;
  for (std::size_t i = 1; i < t.inputs(); ++i) {
    if (ElementsOf(t.in_shape(i)) != channels) return nullptr;
  }
  const bool scaled = t.inputs() > 2;
  const auto run = [=, rows = ElementsOf(t.out_shape(0)) / channels](const KernelArguments& a) {
    auto* mean = static_cast<float*>(a.scratch);
    float* factor = mean + channels;
    ChannelStatistics(a.in(0), rows, channels, mean, factor);
    const float* offset = a.in(scaled ? 2 : 1);
    for (std::int64_t c = 0; c < channels; ++c) {
      if (scaled) factor[c] *= a.in(1)[c];
      mean[c] = offset[c] - mean[c] * factor[c];
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < channels; ++c)
        a.out(0)[r * channels + c] = a.in(0)[r * channels + c] * factor[c] + mean[c];
    }
  };
  return KernelOf(run, 2 * channels * 4);
}

// Inputs: dy, x, scale if there is one. Outputs: gradients of x, of the scale if there is one, of the offset.
std::unique_ptr<Kernel> MakeBatchNormGrad(const OpTensors& t) {
  const bool scaled = t.inputs() == 3;
  if (t.inputs() < 2 || t.outputs() != (scaled ? 3U : 2U) || t.out_shape(0).empty() ||
      t.input(0).bytes != t.output(0).bytes || t.input(1).bytes != t.output(0).bytes)
    return nullptr;
  const std::int64_t channels = t.out_shape(0).back();
  for (std::size_t i = 1; i < t.outputs(); ++i) {
    if (ElementsOf(t.out_shape(i)) != channels || channels == 0) return nullptr;
  }
  const auto run = [=, rows = ElementsOf(t.out_shape(0)) / channels](const KernelArguments& a) {
    auto* mean = static_cast<float*>(a.scratch);
    float* inverse = mean + channels;
    float* dscale = inverse + channels;
    const float* dy = a.in(0);
    const float* x = a.in(1);
    float* doffset = a.out(scaled ? 2 : 1);
    ChannelStatistics(x, rows, channels, mean, inverse);
    std::fill_n(dscale, channels, 0.F);
    std::fill_n(doffset, channels, 0.F);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t i = r * channels + c;
        doffset[c] += dy[i];
        dscale[c] += dy[i] * (x[i] - mean[c]) * inverse[c];
      }
    }
    const float share = 1.F / static_cast<float>(rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t i = r * channels + c;
        const float normal = (x[i] - mean[c]) * inverse[c];
        a.out(0)[i] =
            inverse[c] * (scaled ? a.in(2)[c] : 1.F) * (dy[i] - share * (doffset[c] + normal * dscale[c]));
      }
    }
    if (scaled) std::copy_n(dscale, channels, a.out(1));
  };
  return KernelOf(run, 3 * channels * 4);
}

// Mean and 1 / deviation of a row.
struct RowStatistics {
  float mean = 0, inverse = 0;
};
RowStatistics StatisticsOf(const float* x, std::int64_t width) {
  const float sum = SumOf(width, [x](std::int64_t i) { return x[i]; });
  const float squares = SumOf(width, [x](std::int64_t i) { return x[i] * x[i]; });
  const float mean = sum / static_cast<float>(width);
  const float variance = std::max(squares / static_cast<float>(width) - mean * mean, 0.F);
  return {mean, 1.F / std::sqrt(variance + 1e-5F)};
}

// Inputs: x, scale, offset; rows are the last axis.
std::unique_ptr<Kernel> MakeLayerNorm(const OpTensors& t) {
  if (t.inputs() != 3 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes || t.out_shape(0).empty())
    return nullptr;
  const std::int64_t width = t.out_shape(0).back();
  if (width == 0 || ElementsOf(t.in_shape(1)) != width || ElementsOf(t.in_shape(2)) != width) return nullptr;
  return KernelOf([width, rows = ElementsOf(t.out_shape(0)) / width](const KernelArguments& a) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* x = a.in(0) + r * width;
      const RowStatistics row = StatisticsOf(x, width);
      float* out = a.out(0) + r * width;
      for (std::int64_t i = 0; i < width; ++i)
        out[i] = (x[i] - row.mean) * row.inverse * a.in(1)[i] + a.in(2)[i];
    }
  });
}

// Inputs: dy, x, scale. Outputs: gradients of x, of the scale, of the offset.
std::unique_ptr<Kernel> MakeLayerNormGrad(const OpTensors& t) {
  if (t.inputs() != 3 || t.outputs() != 3 || t.input(0).bytes != t.output(0).bytes ||
      t.input(1).bytes != t.output(0).bytes || t.out_shape(0).empty())
    return nullptr;
  const std::int64_t width = t.out_shape(0).back();
  if (width == 0 || ElementsOf(t.in_shape(2)) != width || ElementsOf(t.out_shape(1)) != width ||
      ElementsOf(t.out_shape(2)) != width)
    return nullptr;
  return KernelOf([width, rows = ElementsOf(t.out_shape(0)) / width](const KernelArguments& a) {
    float* dscale = a.out(1);
    float* doffset = a.out(2);
    std::fill_n(dscale, width, 0.F);
    std::fill_n(doffset, width, 0.F);
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* dy = a.in(0) + r * width;
      const float* x = a.in(1) + r * width;
      const RowStatistics row = StatisticsOf(x, width);
      const float* scale = a.in(2);
      const auto normal = [x, row](std::int64_t i) { return (x[i] - row.mean) * row.inverse; };
      const float sum = SumOf(width, [=](std::int64_t i) { return dy[i] * scale[i]; });
      const float projected = SumOf(width, [=](std::int64_t i) { return dy[i] * scale[i] * normal(i); });
      for (std::int64_t i = 0; i < width; ++i) {
        dscale[i] += dy[i] * normal(i);
        doffset[i] += dy[i];
      }
      const float share = 1.F / static_cast<float>(width);
      for (std::int64_t i = 0; i < width; ++i)
        a.out(0)[r * width + i] = row.inverse * (dy[i] * scale[i] - share * (sum + normal(i) * projected));
    }
  });
}

}  // namespace

const std::vector<KernelRow>& NormKernels() {
  static const std::vector<KernelRow> rows = {
      {"FusedBatchNorm", MakeBatchNorm},
      {"FusedBatchNormGrad", MakeBatchNormGrad},
      {"LayerNorm", MakeLayerNorm},
      {"LayerNormGrad", MakeLayerNormGrad},
  };
  return rows;
}

}  // namespace stowplan::profiler
