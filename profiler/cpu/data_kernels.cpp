// Ops that move numbers and change none: concatenation, splitting, padding, gathering, tiling. Also the
// stand-in for ops that nobody knows.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <oneapi/dnnl/dnnl.h>

#include "profiler/cpu/cpu_kernels.h"

namespace stowplan::profiler {
namespace {

constexpr std::int64_t kWord = 4;

// ConcatV2, Pack.
std::unique_ptr<Kernel> MakeJoin(const OpTensors& tensors) {
  const auto found = FindJoin(tensors);
  if (!found) return nullptr;
  return KernelOf([parts = *found, total = found->total()](const KernelArguments& a) {
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
  const auto found = FindSplit(tensors);
  if (!found) return nullptr;
  return KernelOf([parts = *found, total = found->total()](const KernelArguments& a) {
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

// Inputs: a table, numbers of rows, what is added to them, at the rate of an update. Writes into the table, which the output shares.
std::unique_ptr<Kernel> MakeScatterAdd(const OpTensors& t) {
  if (t.inputs() != 3 || t.outputs() != 1 || t.in_shape(0).size() != 2 || t.input(1).dtype != "i32" ||
      t.output(0).storage != sim::Output::Storage::kInput)
    return nullptr;
  const std::int64_t rows = t.in_shape(0)[0], width = t.in_shape(0)[1], count = ElementsOf(t.in_shape(1));
  if (rows <= 0 || ElementsOf(t.in_shape(2)) != count * width) return nullptr;
  return KernelOf([=](const KernelArguments& a) {
    for (std::int64_t i = 0; i < count; ++i) {
      float* to = a.out(0) + static_cast<std::uint32_t>(a.in<std::int32_t>(1)[i]) % rows * width;
      const float* from = a.in(2) + i * width;
      for (std::int64_t c = 0; c < width; ++c) to[c] += UpdateRule::kRate * from[c];
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
      !FindSpread(tensors.op(), tensors.out_shape(0), tensors.in_shape(0), &s))
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
      {"Gather", MakeGather}, {"GatherGrad", MakeRows}, {"Tile", MakeTile},    {"ScatterAdd", MakeScatterAdd},
  };
  return rows;
}

std::unique_ptr<Kernel> MakeStandIn(const OpTensors& tensors) {
  std::vector<sim::Bytes> reads, writes;
  for (std::size_t i = 0; i < tensors.inputs(); ++i) reads.push_back(tensors.input(i).bytes);
  for (const sim::Output& output : tensors.op().outputs)
    writes.push_back(output.storage == sim::Output::Storage::kOwn ? output.bytes : 0);
  const auto [side, products] = FindStandInWork(tensors.op());
  const auto run = [=, side = side, products = products](const KernelArguments& a) {
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

}  // namespace stowplan::profiler
