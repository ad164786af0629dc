#include "agents/search/bandit.h"

#include <algorithm>

#include "sim/base/error.h"

namespace stowplan::agents {

std::size_t Bandit::Choose(const std::vector<bool>& open, Rng& rng) const {
  std::vector<std::size_t> all, best;
  double most = -1;
  for (std::size_t arm = 0; arm < gain_.size(); ++arm) {
    if (!open[arm]) continue;
    if (turns_[arm] == 0) return arm;
    all.push_back(arm);
    const double mean = gain_[arm] / turns_[arm];
    if (mean > most) best.clear();
    if (mean >= most) best.push_back(arm);
    most = std::max(most, mean);
  }
  STOWPLAN_CHECK(!all.empty());
  constexpr std::uint64_t kAnybodys = 5;
  return rng.Below(kAnybodys) == 0 ? rng.Pick(all) : rng.Pick(best);
}

void Bandit::Credit(std::size_t arm, double gain) {
  constexpr double kFades = 0.8;
  gain_[arm] = kFades * gain_[arm] + gain;
  turns_[arm] = kFades * turns_[arm] + 1;
}

}  // namespace stowplan::agents
