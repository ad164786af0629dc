// The cross-entropy method (Rubinstein, Methodology and Computing in Applied Probability 1999; Post, NeurIPS
// 2018, places with it): every unit has a distribution over the devices of its own. Rounds of `batch`
// placements are drawn; the best `elite` share of the round and of the elites before it are kept, and the
// distributions move by `rate` towards the frequencies among them. `explore` of every draw is uniform, so that
// no device is lost for good.
//
// start=trivial: StartsOf() is evaluated first and its best is half of the first distributions; else they are
// uniform, after the shared random start. Placements that do not fit are compared by overflow bytes first.
// Spends the whole budget.
#include <algorithm>

#include "agents/agents.h"
#include "agents/search/moves.h"
#include "agents/search/objective.h"

namespace stowplan::agents {
namespace {

struct Drawn {
  Objective objective;
  UnitPlacement placement;
};

// By unit and position in task.devices, summing to one for each unit.
class Distributions {
 public:
  explicit Distributions(const Task& task)
      : task_(task),
        devices_(task.devices.size()),
        chance_(task.units.ops.size() * devices_, 1.0 / static_cast<double>(devices_)) {}

  UnitPlacement Draw(double explore, Rng& rng) const {
    UnitPlacement placement(task_.units.ops.size());
    for (std::size_t unit = 0; unit < placement.size(); ++unit) {
      double left = rng.Uniform();
      if (left < explore) {
        placement[unit] = rng.Pick(task_.devices);
        continue;
      }
      left = (left - explore) / (1 - explore);
      std::size_t device = 0;
      while (device + 1 < devices_ && left >= chance_[unit * devices_ + device]) {
        left -= chance_[unit * devices_ + device++];
      }
      placement[unit] = task_.devices[device];
    }
    return placement;
  }

  // Moves by `rate` towards the frequencies among the elites.
  void Follow(const std::vector<Drawn>& elites, double rate) {
    for (double& chance : chance_) chance *= 1 - rate;
    const double share = rate / static_cast<double>(elites.size());
    for (const Drawn& elite : elites) {
      for (std::size_t unit = 0; unit < elite.placement.size(); ++unit) {
        const auto device =
            std::lower_bound(task_.devices.begin(), task_.devices.end(), elite.placement[unit]);
        chance_[unit * devices_ + static_cast<std::size_t>(device - task_.devices.begin())] += share;
      }
    }
  }

 private:
  const Task& task_;
  std::size_t devices_;
  std::vector<double> chance_;
};

class CrossEntropy final : public Agent {
 public:
  explicit CrossEntropy(const Settings& read) : Agent(read.Canonical()) {
    start_ = read.Text("start");
    batch_ = read.Int("batch");
    elite_ = read.Double("elite");
    rate_ = read.Double("rate");
    explore_ = read.Double("explore");
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    const auto done = [&] { return evaluator.remaining() == 0 || evaluator.stop_requested(); };
    if (done()) return;
    Rng rng(options.seed, "cross_entropy");
    const auto elites =
        std::max<std::size_t>(1, static_cast<std::size_t>(elite_ * static_cast<double>(batch_)));
    Distributions distributions(task);
    std::vector<Drawn> best;
    Keep(task, evaluator, StartsOf(start_, task, Moves(task), options.seed), 1, best);
    if (start_ == "trivial") distributions.Follow(best, 0.5);
    while (!done()) {
      std::vector<UnitPlacement> batch;
      for (std::int64_t i = 0; i < batch_; ++i) batch.push_back(distributions.Draw(explore_, rng));
      Keep(task, evaluator, batch, elites, best);
      distributions.Follow(best, rate_);
    }
  }

 private:
  // Evaluates the batch and leaves the best so many of it and of those before.
  static void Keep(const Task& task, Evaluator& evaluator, const std::vector<UnitPlacement>& batch,
                   std::size_t elites, std::vector<Drawn>& best) {
    const std::vector<Evaluation> evaluations = evaluator.EvaluateBatch(batch);
    for (std::size_t i = 0; i < evaluations.size(); ++i) {
      evaluator.CountProposal();
      best.push_back({ObjectiveOf(task, evaluations[i]), batch[i]});
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const Drawn& a, const Drawn& b) { return a.objective < b.objective; });
    best.resize(std::min(elites, best.size()));
  }

  std::string start_;
  std::int64_t batch_ = 0;
  double elite_ = 0;
  double rate_ = 0;
  double explore_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeCrossEntropy(const Settings& read) {
  return std::make_unique<CrossEntropy>(read);
}

}  // namespace stowplan::agents
