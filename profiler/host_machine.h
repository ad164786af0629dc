// The host as it was found, in the words of profiler/pytorch/machine.py.
#pragma once

#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::profiler {

std::string CpuModel();  // "AMD EPYC 9B45"; "unknown CPU" where the system does not tell
// "AMD EPYC 9B45, 2 cores, AVX-512": with the vectors, on which speed and the rounding of libtorch's products depend; of processors
// that are not x86-64 without.
std::string HostText();
sim::Attributes DescribeHost();  // cpu, cores, memory_bytes, kernel
// The cores that this process may use, ascending; in a container fewer than there are.
std::vector<int> AvailableCores();
std::string NowUtc();  // "2026-11-21T03:00:00+00:00"

// The words of a command line as a shell would need them.
std::string ShellText(int argc, const char* const* argv);

}  // namespace stowplan::profiler
