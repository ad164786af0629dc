// Ops that move numbers and change none: concatenation, splitting, padding, gathering, tiling. Also the
// stand-in for ops that nobody knows.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <oneapi/dnnl/dnnl.h>

#include "profiler/executor/kernels.h"

namespace berth::profiler {
namespace {

constexpr std::int64_t kWord = 4;

// How many words of each part stand together, and how often: the parts of a concatenation along `axis`.
struct Parts {
  std::int64_t outer = 1;
  std::vector<std::int64_t> widths;
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const auto width : widths) sum += width;
    return sum;
  }
};

std::size_t AxisOf(const sim::Op& op) {
  return static_cast<std::size_t>(std::max(0.0, sim::FindNumber(op.attributes, "axis").value_or(0)));
}

bool FindParts(const std::vector<std::int64_t>& whole, std::size_t axis, std::vector<std::int64_t> elements,
               Parts* parts) {
  if (axis >= whole.size()) return false;
  for (std::size_t i = 0; i < axis; ++i) parts->outer *= whole[i];
  for (const auto count : elements) {
    if (parts->outer == 0 || count % parts->outer != 0) return false;
    parts->widths.push_back(count / parts->outer);
  }
  return parts->outer * parts->total() == ElementsOf(whole);
}

// ConcatV2, Pack.
std::unique_ptr<Kernel> MakeJoin(const OpTensors& tensors) {
  Parts parts;
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < tensors.inputs(); ++i) elements.push_back(ElementsOf(tensors.in_shape(i)));
  if (tensors.outputs() != 1 || !FindParts(tensors.out_shape(0), AxisOf(tensors.op()), elements, &parts))
    return nullptr;
  return KernelOf([parts, total = parts.total()](const KernelArguments& a) {
    std::int64_t offset = 0;
    for (std::size_t p = 0; p < parts.widths.size(); ++p) {
      const std::int64_t width = parts.widths[p];
      for (std::int64_t o = 0; o < parts.outer; ++o) {
        std::memcpy(a.out(0) + o * total + offset, a.in(p) + o * width,
                    static_cast<std::size_t>(width * kWord));
      }
      offset += width;
    }
  });
}

// Split, Unpack.
std::unique_ptr<Kernel> MakeSplit(const OpTensors& tensors) {
  Parts parts;
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < tensors.outputs(); ++i) elements.push_back(ElementsOf(tensors.out_shape(i)));
  if (tensors.inputs() < 1 || !FindParts(tensors.in_shape(0), AxisOf(tensors.op()), elements, &parts))
    return nullptr;
  return KernelOf([parts, total = parts.total()](const KernelArguments& a) {
    std::int64_t offset = 0;
    for (std::size_t p = 0; p < parts.widths.size(); ++p) {
      const std::int64_t width = parts.widths[p];
      for (std::int64_t o = 0; o < parts.outer; ++o) {
        std::memcpy(a.out(p) + o * width, a.in(0) + o * total + offset,
                    static_cast<std::size_t>(width * kWord));
      }
      offset += width;
    }
  });
}

// The common corner of two tensors of one rank, as rows of contiguous words.
struct Corner {
  std::vector<std::int64_t> from;  // offset of each row in the source [words]
  std::vector<std::int64_t> to;
  std::int64_t width = 0;
};

bool FindCorner(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& result,
                Corner* corner) {
  if (source.size() != result.size() || source.empty()) return false;
  corner->from = {0};
  corner->to = {0};
  for (std::size_t axis = 0; axis + 1 < source.size(); ++axis) {
    std::vector<std::int64_t> from, to;
    for (std::size_t row = 0; row < corner->from.size(); ++row) {
      for (std::int64_t i = 0; i < std::min(source[axis], result[axis]); ++i) {
        from.push_back(corner->from[row] * source[axis] + i);
        to.push_back(corner->to[row] * result[axis] + i);
      }
    }
    corner->from = std::move(from);
    corner->to = std::move(to);
  }
  corner->width = std::min(source.back(), result.back());
  for (auto& offset : corner->from) offset *= source.back();
  for (auto& offset : corner->to) offset *= result.back();
  return true;
}

// Pad, Slice: the corner is copied, what lies outside of the source is zero.
std::unique_ptr<Kernel> MakeCorner(const OpTensors& tensors) {
  Corner corner;
  if (tensors.inputs() < 1 || tensors.outputs() != 1 ||
      !FindCorner(tensors.in_shape(0), tensors.out_shape(0), &corner))
    return nullptr;
  const std::int64_t words = ElementsOf(tensors.out_shape(0));
  const bool pads = words > static_cast<std::int64_t>(corner.to.size()) * corner.width;
  return KernelOf([corner, words, pads](const KernelArguments& a) {
    if (pads) std::memset(a.out(0), 0, static_cast<std::size_t>(words * kWord));
    for (std::size_t row = 0; row < corner.from.size(); ++row) {
      std::memcpy(a.out(0) + corner.to[row], a.in(0) + corner.from[row],
                  static_cast<std::size_t>(corner.width * kWord));
    }
  });
}

