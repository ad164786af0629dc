#include "agents/rl/rewards.h"

#include <algorithm>
#include <cmath>

#include "agents/search/objective.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {

double RewardOf(Reward kind, const Task& task, const Evaluation& evaluation) {
  constexpr double kPicosPerSecond = 1e12;
  if (kind == Reward::kShaped) return ShapedReward(task, evaluation);
  if (!evaluation.feasible) return kFailingReward;
  return -std::sqrt(static_cast<double>(evaluation.runtime) / kPicosPerSecond);
}

double BatchBaseline::Before(double batch_mean) const {
  if (seen_ > 0) return average_;
  return kind_ == Baseline::kFromFailing ? kFailingReward : batch_mean;
}

std::vector<double> BatchBaseline::Advantages(const std::vector<double>& rewards,
                                              const std::vector<bool>& counts) {
  STOWPLAN_CHECK_EQ(rewards.size(), counts.size());
  std::vector<double> advantages(rewards.size(), 0.0);
  double sum = 0;
  std::int64_t n = 0;
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    if (!counts[i]) continue;
    sum += rewards[i];
    ++n;
  }
  if (n == 0 || (n == 1 && kind_ == Baseline::kLeaveOneOut)) return advantages;
  const double mean = sum / static_cast<double>(n);
  const double before = Before(mean);
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    if (!counts[i]) continue;
    advantages[i] = kind_ == Baseline::kLeaveOneOut
                        ? rewards[i] - (sum - rewards[i]) / static_cast<double>(n - 1)
                        : rewards[i] - before;
  }
  seen_ += n;
  average_ = kind_ == Baseline::kRunningMean
                 ? before + (sum - static_cast<double>(n) * before) / static_cast<double>(seen_)
                 : decay_ * before + (1 - decay_) * mean;
  return advantages;
}

void BatchBaseline::Save(StateWriter& out) const {
  out.Put(seen_);
  out.Put(average_);
}

void BatchBaseline::Load(StateReader& in) {
  seen_ = in.GetCount();
  average_ = in.Get<double>();
}

void Standardise(std::vector<double>& advantages, const std::vector<bool>& counts, double floor) {
  double sum = 0, squares = 0, n = 0;
  for (std::size_t i = 0; i < advantages.size(); ++i) {
    if (!counts[i]) continue;
    sum += advantages[i];
    squares += advantages[i] * advantages[i];
    n += 1;
  }
  if (n == 0) return;
  const double mean = sum / n;
  const double deviation = std::max(std::sqrt(std::max(squares / n - mean * mean, 0.0)), floor);
  for (double& advantage : advantages) advantage /= deviation;
}

}  // namespace stowplan::agents::rl
