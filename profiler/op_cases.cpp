#include "profiler/op_cases.h"

#include <algorithm>
#include <array>
#include <map>

#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

using Dims = std::vector<std::pair<std::string, std::int64_t>>;
constexpr const char* kMatrixFormats[] = {"f32", "tf32", "f16", "bf16"};
constexpr const char* kVectorFormats[] = {"f32", "bf16"};

// `elements`: read and written, in the case's format.
OpCase Case(std::string op, std::string format, Dims shape, double flops, double elements,
            std::string phase = "forward") {
  const sim::Bytes bytes = static_cast<sim::Bytes>(elements) * BytesOf(format);
  return {std::move(op), std::move(format), std::move(shape), flops, bytes, std::move(phase)};
}

OpCase Gemm(const char* format, std::int64_t m, std::int64_t n, std::int64_t k) {
  const double a = static_cast<double>(m) * static_cast<double>(k),
               b = static_cast<double>(k) * static_cast<double>(n),
               c = static_cast<double>(m) * static_cast<double>(n);
  return Case("gemm", format, {{"m", m}, {"n", n}, {"k", k}}, 2 * c * static_cast<double>(k), a + b + c);
}

// Activations that the zoo's norms and softmaxes see.
struct Activation {
  std::int64_t rows, columns;
  const char* workload = "";
};
constexpr Activation kActivations[] = {{64, 768},    {4096, 768, "bert"},  {512, 50257, "gpt2"},
                                       {32768, 768}, {49152, 128, "bert"}, {49152, 512}};

// When element `at` of `size` has its turn, if the first comes first, then the last, then the middles of what is between.
std::size_t RankOf(std::size_t at, std::size_t size) {
  if (at == 0 || at + 1 == size) return at == 0 ? 0 : 1;
  std::size_t low = 0, high = size - 1, depth = 2;
  for (;; ++depth) {
    const std::size_t middle = (low + high) / 2;
    if (at == middle) return depth;
    (at < middle ? high : low) = middle;
  }
}

template <typename Make>
std::vector<OpCase> ForRows(const Make& make) {
  std::vector<OpCase> cases;
  for (const auto& [rows, columns, workload] : kActivations) {
    const std::size_t from = cases.size();
    for (const char* format : kVectorFormats) make(cases, format, rows, columns);
    for (std::size_t i = from; i < cases.size(); ++i) cases[i].workload = workload;
  }
  return cases;
}

}  // namespace

