// Strongly connected components, for groupers and for the graphs that learners see.
#pragma once

#include <cstdint>
#include <vector>

namespace stowplan::agents {

// By node: its component. Numbers fall along every edge between two components. Tarjan's algorithm (Depth-first
// search and linear graph algorithms, SIAM J. Comput. 1972) without recursion.
std::vector<std::int32_t> StronglyConnected(const std::vector<std::vector<std::int32_t>>& successors);

}  // namespace stowplan::agents
