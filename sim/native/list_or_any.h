// Which simulator runs a placement natively. Internal to sim/; included only by the files of sim/interconnect/.
#pragma once

#include <memory>

#include "sim/native/list_simulator.h"
#include "sim/native/simulator.h"

namespace berth::sim {

// Runs from lists of which only the outcome is wanted go the short way. For problems that CanRunLists().
template <typename Links>
class ListOrAnySimulator final : public Simulator {
 public:
  explicit ListOrAnySimulator(const Problem& problem) : problem_(problem) {}

  const Outcome& Run(const Placement& placement, const RunOptions& options) override {
    if (options.record == RunOptions::Record::kNothing && HasList(placement)) {
      if (!lists_) lists_ = MakeListSimulator(problem_);
      const Outcome* outcome = lists_->Run(placement, List(placement));
      if (outcome != nullptr && outcome->runtime <= options.cutoff.value_or(kNever)) return *outcome;
    }
    if (!any_) any_ = std::make_unique<NativeSimulator<Links>>(problem_);
    return any_->Run(placement, options);
  }

 private:
  bool HasList(const Placement& placement) const {
    return !placement.order.empty() ||
           (placement.priority.empty() && problem_.cluster().dispatch.order == Dispatch::Order::kProgram);
  }
  std::span<const OpIndex> List(const Placement& placement) const {
    return placement.order.empty() ? problem_.compiled().program_order : placement.order;
  }

  const Problem& problem_;
  // Each made when it is needed first.
  std::unique_ptr<ListSimulator> lists_;
  std::unique_ptr<NativeSimulator<Links>> any_;
};

}  // namespace berth::sim
