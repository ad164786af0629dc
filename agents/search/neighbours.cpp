#include "agents/search/neighbours.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace stowplan::agents {

std::vector<UnitIndex> HeaviestEarlierNeighbours(const Task& task, const std::vector<UnitIndex>& order) {
  std::vector<UnitIndex> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    position[static_cast<std::size_t>(order[i])] = static_cast<UnitIndex>(i);
  std::map<std::pair<UnitIndex, UnitIndex>, sim::Bytes> bytes;  // by (later, earlier)
  for (const UnitEdge& edge : task.edges) {
    const auto [earlier, later] = std::minmax(position[static_cast<std::size_t>(edge.from)],
                                              position[static_cast<std::size_t>(edge.to)]);
    bytes[{later, earlier}] += edge.bytes;
  }
  std::vector<UnitIndex> heaviest(order.size(), -1);
  std::vector<sim::Bytes> most(order.size(), -1);
  for (const auto& [pair, sum] : bytes) {
    const auto later = static_cast<std::size_t>(pair.first);
    if (sum > most[later]) {
      most[later] = sum;
      heaviest[later] = pair.second;
    }
  }
  return heaviest;
}

}  // namespace stowplan::agents
