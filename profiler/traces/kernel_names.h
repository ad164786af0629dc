// Names as CUPTI gives them, in the words of Kineto and of people.
#pragma once

#include <string>
#include <string_view>

namespace stowplan::profiler {

// "_Z3addIfEvPT_" becomes "void add<float>(float*)"; what is not mangled stays as it is. Names that were asked for are
// kept, since a program launches few kernels many times. For names of programs that run here: a made-up one may expand to
// more than the memory, so names in files are not given to it. Thread-safe.
std::string Demangled(std::string_view name);

// "cudaLaunchKernel_v7000" becomes "cudaLaunchKernel": the version of the function is the driver's affair.
std::string_view WithoutVersion(std::string_view runtime_call);

}  // namespace stowplan::profiler
