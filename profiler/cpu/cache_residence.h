// What the ops of a program find in the caches when it runs step after step on one device, so that an op alone can be
// measured as a step finds it.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::profiler {

// The second-level cache of a core [bytes].
sim::Bytes CacheBytes();

// Cached is what a second-level cache that drops what was not touched longest still holds: since it was last touched,
// other blocks of less than three quarters of the cache were; the rest of it goes to code, tables and bad luck.
struct CacheResidence {
  std::vector<bool> inputs;   // by input
  std::vector<bool> outputs;  // by output: the block that it is given
  bool code = false;          // an op of the same set
  friend auto operator<=>(const CacheResidence&, const CacheResidence&) = default;
};

// By op, in the second of two steps; blocks are given back and given out as the executor does. Sources are left out.
// set_of: by op, those of one set do the same; -1 = of none.
std::vector<CacheResidence> FindCacheResidence(const sim::OpGraph& graph,
                                               const std::vector<std::int32_t>& set_of);

// What an op reads and writes.
sim::Bytes TrafficOf(const sim::OpGraph& graph, sim::OpIndex op);

}  // namespace stowplan::profiler
