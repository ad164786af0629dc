#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agents/groupers/groupers.h"
#include "sim/analysis/modules.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"

namespace stowplan::agents {
namespace {

const GrouperRow& FindGrouper(const std::string& name) {
  if (const GrouperRow* row = FindRow(Groupers(), name)) return *row;
  const std::vector<std::string> known = NamesOf(Groupers());
  throw InputError("grouper '" + name + "' is not known" + DidYouMean(name, known) + "; it must be one of " +
                   JoinNames(known));
}

// Numbers groups by the topological order of their first op.
Units Number(const sim::OpGraph& graph, const std::vector<std::int32_t>& group_of_op) {
  std::int32_t groups = 0;
  for (const std::int32_t group : group_of_op) groups = std::max(groups, group + 1);
  std::vector<UnitIndex> unit_of_group(static_cast<std::size_t>(groups), -1);
  UnitIndex next = 0;
  for (const sim::OpIndex op : graph.topological_order()) {
    UnitIndex& unit = unit_of_group[static_cast<std::size_t>(group_of_op[static_cast<std::size_t>(op)])];
    if (unit < 0) unit = next++;
  }
  Units units;
  units.ops.resize(static_cast<std::size_t>(next));
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    const std::int32_t group = group_of_op[static_cast<std::size_t>(op)];
    const UnitIndex unit = unit_of_group[static_cast<std::size_t>(group)];
    units.unit_of_op.push_back(unit);
    units.ops[static_cast<std::size_t>(unit)].push_back(op);
  }
  return units;
}

}  // namespace

const std::vector<GrouperRow>& Groupers() {
  static const std::vector<GrouperRow> rows = {
      {"colocation", "one unit for each hard colocation set", {}, GroupByColocation},
      {"none", "the same as colocation: nothing is grouped that need not be", {}, GroupByColocation},
      {"module",
       "modules that the names spell (a/b.c/op), opened where they have more than `ops` ops or half of all",
       {{{"ops", "of a module at most", Whole(1, INT32_MAX), std::to_string(sim::kMostOpsOfModule)}}},
       GroupByModule},
      {"chain",
       "the forward pass in pieces, in order, for stages: each begins where one may",
       {{{"at",
          "where a piece may begin: an op, a module, a numbered layer, or one whose ends are no pieces of "
          "their own",
          OneOf({"op", "module", "layer", "block"}), "module"}}},
       GroupByChain},
      {"layer",
       "attention, feed-forward and experts of each numbered layer, what is before and behind",
       {},
       GroupByLayerPart},
      {"neighbour",
       "merges the smallest group into its heaviest neighbour until `groups` are left",
       {{{"groups", "that are left", Whole(1, INT32_MAX), "128"}}},
       GroupByNeighbour},
      {"stage", "ops with one `group` name, or one `stage` attribute, are one unit", {}, GroupByStage},
      {"tied",
       "`groups` clusters of units that share most, readers of one tensor among them",
       {{{"groups", "clusters at most", Whole(1, 1e9), "128"}}},
       GroupByTies},
      {"whole_module",
       "as module, but what joins data of several stays whole, as a map of modules to devices needs",
       {{{"ops", "of a module at most", Whole(1, INT32_MAX), std::to_string(sim::kMostOpsOfModule)}}},
       GroupByWholeModule},
  };
  return rows;
}

Units MakeUnits(const std::string& text, const sim::Problem& problem) {
  const Settings settings = GrouperSettings(text);
  Units units = Number(problem.graph(), FindGrouper(settings.name()).group(settings, problem));
  units.grouper = settings.Canonical();
  return units;
}

Settings GrouperSettings(const std::string& text) {
  const Spec spec = Spec::Parse(text.empty() ? "colocation" : text);
  return {spec, FindGrouper(spec.name).settings};
}

}  // namespace stowplan::agents
