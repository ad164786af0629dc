// The catalogue of probes: what `stowplan-profile run` measures, one row each, known without any device. How a
// probe is measured stands in profiler/cuda and profiler/cpu.
//
// Adding a probe: a row here, and its measurement in the probe_table.cpp of the backends that it is for; tests
// hold them together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/op_cases.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

struct Probe {
  const char* name;
  const char* what;     // one line
  const char* meaning;  // of each number: when it starts and ends, what is excluded
  // Rows of op probes, the smallest first; empty for the others.
  std::vector<OpCase> (*cases)();
  // The backend that it is for; null for all.
  const char* device = nullptr;
};
const std::vector<Probe>& Probes();
// Null if there is none.
const Probe* FindProbe(std::string_view name);

// Of the rows of `stowplan-profile run --graph`.
inline constexpr char kOpsOfGraphMeaning[] =
    "each op of a graph for which an executor makes a kernel of its own, alone, by that kernel (stand_in: by "
    "what the "
    "executor runs in its place): hot and cold as of the other op probes. count: ops of the graph that it "
    "stands for; graph: "
    "the op behind sources for what it reads";

// Sizes of copies [B]: powers of two from 4 B to 1 GiB; every 16th up to 4 MiB in a quick run.
std::vector<sim::Bytes> CopySizes(bool quick);

// How a number is repeated: after `warmups` at least `least` times, more (up to `most`) while `seconds` are not
// spent.
struct Timing {
  int warmups = 5;
  int least = 10;
  int most = 100;
  double seconds = 0.15;
};
inline constexpr Timing kQuickTiming = {1, 3, 5, 0.01};
// Of a CPU, whose ops take longer: all of its probes in little more than a minute on one core.
inline constexpr Timing kCpuTiming = {3, 7, 50, 0.08};

}  // namespace stowplan::profiler
