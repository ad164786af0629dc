// The few things that every learner does with tensors. Headers of agents/rl may name at::Tensor; headers of
// other folders may not.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "agents/ranks.h"
#include "agents/rl/nn/byte_state.h"

namespace stowplan::agents::rl {

using Tensors = std::vector<at::Tensor>;

// Holds for the calling thread, so each thread that computes calls it. Torch's own threads cost more than
// they give on networks of this size; parallelism is ours. Denormal numbers become 0: a policy that is sure
// of itself has little else in its gradients, and they take a hundred times as long.
void SetUpTorchThread();

// d(loss)/d(parameter) in the order given; zeros where the loss does not depend on one. Does not touch
// .grad(), so several threads may do this with the same parameters.
Tensors Gradients(const at::Tensor& loss, const Tensors& parameters);

// Values, bit for bit. Load fills a tensor of the right type and shape in place and throws InputError for
// others.
void SaveTensor(const at::Tensor& tensor, StateWriter& out);
void LoadTensor(StateReader& in, at::Tensor& tensor);

void SaveTensors(const Tensors& tensors, StateWriter& out);
void LoadTensors(StateReader& in, const Tensors& tensors);

// Sums over the ranks, in place, on all of them; contiguous tensors of float or double. Collective.
void SumOverRanks(const Tensors& tensors, Ranks& ranks);

// By row, what is of its sequence: [sequences, ...] as [rows, ...], the rows of one sequence side by side.
at::Tensor ByRow(const at::Tensor& of_sequence, std::int64_t rows);

void Append(Tensors& all, const Tensors& more);
std::int64_t CountElements(const Tensors& tensors);
// Constant 0-1 matrix [rows, columns] with ones at (row[i], column[i]); the pairs must be distinct and
// ascending.
at::Tensor IncidenceMatrix(const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& column,
                           std::int64_t rows, std::int64_t columns, at::ScalarType type);
at::Tensor IndexTensor(const std::vector<std::int64_t>& values);

}  // namespace stowplan::agents::rl
