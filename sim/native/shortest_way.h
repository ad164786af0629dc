// Which simulator runs a placement natively. Internal to sim/; included only by the files of sim/interconnect/.
#pragma once

#include <memory>

#include "sim/native/booked_simulator.h"
#include "sim/native/simulator.h"
#include "sim/native/solo_devices.h"

namespace berth::sim {

// NativeSimulator can run everything. Runs of which only the outcome is wanted go a shorter way where there is one;
// all give the same bits.
template <typename Links>
class ShortestWay final : public Simulator {
 public:
  // can_book: see booked_simulator.h.
  ShortestWay(const Problem& problem, bool can_book)
      : problem_(problem), can_book_(can_book && SoloDevices::Are(problem)) {}

  const Outcome& Run(const Placement& placement, const RunOptions& options) override {
    const Outcome* outcome = nullptr;
    if (options.record == RunOptions::Record::kNothing && can_book_ && HasList(placement)) {
      if (!booked_) booked_ = MakeBookedSimulator(problem_);
      outcome = booked_->Run(placement, List(placement));
    }
    if (outcome != nullptr && outcome->runtime <= options.cutoff.value_or(kNever)) return *outcome;
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
  const bool can_book_;
  // Each made when it is needed first.
  std::unique_ptr<BookedSimulator> booked_;
  std::unique_ptr<NativeSimulator<Links>> any_;
};

}  // namespace berth::sim
