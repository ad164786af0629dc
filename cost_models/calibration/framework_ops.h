// PyTorch's ops in the words of probes: what a marker with its shapes did, so that it can be priced.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost_models/calibration/observations.h"
#include "profiler/traces/records.h"

namespace stowplan::cost_models {

struct ToldOp {
  // What the call did, without times: one op, or the two gradients that one call of convolution_backward makes. Empty
  // where it cannot be told.
  std::vector<ObservedOp> ops;
  // "aten::max_pool2d_with_indices", which nobody tells; "aten::mm, without shapes"; empty where it is told.
  std::string why_not;
};
inline constexpr char kUnshaped[] = "without shapes";

// kernels: the names of what it ran on the device. They tell the number format where the marker does not, and TF32,
// which no marker tells.
ToldOp TellOp(const profiler::Marker& marker, const std::vector<std::string_view>& kernels);

// A collective with its bytes, and its ranks where they are told, of PyTorch's markers "record_param_comms" and
// "nccl:all_reduce"; nothing where they lack the bytes.
std::optional<ObservedOp> TellCollective(const profiler::Marker& marker);

// All names that may be told, sorted: for documents and tests.
std::vector<std::string_view> ToldNames();

}  // namespace stowplan::cost_models
