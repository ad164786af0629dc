// Ops of recorded workloads, each workload's predicted from the probes of the others: how far cost models are from a
// workload that nobody measured.
#pragma once

#include <string>
#include <vector>

namespace berth::bench {

struct HeldOutOps {
  std::string family;  // of cost_models/cpu_line.h; "all" = together
  std::size_t ops = 0;
  double mape = 0, median = 0, p95 = 0, time_weighted = 0;  // of |predicted / probed - 1|
};

// Of a folder of recordings on CPUs, by the berth.cost_model beside each: by family, and all together at the end. Ops that
// stand-ins ran are left out. Empty where there are not two workloads, or one of them has an accelerator.
std::vector<HeldOutOps> HoldWorkloadsOut(const std::string& folder);

}  // namespace berth::bench
