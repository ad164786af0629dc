#include "agents/search/bandit.h"

#include <cmath>

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

double KendallTau(const std::vector<double>& a, const std::vector<double>& b) {
  const auto sign = [](double x, double y) { return static_cast<int>(x > y) - static_cast<int>(x < y); };
  double concordant = 0, a_differ = 0, b_differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int of_a = sign(a[i], a[j]), of_b = sign(b[i], b[j]);
      concordant += of_a * of_b;
      a_differ += of_a != 0;
      b_differ += of_b != 0;
    }
  }
  return a_differ > 0 && b_differ > 0 ? concordant / std::sqrt(a_differ * b_differ) : 0;
}

}  // namespace stowplan::agents
