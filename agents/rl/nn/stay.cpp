#include "agents/rl/nn/stay.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {

Stay::Stay(double probability, std::int64_t width, std::int64_t choices, at::ScalarType type)
    : choices_(choices) {
  if (probability == 0) return;
  const double others = static_cast<double>(std::max<std::int64_t>(1, choices - 1));
  const double weight = std::log(probability / (1 - probability) * others);
  parameters_ = {at::zeros({width, 1}, type).set_requires_grad(true),
                 at::full({1}, weight, type).set_requires_grad(true)};
}

Stay::Pulls Stay::Read(const at::Tensor& items, const at::Tensor& earlier) const {
  if (!on()) return {};
  STOWPLAN_CHECK(earlier.defined());
  return {earlier, (items.matmul(parameters_[0]) + parameters_[1]).squeeze(-1)};
}

// `chosen` [rows, items + 1]: the last column, and what is not chosen yet, is none of the choices.
at::Tensor Stay::Added(const at::Tensor& chosen, const at::Tensor& earlier, const at::Tensor& weight) const {
  const at::Tensor taken = chosen.gather(1, earlier).unsqueeze(2) == at::arange(choices_, at::kLong);
  return taken * weight.unsqueeze(2);
}

at::Tensor Stay::Added(const Pulls& pulls, const at::Tensor& actions) const {
  const std::int64_t rows = actions.size(0);
  const at::Tensor chosen = at::cat({actions, at::full({rows, 1}, choices_, at::kLong)}, 1);
  return Added(chosen, ByRow(pulls.earlier, rows), ByRow(pulls.weight, rows));
}

Stay::Walk::Walk(const Stay& stay, const Pulls& pulls, std::int64_t rows) : stay_(stay) {
  if (!stay.on()) return;
  earlier_ = ByRow(pulls.earlier, rows);
  weight_ = ByRow(pulls.weight, rows);
  chosen_ = at::full({rows, earlier_.size(1) + 1}, stay.choices_, at::kLong);
}

at::Tensor Stay::Walk::Next(const at::Tensor& logits) const {
  if (!stay_.on()) return logits;
  return logits + stay_.Added(chosen_, earlier_.narrow(1, item_, 1), weight_.narrow(1, item_, 1)).squeeze(1);
}

void Stay::Walk::Choose(const at::Tensor& actions) {
  if (stay_.on()) chosen_.select(1, item_++).copy_(actions);
}

}  // namespace stowplan::agents::rl
