// Units that share most: groups of the tree of units of colocation (agents/groupers/unit_tree.h). They may form cycles.
#include "agents/groupers/groupers.h"
#include "agents/groupers/unit_tree.h"

namespace stowplan::agents {

std::vector<std::int32_t> GroupByTies(const Settings& read, const sim::Problem& problem) {
  const auto groups = static_cast<std::size_t>(read.Int("groups"));
  const Units units = MakeUnits("colocation", problem);
  const std::vector<std::int32_t> group_of_unit = GroupsOf(MakeUnitTree(problem.graph(), units), groups);
  std::vector<std::int32_t> group_of_op;
  group_of_op.reserve(units.unit_of_op.size());
  for (const UnitIndex unit : units.unit_of_op)
    group_of_op.push_back(group_of_unit[static_cast<std::size_t>(unit)]);
  return group_of_op;
}

}  // namespace stowplan::agents