// Rows of a table by number; numbers beyond the table wrap around.
std::unique_ptr<Kernel> MakeGather(const OpTensors& tensors) {
  if (tensors.inputs() < 2 || tensors.outputs() != 1 || tensors.in_shape(0).size() < 2) return nullptr;
  const std::int64_t rows = tensors.in_shape(0)[0];
  const std::int64_t width = ElementsOf(tensors.in_shape(0)) / std::max<std::int64_t>(rows, 1);
  const std::int64_t count = ElementsOf(tensors.in_shape(1));
  if (rows <= 0 || tensors.input(1).dtype != "i32" || count * width != ElementsOf(tensors.out_shape(0)))
    return nullptr;
  return KernelOf([=](const KernelArguments& a) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = static_cast<std::uint32_t>(a.in<std::int32_t>(1)[i]) % rows;
      std::memcpy(a.out(0) + i * width, a.in(0) + row * width, static_cast<std::size_t>(width * kWord));
    }
  });
}

// GatherGrad: the rows of the gradient, as they are.
std::unique_ptr<Kernel> MakeRows(const OpTensors& tensors) {
  if (tensors.inputs() < 1 || tensors.outputs() != 1 || tensors.input(0).bytes != tensors.output(0).bytes)
    return nullptr;
  return KernelOf([bytes = tensors.output(0).bytes](const KernelArguments& a) {
    std::memcpy(a.out(0), a.in(0), static_cast<std::size_t>(bytes));
  });
}

// Tile: the gradient of a sum or a mean.
std::unique_ptr<Kernel> MakeTile(const OpTensors& tensors) {
  Spread s;
  if (tensors.inputs() < 1 || tensors.outputs() != 1 ||
      !FindSpread(tensors.out_shape(0), tensors.in_shape(0), &s))
    return nullptr;
  return KernelOf([s](const KernelArguments& a) {
    for (std::int64_t o = 0; o < s.outer; ++o) {
      const float* from = a.in(0) + o * s.inner;
      for (std::int64_t m = 0; m < s.middle; ++m) {
        float* to = a.out(0) + (o * s.middle + m) * s.inner;
        for (std::int64_t i = 0; i < s.inner; ++i) to[i] = from[i];
      }
    }
  });
}

}  // namespace

const std::vector<KernelRow>& DataKernels() {
  static const std::vector<KernelRow> rows = {
      {"ConcatV2", MakeJoin}, {"Concat", MakeJoin},     {"Pack", MakeJoin},    {"Split", MakeSplit},
      {"Unpack", MakeSplit},  {"Pad", MakeCorner},      {"Slice", MakeCorner}, {"GatherV2", MakeGather},
      {"Gather", MakeGather}, {"GatherGrad", MakeRows}, {"Tile", MakeTile},
  };
  return rows;
}

std::unique_ptr<Kernel> MakeStandIn(const OpTensors& tensors) {
  std::vector<sim::Bytes> reads, writes;
  for (std::size_t i = 0; i < tensors.inputs(); ++i) reads.push_back(tensors.input(i).bytes);
  for (const sim::Output& output : tensors.op().outputs)
    writes.push_back(output.storage == sim::Output::Storage::kOwn ? output.bytes : 0);
  constexpr double kLargest = 4096;
  const double flops = tensors.op().flops;
  // Several products of one size where a single one would be too large.
  const auto side = static_cast<std::int64_t>(std::min(kLargest, std::round(std::cbrt(flops / 2))));
  const std::int64_t products =
      side < 1
          ? 0
          : std::max<std::int64_t>(1, std::llround(flops / (2.0 * std::pow(static_cast<double>(side), 3))));
  const auto run = [=](const KernelArguments& a) {
    if (products > 0) {
      auto* x = static_cast<float*>(a.scratch);
      float* y = x + side * side;
      for (std::int64_t p = 0; p < products; ++p)
        dnnl_sgemm('N', 'N', side, side, side, 1e-3F, x, side, x, side, 0.F, y, side);
    }
    char sum = 0;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      for (sim::Bytes b = 0; b < reads[i]; ++b) sum = static_cast<char>(sum ^ a.in<char>(i)[b]);
    }
    // The sum must be used, or nothing is read; masked to zero, so that the numbers stay small.
    for (std::size_t i = 0; i < writes.size(); ++i)
      if (writes[i] > 0) std::memset(a.out(i), sum & 0, static_cast<std::size_t>(writes[i]));
    asm volatile("" : : "r"(sum) : "memory");
  };
  return KernelOf(run, 2 * side * side * kWord);
}

}  // namespace berth::profiler
