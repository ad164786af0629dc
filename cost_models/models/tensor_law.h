// A law for GPUs with tensor cores for f16 and bf16, where no rows of the op price it: 25 numbers, fitted to whole models.
//
//   t = (arithmetic^8 + memory^8)^(1/8), at least the sheet's kernel time
//   arithmetic = flops / (peak · e) · (1 + 33 / depth) · (padding of the columns to 64 and of the inner channels to 32)^0.67
//                a third and more longer where channels are no multiple of 8
//   memory     = bytes / (bandwidth · b)
//
// Batch norm in training reads twice, once for its statistics. Products read their weights at least (ColdMicros()).
//
// e and b are shares of the sheet for each kind of op, fitted to the speed of half of the architecture families (by hash of
// their names) of huggingface/pytorch-image-models on an RTX 3090 (results/benchmark-infer-amp-nhwc-pt240-cu124-rtx3090.csv,
// Apache-2.0): f16 by AMP, channels last. The other half is missed by 5.5 % (median of 509 models), its order has a tau of
// 0.93. Gradients of convolutions take the medians of DeepBench on a V100 (baidu-research/DeepBench@da81ba7) times the forward
// pass. On other GPUs the shares are assumed to be the same, tier C.
#pragma once

#include <optional>

#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

// [us]; nothing for devices without such units, products in other formats, and what neither multiplies nor moves bytes.
std::optional<double> TensorLawMicros(const OpWork& work, const DeviceSheet& sheet);

}  // namespace stowplan::cost_models
