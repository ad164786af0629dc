// Ops of a framework in ranges of NVTX: PyTorch under torch.autograd.profiler.emit_nvtx() names each op's range
// "aten::mm, seq = 5, op_id = 7, sizes = [[64, 32], [32, 16]]".
#pragma once

#include "profiler/traces/records.h"

namespace stowplan::profiler {

// Annotations of that form, of aten:: also by their name alone, become ops: their bare name, and "Input Dims" where sizes were recorded (record_shapes=True),
// as torch.profiler's own traces have them. Other markers stay as they are.
void TellNvtxOps(ActivityTrace& trace);

}  // namespace stowplan::profiler
