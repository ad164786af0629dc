// From measurement to prediction: how long an op takes (DESIGN 5). The table of cost models is in registry.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cost_model.h"
#include "sim/hardware.h"

namespace berth::cost_models {

// Number formats and op classes with a peak rate or an efficiency of their own.
enum class OpClass : std::uint8_t {
  kConvolution, kDepthwise, kGemm, kRecurrentGemm, kElementwise, kReduction, kNormalisation, kDataMovement, kOptimizer, kNothing,
};
const char* ToString(OpClass op_class);
// By op type; docs/calibration.md lists which types are in which class. Unknown types are element-wise.
OpClass ClassOf(const sim::Op& op);

// One device kind of the hardware catalogue: what the data sheet says, each number with its source beside it in
// cost_models/data/devices.yaml.
struct DeviceSheet {
  sim::DeviceKind kind;
  std::string description;
  double peak_flops_f32 = 0;      // [FLOP/s]
  double peak_flops_tf32 = 0;     // 0 = not supported
  double peak_flops_f16 = 0;      // dense, tensor cores where the kind has them
  double memory_bandwidth = 0;    // [B/s]
  int multiprocessors = 0;        // 0 = not an accelerator with waves
};

class Catalogue : public sim::HardwareCatalogue {
 public:
  virtual const DeviceSheet* FindSheet(const std::string& kind) const = 0;
};

// The catalogue that ships with berth (compiled in from cost_models/data/*.yaml). Loaded once, thread-safe.
const Catalogue& BuiltinCatalogue();

struct CostModelRow {
  const char* name;
  const char* what;               // one line: what it models and how realistic it is
  const char* parameters;         // "efficiency=0.5" or ""
};
const std::vector<CostModelRow>& CostModels();

// From a spec ("analytic", "chain(table(file=t.json),analytic)") or the path of a berth.cost_model parameter file.
// Empty = the default chain. Throws InputError for unknown names and parameters.
std::unique_ptr<sim::CostModel> MakeCostModel(const std::string& spec, const Catalogue& catalogue = BuiltinCatalogue());

}  // namespace berth::cost_models
