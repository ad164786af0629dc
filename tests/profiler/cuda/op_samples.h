// One op of every type that executors know, on small odd shapes, so that devices can be held against one another.
#pragma once

#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::profiler::testing {

// Types that do nothing are left out.
struct OpSample {
  std::string name;  // the type, with what is special about it
  sim::OpGraph graph;
  sim::OpIndex op = 0;  // the last; before it are sources
};
std::vector<OpSample> OpSamples();

using Numbers = std::vector<float>;
// What a tensor or a variable with its slots holds before: `words` words, other ones for each number, whole numbers where
// it is of integers.
Numbers SampleNumbers(sim::OpIndex number, const sim::Output& output, std::size_t words);

}  // namespace stowplan::profiler::testing
