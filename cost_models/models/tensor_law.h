// A law for GPUs with tensor cores for f16 and bf16, where no rows of the op price it: 25 numbers, fitted to whole models,
// and for HBM and odd sizes a few that others measured.
//
//   t = (arithmetic^8 + memory^8)^(1/8), at least the sheet's kernel time, of layer norms 1.5 us more (H100, rows of 512 to 1,024)
//   arithmetic = flops / (peak · e) · (1 + 33 / depth) · (padding of the columns to 64 and of the inner channels to 32)^0.67
//                a third and more longer where channels are no multiple of 8; odd rows: alignment.h
//                softmax of rows beyond 1,024: 1.3 elements a ns a multiprocessor, whatever the format
//   memory     = bytes / (bandwidth · b)
//
// Batch norm in training reads twice, once for its statistics. Products read their weights at least (ColdMicros()).
//
// e and b are shares of the sheet for each kind of op, fitted to the speed of half of the architecture families (by hash of
// their names) of huggingface/pytorch-image-models on an RTX 3090 (results/benchmark-infer-amp-nhwc-pt240-cu124-rtx3090.csv,
// Apache-2.0): f16 by AMP, channels last. The other half is missed by 5.5 % (median of 509 models), its order has a tau of
// 0.93. Gradients of convolutions take the medians of DeepBench on a V100 (baidu-research/DeepBench@da81ba7) times the forward
// pass. On other GPUs the shares are assumed to be the same, tier C.
//
// HBM feeds a multiprocessor faster than kernels for 16 bits ask, so b has other values there:
//
//   sums, GELU          0.93, 0.68      vidur's f16 layers on A100 and H100 (microsoft/vidur@7d47513, MIT): 0.88 and 0.98, 0.64 and
//                                       0.72; bf16 on H100 (TraceLens) 0.87 to 0.92, 0.72
//   layer norm          0.66 / (1 + 530 / row)   vidur, rows of 2,560 (0.48, 0.60); TraceLens, of 768 and 1,024 (0.39, 0.43)
//   softmax             0.65            NeuSight's f32 on an A100 (0.63; odd rows like even ones)
//   copies, broadcasts  0.40            TraceLens on H100: nine copies 0.39 to 0.48, sums of a broadcast operand 0.27 to 0.43,
//                                       concatenations 0.24 to 0.32; a transposition of long rows 0.15, which no graph tells
//   gathered rows       0.16            vidur's embeddings (0.15, 0.18), TraceLens 0.16
//
// Long softmax computes a row by a block of threads, which waits for two sums: 1.2 elements a ns on an A100 in f32 (NeuSight),
// 1.25 and 1.5 on an H100 in bf16 (TraceLens, rows of 3,137 and 5,185).
#pragma once

#include <optional>

#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

// [us]; nothing for devices without such units, products in other formats, and what neither multiplies nor moves bytes.
std::optional<double> TensorLawMicros(const OpWork& work, const DeviceSheet& sheet);

}  // namespace stowplan::cost_models
