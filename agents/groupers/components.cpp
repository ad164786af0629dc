#include "agents/groupers/components.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stowplan::agents {

std::vector<std::int32_t> StronglyConnected(const std::vector<std::vector<std::int32_t>>& successors) {
  const std::size_t size = successors.size();
  std::vector<std::int32_t> component(size, -1);
  std::vector<std::int32_t> number(size, -1);
  std::vector<std::int32_t> low(size, 0);
  std::vector<std::int32_t> open;
  std::vector<std::pair<std::int32_t, std::size_t>> path;  // a node and its next successor
  std::int32_t numbers = 0;
  std::int32_t components = 0;
  for (std::size_t root = 0; root < size; ++root) {
    if (number[root] >= 0) continue;
    path.emplace_back(static_cast<std::int32_t>(root), 0);
    while (!path.empty()) {
      const auto node = static_cast<std::size_t>(path.back().first);
      if (path.back().second == 0) {
        number[node] = low[node] = numbers++;
        open.push_back(static_cast<std::int32_t>(node));
      }
      if (path.back().second < successors[node].size()) {
        const auto next = static_cast<std::size_t>(successors[node][path.back().second++]);
        if (number[next] < 0) {
          path.emplace_back(static_cast<std::int32_t>(next), 0);
        } else if (component[next] < 0) {
          low[node] = std::min(low[node], number[next]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        const auto parent = static_cast<std::size_t>(path.back().first);
        low[parent] = std::min(low[parent], low[node]);
      }
      if (low[node] != number[node]) continue;
      while (component[node] < 0) {
        component[static_cast<std::size_t>(open.back())] = components;
        open.pop_back();
      }
      ++components;
    }
  }
  return component;
}

}  // namespace stowplan::agents
