#include "sim/incremental.h"

#include <utility>

#include "sim/error.h"
#include "sim/interconnect.h"
#include "sim/published_incremental.h"

namespace berth::sim {
namespace {

class PlainIncrementalSimulator final : public IncrementalSimulator {
 public:
  explicit PlainIncrementalSimulator(const Problem& problem) : simulator_(MakeSimulator(problem)) {}

  const Outcome& Base(const Placement& placement) override {
    base_ = placement;
    can_commit_ = false;
    return simulator_->Run(base_);
  }

  const Outcome& RunTrial(std::span<const Move> moves, const RunOptions& options) override {
    BERTH_CHECK(!base_.device.empty() || moves.empty());
    moved_ = base_;
    for (const Move& move : moves) moved_.device[static_cast<std::size_t>(move.op)] = move.device;
    can_commit_ = true;
    return simulator_->Run(moved_, options);
  }

  void Commit() override {
    BERTH_CHECK(can_commit_);
    std::swap(base_, moved_);
    can_commit_ = false;
  }

  const Placement& base() const override { return base_; }

  bool replays() const override { return false; }

 private:
  std::unique_ptr<Simulator> simulator_;
  Placement base_;
  Placement moved_;
  bool can_commit_ = false;
};

}  // namespace

std::unique_ptr<IncrementalSimulator> MakePlainIncrementalSimulator(const Problem& problem) {
  return std::make_unique<PlainIncrementalSimulator>(problem);
}

std::unique_ptr<IncrementalSimulator> MakeIncrementalSimulator(const Problem& problem) {
  if (problem.cluster().rules == Rules::kPublished) return MakePublishedIncrementalSimulator(problem);
  return InterconnectOf(problem.cluster()).make_incremental(problem);
}

}  // namespace berth::sim
