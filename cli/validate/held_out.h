// Ops of recorded workloads, each workload's predicted from the probes of the others: how far cost models are from a
// workload that nobody measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost_models/calibration/errors.h"

namespace stowplan::cli {

struct HeldOutOps {
  std::string family;  // of cost_models/ops/cpu_line.h; "all" = together
  cost_models::ErrorSummary errors;
};

// Steps of a workload whose ops are priced so; what no line prices keeps the price of its own probe. Nothing where a
// stand-in's op would: the stand-ins of the other workloads tell what stand-ins take.
struct HeldOutSteps {
  std::string workload;
  std::optional<double> median_error, tau;  // as of Score
};

struct HeldOut {
  std::vector<HeldOutOps> ops;  // by family, and all together at the end
  std::vector<HeldOutSteps> steps;
};

// Of a folder of recordings on CPUs, by the stowplan.cost_model beside each. Ops that stand-ins ran are a family of
// their own. Empty where there are not two workloads, or one of them has an accelerator.
HeldOut HoldWorkloadsOut(const std::string& folder);

}  // namespace stowplan::cli
