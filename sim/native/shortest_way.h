// Which simulator runs a placement natively. Internal to sim/; included only by the files of
// sim/interconnect/.
#pragma once

#include <memory>

#include "sim/native/booked_simulator.h"
#include "sim/native/simulator.h"
#include "sim/native/solo_simulator.h"

namespace berth::sim {

// NativeSimulator can run everything. Runs of which only the outcome is wanted go a shorter way where there
// is one; all give the same bits.
template <typename Links>
class ShortestWay final : public Simulator {
 public:
  // can_book: see booked_simulator.h.
  ShortestWay(const Problem& problem, bool can_book)
      : problem_(problem), solo_(SoloDevices::Are(problem)), can_book_(can_book) {}

  const Outcome& Run(const Placement& placement, const RunOptions& options) override {
    if (options.record == RunOptions::Record::kNothing && solo_) {
      const Outcome* outcome = RunSolo(placement);
      if (outcome != nullptr && outcome->runtime <= options.cutoff.value_or(kNever)) return *outcome;
    }
    return Made(any_).Run(placement, options);
  }

 private:
  const Outcome* RunSolo(const Placement& placement) {
    const bool listed = HasList(placement);
    if (!listed && !placement.priority.empty()) return nullptr;
    const std::span<const OpIndex> list = listed ? List(placement) : std::span<const OpIndex>();
    if (!listed || !can_book_) return Made(unbooked_).Run(placement, list);
    if (!booked_) booked_ = MakeBookedSimulator(problem_);
    return booked_->Run(placement, list);
  }
  template <typename Engine>
  Engine& Made(std::unique_ptr<Engine>& engine) {
    if (!engine) engine = std::make_unique<Engine>(problem_);
    return *engine;
  }
  bool HasList(const Placement& placement) const {
    return !placement.order.empty() ||
           (placement.priority.empty() && problem_.cluster().dispatch.order == Dispatch::Order::kProgram);
  }
  std::span<const OpIndex> List(const Placement& placement) const {
    if (placement.order.empty()) return problem_.compiled().program_order;
    return placement.order;
  }

  const Problem& problem_;
  const bool solo_, can_book_;
  // Each made when it is needed first.
  std::unique_ptr<BookedSimulator> booked_;
  std::unique_ptr<SoloSimulator<Links>> unbooked_;
  std::unique_ptr<NativeSimulator<Links>> any_;
};

}  // namespace berth::sim
