// What products of 16-bit numbers cost whose rows are no multiple of 16 bytes.
//
// Matrix kernels load vectors of 16 bytes, so such a product takes at least as long as the one padded to whole vectors. Where
// a row has an odd number of elements, not even the 4 bytes of an asynchronous copy fit, and libraries fall back on kernels of
// Turing that load elements one by one. Those reach 0.47 TFLOP/s a multiprocessor, whatever the card's peak: bmm of bf16 with
// 3,137 and 5,185 tokens in four shapes on an H100 (0.39 to 0.54; AMD-AGI/TraceLens@171dd74, MIT).
// Whole models on an RTX 3090 agree: the law's batched products, many of them of 49 and 197 tokens, reach 0.5 there.
//
// No term for softmax: odd rows of f32 take as long as even ones (NeuSight's 1,750 rows on A100, P100 and T4 each). DeepBench's
// odd products are as fast as even ones, but its benchmark pads them (recalled).
#pragma once

#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

// The same with columns and depth of whole vectors; all else, and what runs in other formats, as it is.
OpWork PaddedToVectors(const OpWork& work);

// What it takes at least [us]; 0 where its rows can be loaded by 4 bytes. The sheet must have multiprocessors. Graphs do not
// say which operand is a view that is stored transposed, as in the gradient of weights: an odd depth counts in batched
// products, and elsewhere only where the rows are odd, too.
double UnalignedMicros(const OpWork& work, const DeviceSheet& sheet);

}  // namespace stowplan::cost_models
