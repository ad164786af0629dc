// Attention of many heads over a long sequence in segments, each of which also sees the one before it
// (Transformer-XL: Dai et al., 2019).
#pragma once

#include <cstdint>

#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

// Rows of the segments but the last: those that are the memory of a later one.
std::int64_t MemoryRows(std::int64_t rows, std::int64_t segment);

// `queries` [rows, width]; `own` [rows, 2 width]: keys and values of the rows; `memory` [MemoryRows, 2
// width]: keys and values of the same rows as the next segment sees them, which come from elsewhere because
// their gradient goes elsewhere. Gives mixtures [rows, width]; scores are divided by the square root of a
// head's width, which is width / heads. The scores of all pairs are never stored: learning computes them
// again, segment by segment, so that memory grows with rows, not with rows times segment.
at::Tensor SegmentAttention(const at::Tensor& queries, const at::Tensor& own, const at::Tensor& memory,
                            std::int64_t heads, std::int64_t segment);

}  // namespace stowplan::agents::rl
