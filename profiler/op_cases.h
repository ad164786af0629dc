// The sizes at which each op is measured: those of the zoo's workloads and a grid. Behind probes.h.
#pragma once

#include <vector>

#include "profiler/probes.h"

namespace stowplan::profiler {

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
