// Units that share most, of nearly one size: clusters of units of colocation (agents/unit_tree.h) of the level that has enough of them,
// then those beside each other in a cluster of the level above are merged, the smallest first, until `groups` are left. Groups may
// form cycles.
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "agents/groupers/groupers.h"
#include "agents/unit_tree.h"

namespace berth::agents {

std::vector<std::int32_t> GroupByTies(ParameterReader& parameters, const sim::Problem& problem) {
  const auto groups = static_cast<std::size_t>(parameters.Int("groups", 128, 1, 1'000'000'000));
  parameters.Finish();
  const Units units = MakeUnits("colocation", problem);
  const UnitTree tree = MakeUnitTree(problem.graph(), units);

  std::size_t level = tree.levels.size() - 1;
  while (level > 0 && tree.Clusters(level) < groups) --level;
  std::map<std::size_t, std::size_t> parts;  // begin and end in the tree's order
  for (std::size_t c = 0; c < tree.Clusters(level); ++c)
    parts.emplace(tree.levels[level][c], tree.levels[level][c + 1]);
  // Of each two that may be merged: their units, where the first begins.
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  const auto pair_of = [&](std::map<std::size_t, std::size_t>::iterator part) {
    return std::pair(std::next(part)->second - part->first, part->first);
  };
  std::set<std::size_t> apart = {units.ops.size()};  // where clusters of the level above begin
  if (level + 1 < tree.levels.size())
    apart.insert(tree.levels[level + 1].begin(), tree.levels[level + 1].end());
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    if (!apart.contains(part->second)) pairs.insert(pair_of(part));
  }
  while (parts.size() > groups && !pairs.empty()) {
    const auto first = parts.find(pairs.begin()->second);
    const auto second = std::next(first);
    pairs.erase(pairs.begin());
    const bool goes_on = pairs.erase(std::next(second) == parts.end() ? std::pair<std::size_t, std::size_t>()
                                                                      : pair_of(second)) > 0;
    const bool joined = first != parts.begin() && pairs.erase(pair_of(std::prev(first))) > 0;
    first->second = second->second;
    parts.erase(second);
    if (goes_on) pairs.insert(pair_of(first));
    if (joined) pairs.insert(pair_of(std::prev(first)));
  }

  std::vector<std::int32_t> group_of_unit(units.ops.size());
  std::int32_t group = 0;
  for (const auto& [begin, end] : parts) {
    for (std::size_t i = begin; i < end; ++i) group_of_unit[tree.order[i]] = group;
    ++group;
  }
  std::vector<std::int32_t> group_of_op;
  group_of_op.reserve(units.unit_of_op.size());
  for (const UnitIndex unit : units.unit_of_op)
    group_of_op.push_back(group_of_unit[static_cast<std::size_t>(unit)]);
  return group_of_op;
}

}  // namespace berth::agents
