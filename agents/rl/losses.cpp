#include "agents/rl/losses.h"

#include <ATen/ATen.h>

namespace stowplan::agents::rl {
namespace {

at::Tensor EntropyBonus(const ActionTerms& terms, double weight, bool mean) {
  return weight * (mean ? terms.entropy.mean() : terms.entropy.sum(-1).mean());
}

}  // namespace

at::Tensor ReinforceLoss(const ActionTerms& terms, const at::Tensor& weights, double entropy_weight,
                         bool mean) {
  const at::Tensor& logs = terms.log_probability;
  return -(weights * (mean ? logs.mean(-1) : logs.sum(-1))).sum() - EntropyBonus(terms, entropy_weight, mean);
}

at::Tensor PpoLoss(const ActionTerms& terms, const at::Tensor& old_log_probability, const at::Tensor& weights,
                   double range, double entropy_weight) {
  const at::Tensor ratio = (terms.log_probability - old_log_probability).exp();
  const at::Tensor weight = weights.unsqueeze(-1);
  const at::Tensor gain = at::minimum(ratio * weight, ratio.clamp(1 - range, 1 + range) * weight);
  return -gain.mean(-1).sum() - EntropyBonus(terms, entropy_weight, true);
}

}  // namespace stowplan::agents::rl
