// Drawing from rows of logits with the agents' own generator, because torch's differs between versions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <ATen/core/Tensor.h>

#include "agents/random_numbers.h"

namespace stowplan::agents::rl {

struct DrawnActions {
  at::Tensor actions;          // [rows], integers
  at::Tensor log_probability;  // [rows], double
};

// One action for each row of `logits` [rows, choices], without gradient; without a generator the likeliest
// one, the first of equals. One number is taken from the generator for each row, in order.
DrawnActions DrawActions(const at::Tensor& logits, Rng* rng);
// The same with numbers in [0, 1) taken before, one for each row; with none the likeliest.
DrawnActions DrawActions(const at::Tensor& logits, std::span<const double> uniforms);

// Standard normal numbers (Box, Muller).
at::Tensor DrawNormal(at::IntArrayRef sizes, at::ScalarType type, Rng& rng);

// Throws RunError, saying after how many updates, where a number is infinite or none.
void CheckFinite(const at::Tensor& values, const std::string& agent, std::int64_t updates);

}  // namespace stowplan::agents::rl
