// Tables of instances: vectors or arrays of rows that have a `name`.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace stowplan {

// nullptr = there is none. Of temporaries there is no address.
template <typename Rows>
auto FindRow(const Rows& rows, std::string_view name) {
  const auto row = std::ranges::find_if(rows, [&](const auto& each) { return each.name == name; });
  return row == std::end(rows) ? nullptr : &*row;
}

template <typename Rows>
std::vector<std::string> NamesOf(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace stowplan
