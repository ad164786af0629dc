#include "sim/published_incremental.h"

#include <algorithm>
#include <utility>

#include "sim/error.h"
#include "sim/published_peaks.h"
#include "sim/published_replay.h"
#include "sim/published_simulator.h"
#include "sim/published_wiring.h"

namespace berth::sim {
namespace {

class PublishedIncrementalSimulator final : public IncrementalSimulator {
 public:
  PublishedIncrementalSimulator(const Problem& problem, PublishedWiring wiring)
      : problem_(problem), wiring_(std::move(wiring)), replay_(problem, wiring_), peaks_(replay_, wiring_) {
    const std::size_t devices = problem.cluster().devices.size();
    base_use_.resize(devices);
    outcome_.devices.resize(devices);
  }

  const Outcome& Base(const Placement& placement) override {
    base_ = placement;
    has_base_ = true;
    has_trial_ = false;
    replay_.RunBase(base_.device);
    std::fill(base_use_.begin(), base_use_.end(), DeviceUse{});
    for (OpIndex op = 0; op < problem_.graph().size(); ++op) {
      const DeviceIndex d = base_.device[static_cast<std::size_t>(op)];
      base_use_[static_cast<std::size_t>(d)].busy += problem_.costs().at(op, d);
    }
    peaks_.StoreBase(base_use_);
    outcome_.stopped = false;
    outcome_.devices = base_use_;
    outcome_.runtime = 0;
    for (std::size_t s = 0; s < 2 * base_use_.size(); ++s) {
      outcome_.runtime = std::max(outcome_.runtime, replay_.base_free(s));
    }
    return outcome_;
  }

  const Outcome& RunTrial(std::span<const Move> moves, const RunOptions& options) override {
    BERTH_CHECK(has_base_);
    has_trial_ = true;
    moves_.assign(moves.begin(), moves.end());
    if (options.record != RunOptions::Record::kNothing || !replay_.CanReplay(moves)) {
      return RunFromScratch(options);
    }
    const PublishedReplay::Result result =
        replay_.RunTrial(moves, options.cutoff.value_or(PublishedReplay::kNever));
    Describe(result);
    replay_.Revert();
    return outcome_;
  }

  void Commit() override {
    BERTH_CHECK(has_trial_);
    ApplyMoves();
    Base(base_);
  }

  const Placement& base() const override { return base_; }

  bool replays() const override { return true; }

 private:
  void ApplyMoves() {
    for (const Move& move : moves_) base_.device[static_cast<std::size_t>(move.op)] = move.device;
  }

  const Outcome& RunFromScratch(const RunOptions& options) {
    if (!simulator_) simulator_ = MakePublishedSimulator(problem_);
    moved_ = base_;
    for (const Move& move : moves_) moved_.device[static_cast<std::size_t>(move.op)] = move.device;
    return simulator_->Run(moved_, options);
  }

  void Describe(const PublishedReplay::Result& result) {
    outcome_.stopped = result.rest == PublishedReplay::Rest::kStopped;
    if (outcome_.stopped) {
      outcome_.runtime = result.shift;
      std::fill(outcome_.devices.begin(), outcome_.devices.end(), DeviceUse{});
      return;
    }
    outcome_.runtime = 0;
    for (std::size_t s = 0; s < 2 * base_use_.size(); ++s) {
      const std::uint32_t tail = replay_.base_tail(s);
      const bool goes_on = tail > replay_.first(s) && replay_.end_number(tail - 1) > result.last;
      outcome_.runtime =
          std::max(outcome_.runtime, goes_on ? replay_.base_free(s) + result.shift : replay_.free(s));
    }
    outcome_.devices = base_use_;
    for (const OpIndex op : replay_.moved()) {
      const DeviceIndex from = replay_.base_device(op), to = replay_.device(op);
      outcome_.devices[static_cast<std::size_t>(from)].busy -= problem_.costs().at(op, from);
      outcome_.devices[static_cast<std::size_t>(to)].busy += problem_.costs().at(op, to);
    }
    peaks_.Find(outcome_.devices);
  }

  const Problem& problem_;
  const PublishedWiring wiring_;
  PublishedReplay replay_;
  PublishedPeaks peaks_;
  std::unique_ptr<Simulator> simulator_;  // made when it is needed
  Placement base_;
  Placement moved_;
  std::vector<Move> moves_;
  std::vector<DeviceUse> base_use_;
  bool has_base_ = false;
  bool has_trial_ = false;
  Outcome outcome_;
};

}  // namespace

std::unique_ptr<IncrementalSimulator> MakePublishedIncrementalSimulator(const Problem& problem) {
  PublishedWiring wiring(problem.graph());
  const std::size_t places = PublishedReplay::Places(wiring, problem.cluster().devices.size());
  // Where 64 bits do not hold a time and a place, not even the plain simulator is fast.
  if (wiring.LatestTime(problem.costs()) >= UInt128{1} << (63 - PublishedReplay::Queues::PlaceBits(places))) {
    return MakePlainIncrementalSimulator(problem);
  }
  return std::make_unique<PublishedIncrementalSimulator>(problem, std::move(wiring));
}

}  // namespace berth::sim