std::vector<OpCase> GemmCases() {
  struct Product {
    std::int64_t m, n, k;
    const char* workload = "";
  };
  constexpr Product kShapes[] = {{64, 64, 64},
                                 {128, 128, 128},
                                 {256, 256, 256},
                                 {512, 512, 512},
                                 {1024, 1024, 1024},
                                 {2048, 2048, 2048},
                                 {4096, 4096, 4096},
                                 {8192, 8192, 8192},
                                 {4096, 768, 768, "bert"},  // 32 x 128 tokens
                                 {4096, 2304, 768, "bert"},
                                 {4096, 3072, 768, "bert"},
                                 {4096, 768, 3072, "bert"},
                                 {64, 2048, 512, "nmt"},
                                 {64, 2048, 1024, "nmt"},
                                 {64, 8192, 4096, "rnnlm"},
                                 {2048, 512, 512, "nmt"},
                                 {2048, 32000, 512, "nmt"},
                                 {512, 50257, 768, "gpt2"},
                                 {32, 1000, 2048, "resnet152"},
                                 {1, 4096, 4096},
                                 {16, 4096, 1024},
                                 {768, 768, 4096, "bert"},  // gradients of weights: deep and small
                                 {3072, 768, 4096, "bert"},
                                 {2048, 1024, 64, "nmt"}};
  std::vector<OpCase> cases;
  for (const auto& [m, n, k, workload] : kShapes) {
    for (const char* format : kMatrixFormats) {
      cases.push_back(Gemm(format, m, n, k));
      cases.back().workload = workload;
    }
  }
  for (const auto& [batch, m, n, k] : {std::array<std::int64_t, 4>{384, 128, 128, 64},
                                       {384, 128, 64, 128},
                                       {96, 512, 512, 64},
                                       {96, 512, 64, 512}}) {
    for (const char* format : kMatrixFormats) {
      OpCase one = Gemm(format, m, n, k);
      one.op = "bmm";
      one.shape.insert(one.shape.begin(), {"batch", batch});
      one.flops *= static_cast<double>(batch);
      one.bytes *= batch;
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

std::vector<OpCase> ConvolutionCases() {
  struct Layer {
    std::int64_t in, out, kernel_h, kernel_w, stride, side;
    const char* workload = "resnet152";
  };
  constexpr Layer kLayers[] = {{512, 512, 3, 3, 1, 7},
                               {2048, 512, 1, 1, 1, 7},
                               {256, 256, 3, 3, 1, 14},
                               {256, 1024, 1, 1, 1, 14},
                               {1024, 256, 1, 1, 1, 14},
                               {128, 128, 3, 3, 1, 28},
                               {128, 128, 3, 3, 2, 56},
                               {64, 64, 1, 1, 1, 56},
                               {64, 64, 3, 3, 1, 56},
                               {64, 256, 1, 1, 1, 56},
                               {256, 128, 1, 1, 1, 56},
                               {3, 64, 7, 7, 2, 224},
                               {192, 192, 1, 7, 1, 17, "inception_v3"},
                               {192, 192, 7, 1, 1, 17, "inception_v3"},
                               {768, 192, 1, 1, 1, 17, "inception_v3"},
                               {288, 384, 3, 3, 2, 35, "inception_v3"},
                               {32, 32, 3, 3, 1, 149, "inception_v3"}};
  std::vector<OpCase> cases;
  for (const std::int64_t batch : {2, 32}) {
    for (const Layer& layer : kLayers) {
      const std::int64_t side = (layer.side + layer.stride - 1) / layer.stride;
      const double input = static_cast<double>(batch * layer.in * layer.side * layer.side),
                   output = static_cast<double>(batch * layer.out * side * side),
                   taps = static_cast<double>(layer.in * layer.kernel_h * layer.kernel_w);
      for (const char* format : {"f32", "tf32", "bf16"}) {
        if (batch > 2 && std::string_view(format) == "f32")
          continue;  // for CPUs, which have no time for more
        for (const char* phase : {"forward", "data_gradient", "filter_gradient"}) {
          cases.push_back(Case("conv2d", format,
                               {{"batch", batch},
                                {"in", layer.in},
                                {"out", layer.out},
                                {"kernel_h", layer.kernel_h},
                                {"kernel_w", layer.kernel_w},
                                {"stride", layer.stride},
                                {"side", layer.side}},
                               2 * output * taps, input + output + taps * static_cast<double>(layer.out),
                               phase));
          cases.back().workload = layer.workload;
        }
      }
    }
  }
  return cases;
}

std::vector<OpCase> ElementwiseCases() {
  std::vector<OpCase> cases;
  for (int power = 8; power <= 26; power += 3) {
    const std::int64_t count = std::int64_t{1} << power;
    for (const char* op : {"add", "relu", "gelu", "tanh", "copy"}) {
      const double touched = static_cast<double>(count) * (std::string_view(op) == "add" ? 3 : 2);
      for (const char* format : kVectorFormats)
        cases.push_back(Case(op, format, {{"elements", count}}, 0, touched));
    }
  }
  // Halves of the columns side by side.
  for (OpCase& one : ForRows([](auto&of_rows, const char*format, std::int64_t rows, std::int64_t columns) {
         if (std::string_view(format) == "f32" && columns % 2 == 0)
           of_rows.push_back(Case("concat", format, {{"rows", rows}, {"columns", columns}}, 0,
                                  2 * static_cast<double>(rows * columns)));
       }))
    cases.push_back(std::move(one));
  return cases;
}

std::vector<OpCase> ReductionCases() {
  return ForRows([](auto& cases, const char* format, std::int64_t rows, std::int64_t columns) {
    const Dims shape = {{"rows", rows}, {"columns", columns}};
    cases.push_back(Case("sum", format, shape, 0, static_cast<double>(rows * columns + rows)));
    if (std::string_view(format) == "f32")
      cases.push_back(Case("column_sum", format, shape, 0, static_cast<double>(rows * columns + columns)));
  });
}

std::vector<OpCase> SoftmaxCases() {
  return ForRows([](auto& cases, const char* format, std::int64_t rows, std::int64_t columns) {
    const Dims shape = {{"rows", rows}, {"columns", columns}};
    const auto elements = static_cast<double>(rows * columns);
    cases.push_back(Case("softmax", format, shape, 0, 2 * elements));
    cases.push_back(Case("softmax", format, shape, 0, 3 * elements, "backward"));
  });
}

std::vector<OpCase> NormCases() {
  std::vector<OpCase> cases =
      ForRows([](auto& rows_cases, const char* format, std::int64_t rows, std::int64_t columns) {
        const Dims shape = {{"rows", rows}, {"columns", columns}};
        const auto elements = static_cast<double>(rows * columns);
        rows_cases.push_back(Case("layer_norm", format, shape, 0, 2 * elements));
        rows_cases.push_back(Case("layer_norm", format, shape, 0, 3 * elements, "backward"));
      });
  for (const auto& [channels, side] :
       {std::pair<std::int64_t, std::int64_t>{2048, 7}, {1024, 14}, {512, 28}, {256, 56}, {64, 112}}) {
    const Dims shape = {{"batch", 32}, {"channels", channels}, {"side", side}};
    const auto elements = static_cast<double>(32 * channels * side * side);
    for (const char* format : kVectorFormats) {
      for (const char* phase : {"forward", "backward"}) {
        const double passes = std::string_view(phase) == "forward" ? 2 : 3;
        cases.push_back(Case("batch_norm", format, shape, 0, passes * elements, phase));
        cases.back().workload = "resnet152";
      }
    }
  }
  return cases;
}

std::vector<OpCase> EmbeddingCases() {
  std::vector<OpCase> cases;
  for (const std::int64_t tokens : {64, 2048, 4096}) {
    for (const std::int64_t width : {512, 768}) {
      const Dims shape = {{"rows", 32000}, {"width", width}, {"tokens", tokens}};
      const auto moved = static_cast<double>(2 * tokens * width + tokens);
      cases.push_back(Case("embedding", "f32", shape, 0, moved));
      cases.push_back(
          Case("embedding", "f32", shape, 0, moved + static_cast<double>(tokens * width), "backward"));
    }
  }
  return cases;
}

std::vector<OpCase> LstmCases() {
  std::vector<OpCase> cases;
  for (const std::int64_t width : {512, 1024, 2048}) {
    for (const std::int64_t batch : {1, 8, 64, 256}) {
      for (const char* format : {"f32", "tf32", "bf16"}) {
        // Two products to the four gates; inputs, states and weights read, states written.
        cases.push_back(Case("lstm_cell", format, {{"batch", batch}, {"width", width}},
                             16 * static_cast<double>(batch * width * width),
                             static_cast<double>(8 * width * width + 5 * batch * width)));
      }
    }
  }
  return cases;
}

std::vector<OpCase> AttentionCases() {
  std::vector<OpCase> cases;
  for (const auto& [heads, tokens] :
       {std::pair<std::int64_t, std::int64_t>{12, 128}, {384, 128}, {96, 512}}) {
    for (const char* format : {"f32", "tf32", "bf16"}) {
      const auto scores = static_cast<double>(heads * tokens * tokens),
                 values = static_cast<double>(heads * tokens * 64);
      cases.push_back(Case("attention", format, {{"batch", heads}, {"tokens", tokens}, {"width", 64}},
                           4 * scores * 64, 4 * values + 4 * scores));
    }
  }
  return cases;
}

std::vector<OpCase> OptimizerCases() {
  std::vector<OpCase> cases;
  for (const int power : {10, 16, 20, 24, 26}) {
    const std::int64_t count = std::int64_t{1} << power;
    const auto elements = static_cast<double>(count);
    cases.push_back(Case("sgd_momentum", "f32", {{"elements", count}}, 0, 5 * elements, "update"));
    cases.push_back(Case("adam", "f32", {{"elements", count}}, 0, 7 * elements, "update"));
  }
  return cases;
}

std::int64_t OpCase::dim(std::string_view name) const {
  for (const auto& [key, value] : shape) {
    if (key == name) return value;
  }
  CheckFailed(__FILE__, __LINE__, op + " has no dimension " + std::string(name));
}

sim::Bytes BytesOf(std::string_view format) {
  return format == "f16" || format == "bf16" ? 2 : 4;
}

std::vector<OpCase> CasesToMeasure(const std::vector<OpCase>& cases, bool quick) {
  std::map<std::string, std::size_t> sizes, seen;
  const auto way = [](const OpCase& one) { return one.op + " " + one.phase + " " + one.format; };
  for (const OpCase& one : cases) ++sizes[way(one)];
  std::vector<std::pair<std::size_t, const OpCase*>> ranked;
  for (const OpCase& one : cases) {
    const std::size_t at = seen[way(one)]++;
    if (!quick) {
      ranked.emplace_back(RankOf(at, sizes[way(one)]), &one);
    } else if (at < 2) {
      ranked.emplace_back(0, &one);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<OpCase> ordered;
  for (const auto& [rank, one] : ranked) ordered.push_back(*one);
  return ordered;
}

}  // namespace stowplan::profiler
