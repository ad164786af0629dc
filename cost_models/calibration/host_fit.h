// What an op costs beyond its work: the host's time to issue it, gaps, nodes of graphs, and what ops that run beside
// one another, or beside a copy, take from each other.
#pragma once

#include <string>
#include <vector>

#include "cost_models/calibration/observations.h"
#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

// Two streams at once, held against the model of streams (docs/model.md, section 3).
struct PairFit {
  std::string name;
  bool with_copy = false;
  double measured_us = 0;   // both at once
  double predicted_us = 0;  // with the fitted rate; 0 where none was fitted
  double rate = 0;          // that this pair alone says; 0 if it says none
  std::string why_not;      // it says none
};

struct HostFit {
  KindParameters parameters;  // dispatch, launch, concurrency, overlap_copy; of what was probed

  bool empty() const {
    return !parameters.dispatch_us && !parameters.launch_to_start_us && !parameters.kernel_gap_us &&
           !parameters.graph_node_us && !parameters.concurrency && !parameters.overlap_copy;
  }
  std::vector<PairFit> pairs;
  std::vector<std::string> notes;
};

// Notes name what an accelerator's recordings lack; a CPU device has one stream and no queue.
HostFit FitHost(const IssueProbes& observed, sim::DeviceClass device_class, const std::string& kind);

}  // namespace stowplan::cost_models
