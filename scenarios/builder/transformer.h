// Parts that transformers share. Tokens are rows: [T, n] with T = batch x length, or [.., n]; heads stand before
// the length, so that a product of batches has matrices as its last two axes.
#pragma once

#include <string>

#include "scenarios/builder/layers.h"

namespace stowplan::scenarios {

// Throws InputError if `width` cannot be cut into `heads`: "bert: hidden=770 is no multiple of heads=12".
void CheckMultiple(const std::string& workload, const std::string& what, std::int64_t value,
                   const std::string& of_what, std::int64_t divisor);

// x / 2 (1 + erf(x / sqrt 2)) in 5 elementary ops, of which the gradient keeps four tensors, x and the result
// among them; or as one op, of which it keeps x alone.
Tensor Gelu(GraphBuilder& b, const std::string& name, Tensor x, bool one_op = false);

// [B * S, H * d] -> [B, H, S, d], a view and a transposition; and back.
Tensor SplitHeads(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t batch, std::int64_t heads);
Tensor MergeHeads(GraphBuilder& b, const std::string& name, Tensor x);

// The weights' side of attention: scores [.., S, T] are scaled, masked (unless mask.op is -1), made
// probabilities and, in training, dropped out if `dropout`. Scores are whole tensors: no flash attention.
Tensor Probabilities(GraphBuilder& b, Tensor scores, Tensor mask, bool dropout);

}  // namespace stowplan::scenarios
