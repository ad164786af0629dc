// Makes native simulators over a class of links. Internal to sim/native/; included by the files of links/.
#pragma once

#include <memory>

#include "sim/native/route_resources.h"
#include "sim/native/run.h"

namespace stowplan::sim {

// How many ops and transfers may take no time, and the longest time that anything takes alone.
std::int64_t CountWithoutDuration(const Compiled& compiled);
Picos LongestDuration(const Compiled& compiled);

// LinksOf<Moment>: a class of links, constructed from (compiled, sharing, moments). Runs whose moments 64 bits do not
// hold are made with 128.
template <template <typename Moment> typename LinksOf>
class NativeSimulator final : public Simulator {
 public:
  NativeSimulator(const Problem& problem, Sharing sharing)
      : problem_(problem), sharing_(sharing), without_duration_(CountWithoutDuration(problem.compiled())) {
    const Moments<std::uint64_t> moments(without_duration_);
    if (LongestDuration(problem.compiled()) <= moments.longest()) narrow_ = Make<std::uint64_t>();
  }

  const Outcome& Run(const Placement& placement, const RunOptions& options) override {
    if (narrow_) {
      if (const Outcome* outcome = narrow_->Run(placement, options)) return *outcome;
      narrow_.reset();  // the next run is as long
    }
    if (!wide_) wide_ = Make<UInt128>();
    return *wide_->Run(placement, options);
  }

 private:
  template <typename Moment>
  using RunOf = NativeRun<LinksOf<Moment>, Moment>;

  template <typename Moment>
  std::unique_ptr<RunOf<Moment>> Make() const {
    const Moments<Moment> moments(without_duration_);
    return std::make_unique<RunOf<Moment>>(
        problem_, moments, [&] { return LinksOf<Moment>(problem_.compiled(), sharing_, moments); });
  }

  const Problem& problem_;
  const Sharing sharing_;
  const std::int64_t without_duration_;
  std::unique_ptr<RunOf<std::uint64_t>> narrow_;
  std::unique_ptr<RunOf<UInt128>> wide_;  // made when it is needed first
};

// The two kinds that there are.
std::unique_ptr<Simulator> MakeBookedSimulator(const Problem& problem, Sharing sharing);
std::unique_ptr<Simulator> MakeQueuedSimulator(const Problem& problem, Sharing sharing);

}  // namespace stowplan::sim
