// The sizes at which each op is measured: those of the zoo's workloads and a grid. Behind probes.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::profiler {

// One op at one size. Row of the recording: op, phase, format, shape, flops, bytes and the times.
struct OpCase {
  std::string op;      // "gemm", "conv2d", …: what profiler/pytorch calls it
  std::string format;  // "f32", "tf32", "f16", "bf16"
  std::vector<std::pair<std::string, std::int64_t>> shape;
  double flops = 0;               // 2 x multiply-adds of contractions
  sim::Bytes bytes = 0;           // inputs read and outputs written once
  std::string phase = "forward";  // "data_gradient", "filter_gradient", "backward", "update"
  std::string workload =
      {};  // that has an op of this size, so that fits can leave it out whole; empty = of the grid

  std::int64_t dim(std::string_view name) const;  // aborts if absent
};

sim::Bytes BytesOf(std::string_view format);  // of one element

// What of a probe's cases is measured, and in which order. In a quick run the two smallest of every op, phase and format, so
// that each way is tried. Else all, so that the first of them, however few, are of every op, phase and format and far apart
// in size: a run that is cut off has seen of each what a curve needs.
std::vector<OpCase> CasesToMeasure(const std::vector<OpCase>& cases, bool quick);

std::vector<OpCase> GemmCases();
std::vector<OpCase> ConvolutionCases();
std::vector<OpCase> ElementwiseCases();
std::vector<OpCase> ReductionCases();
std::vector<OpCase> SoftmaxCases();
std::vector<OpCase> NormCases();
std::vector<OpCase> EmbeddingCases();
std::vector<OpCase> LstmCases();
std::vector<OpCase> AttentionCases();
std::vector<OpCase> OptimizerCases();

}  // namespace stowplan::profiler
