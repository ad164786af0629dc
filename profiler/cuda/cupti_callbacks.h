// What CUPTI tells while the program runs: its launches, and its ranges of NVTX.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "profiler/backend.h"

namespace stowplan::profiler::cuda {

// Called by the threads of the program, behind each call.
struct ProgramWatch {
  std::function<void()>
      launched;  // a kernel, or a CUDA graph; a call of the driver within one of the runtime is one
  std::function<void(std::string_view range)> range_began;  // empty: nobody asks for ranges
  std::function<void(std::string_view range)> range_ended;
};

// Makes this the process's one subscriber of CUPTI, for as long as the process lives: who comes later is refused by
// CUPTI, and cannot take our records unseen. Throws Unavailable where another profiler was earlier.
void Subscribe(ProgramWatch watch);

// A CUptiResult in words, with what would help where that is known.
std::string CuptiReason(int result);

}  // namespace stowplan::profiler::cuda
