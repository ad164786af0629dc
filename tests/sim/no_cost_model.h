// Prices nothing: the ops of a test have costs of their own, or take no time.
#pragma once

#include <optional>
#include <string>

#include "sim/cost_model.h"

namespace stowplan::sim {

class NoCostModel final : public CostModel {
 public:
  std::string name() const override { return "none"; }
  std::optional<Price> Predict(const OpGraph&, OpIndex, const Device&) const override { return std::nullopt; }
};

}  // namespace stowplan::sim
