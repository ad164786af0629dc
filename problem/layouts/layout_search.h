// Which layout of a model is fastest on all accelerators of a cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "problem/layouts/layout_estimate.h"
#include "problem/loaded_problem.h"
#include "scenarios/parallel/layout.h"

namespace stowplan::problem {

struct FoundLayout {
  scenarios::Layout layout;
  LayoutEstimate estimate;
  std::optional<sim::Picos> simulated{};  // empty = only estimated
  sim::Bytes peak = 0;                    // of a rank: simulated where it was, else estimated
  bool fits = true;
  double model_flops_use =
      0;  // the model's FLOPs, without those done again, of what the accelerators could do

  sim::Picos time() const { return simulated.value_or(estimate.time); }
};

struct RefusedLayouts {
  std::string why;
  std::int64_t count = 0;
};

struct LayoutSearchResult {
  std::vector<FoundLayout> layouts;    // those that fit, simulated ones first, each by time
  std::vector<FoundLayout> too_large;  // by how much
  std::vector<RefusedLayouts> refused;
  double samples = 0, tokens = 0;  // of a step; 0 = not told
  sim::Bytes capacity = 0;         // of an accelerator
};

struct LayoutSearchOptions {
  int simulated = 8;  // of those that are estimated to be fastest
};

// All of tensor x pipeline x data that are as many ranks as the cluster has accelerators, with each number of micro-batches that
// divides a data rank's batch, ZeRO 0, 1 and 3 and each way of recomputing. Throws InputError as loading does, and for a
// cluster whose accelerators are of several kinds.
LayoutSearchResult FindLayouts(const ProblemSource& source, const LayoutSearchOptions& options);

}  // namespace stowplan::problem
