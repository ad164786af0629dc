#include "agents/rl/reinforce.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {

double LinearSchedule::At(double progress) const {
  if (progress >= until) return last;
  return first + (last - first) * std::max(progress, 0.0) / until;
}

std::vector<double> ReturnsOfDecreases(std::span<const double> costs) {
  STOWPLAN_CHECK_LE(1u, costs.size());
  std::vector<double> returns(costs.size() - 1);
  double sum = 0;
  for (std::size_t t = returns.size(); t-- > 0;) {
    sum += costs[t] - costs[t + 1];
    returns[t] = sum;
  }
  return returns;
}

std::vector<double> ReturnsToTheBestLater(std::span<const double> costs) {
  STOWPLAN_CHECK_LE(1u, costs.size());
  std::vector<double> returns(costs.size() - 1);
  double best = costs.back();
  for (std::size_t t = returns.size(); t-- > 0;) {
    best = std::min(best, costs[t + 1]);
    returns[t] = costs[t] - best;
  }
  return returns;
}

std::vector<double> StepBaseline::Update(const std::vector<std::vector<double>>& returns) {
  STOWPLAN_CHECK(!returns.empty());
  std::vector<double> mean(returns.front().size(), 0.0);
  for (const std::vector<double>& episode : returns) {
    STOWPLAN_CHECK_EQ(episode.size(), mean.size());
    for (std::size_t t = 0; t < mean.size(); ++t) mean[t] += episode[t] / static_cast<double>(returns.size());
  }
  means_.push_back(std::move(mean));
  if (means_.size() > window_) means_.pop_front();

  std::vector<double> baseline(means_.back().size(), 0.0);
  for (const std::vector<double>& update : means_) {
    for (std::size_t t = 0; t < baseline.size(); ++t)
      baseline[t] += update[t] / static_cast<double>(means_.size());
  }
  return baseline;
}

void StepBaseline::Save(StateWriter& out) const {
  out.Put<std::uint64_t>(means_.size());
  for (const std::vector<double>& mean : means_) out.PutList(mean);
}

void StepBaseline::Load(StateReader& in, std::int64_t steps) {
  const auto count = in.Get<std::uint64_t>();
  if (count > window_) in.Fail("its baseline is over more updates than the window");
  means_.resize(static_cast<std::size_t>(count));
  for (std::vector<double>& mean : means_) {
    mean = in.GetList<double>();
    if (static_cast<std::int64_t>(mean.size()) != steps) in.Fail("its baseline is of other steps");
  }
}

ActionTerms TermsOfActions(const at::Tensor& logits, const at::Tensor& actions, double floor) {
  const at::Tensor log_probabilities = logits.log_softmax(-1);
  const at::Tensor probabilities = log_probabilities.exp();
  const at::Tensor logs = floor > 0 ? (probabilities + floor).log() : log_probabilities;
  ActionTerms terms;
  terms.log_probability = log_probabilities.gather(-1, actions.unsqueeze(-1)).squeeze(-1);
  terms.entropy = -(probabilities * logs).sum(-1);
  return terms;
}

at::Tensor PolicyLoss(const ActionTerms& terms, const std::vector<double>& advantages,
                      double entropy_weight) {
  const at::Tensor weights = at::tensor(advantages, at::kDouble).to(terms.log_probability.scalar_type());
  return -(weights * terms.log_probability).sum() - entropy_weight * terms.entropy.sum();
}

}  // namespace stowplan::agents::rl
