#include "sim/native/native_simulator.h"

#include <algorithm>

namespace stowplan::sim {

std::int64_t CountWithoutDuration(const Compiled& c) {
  std::int64_t number = 0;
  for (OpIndex op = 0; op < c.ops; ++op) {
    number += std::ranges::min(c.CostsOf(op)) == 0;
  }
  const bool at_once = std::any_of(c.routes.begin(), c.routes.end(), [](const Compiled::Route& route) {
    return route.from != route.to && route.latency == 0;
  });
  return number + (at_once ? static_cast<std::int64_t>(c.edges.size()) : 0);
}

Picos LongestDuration(const Compiled& c) {
  Picos longest = 0;
  const Picos dispatch = std::ranges::max(c.dispatch_cost);
  for (OpIndex op = 0; op < c.ops; ++op)
    longest = std::max({longest, std::ranges::max(c.CostsOf(op)), dispatch * c.rows[op].dispatch_ops});
  Bytes most = 0;
  for (const Bytes bytes : c.output_bytes) most = std::max(most, bytes);
  for (const Compiled::Route& route : c.routes)
    longest = std::max(longest, route.latency + c.TransferTime(route, most));
  return longest;
}

}  // namespace stowplan::sim
