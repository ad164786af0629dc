// Losses of batches of whole draws: REINFORCE, and proximal policy optimisation (Schulman et al. 2017) for
// episodes of length one. PPO takes its ratio for each decision, because the joint ratio of thousands of
// nodes leaves the clip range at once (docs/protocol_rules.md#ppo).
#pragma once

#include "agents/rl/reinforce.h"

namespace stowplan::agents::rl {

// Losses of one kind of decisions [rows, decisions]. `weights` [rows]: advantage of a row times its share of
// the batch, so that both sum over rows. They average over decisions where `mean` is set and sum otherwise;
// the entropy averages over rows.

// -weight * log-probability, minus the entropy bonus.
at::Tensor ReinforceLoss(const ActionTerms& terms, const at::Tensor& weights, double entropy_weight,
                         bool mean);

// -min(ratio * weight, clip(ratio, 1 - range, 1 + range) * weight), minus the entropy bonus; ratio = exp of
// the present minus `old_log_probability` [rows, decisions]. Always averages over decisions. At ratio 1 its
// gradient is that of ReinforceLoss.
at::Tensor PpoLoss(const ActionTerms& terms, const at::Tensor& old_log_probability, const at::Tensor& weights,
                   double range, double entropy_weight);

}  // namespace stowplan::agents::rl
