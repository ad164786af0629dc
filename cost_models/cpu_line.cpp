#include "cost_models/cpu_line.h"

#include <algorithm>
#include <unordered_map>

namespace stowplan::cost_models {

std::string_view FamilyOf(std::string_view op_type, OpClass op_class) {
  static const std::unordered_map<std::string_view, std::string_view> families = [] {
    constexpr std::string_view kTranscendental[] = {
        "Erf", "Exp", "Gelu", "HardSwish", "Log", "Pow", "Sigmoid", "Swish", "Tanh", "GeluGrad", "SwishGrad"};
    constexpr std::string_view kPooling[] = {"AveragePool",       "AvgPool", "AvgPoolGrad",
                                             "GlobalAveragePool", "MaxPool", "GlobalMaxPool",
                                             "MaxPoolGrad"};
    constexpr std::string_view kSoftmax[] = {"LogSoftmax",
                                             "Softmax",
                                             "SoftmaxGrad",
                                             "SoftmaxCrossEntropy",
                                             "SoftmaxCrossEntropyWithLogits",
                                             "SparseSoftmaxCrossEntropyWithLogits"};
    std::unordered_map<std::string_view, std::string_view> made;
    for (const auto type : kTranscendental) made.emplace(type, "transcendental");
    for (const auto type : kPooling) made.emplace(type, "pooling");
    for (const auto type : kSoftmax) made.emplace(type, "softmax");
    return made;
  }();
  if (const auto found = families.find(op_type); found != families.end()) return found->second;
  return ToString(op_class == OpClass::kRecurrentGemm ? OpClass::kGemm : op_class);
}

const CpuLine* CpuLines::Find(const OpWork& work) const {
  const CpuLine* any = nullptr;
  for (const CpuLine& line : lines) {
    if (line.family != work.family) continue;
    if (line.dtype == work.dtype) return &line;
    if (line.dtype.empty()) any = &line;
  }
  return any;
}

double LineMicros(const CpuLine& line, sim::Bytes cache_bytes, const OpWork& work) {
  const double far = std::max(0.0, work.bytes - static_cast<double>(cache_bytes));
  return line.call_us + 1e-6 * (line.us_per_mflop * work.flops + line.us_per_mega_elements * work.elements +
                                line.us_per_mb * work.bytes + line.far_us_per_mb * far);
}

}  // namespace stowplan::cost_models
