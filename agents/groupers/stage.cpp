// What a builder or an importer calls one part of the model is one unit: ops with the same `group`, else with
// the same `stage` attribute. A colocation set follows its first op that has either; sets without any stay
// units of their own.
#include <map>
#include <optional>
#include <string>

#include "agents/groupers/groupers.h"

namespace stowplan::agents {
namespace {

std::string PartOf(const sim::Op& op) {
  if (!op.group.empty()) return "group " + op.group;
  const std::optional<double> stage = sim::FindNumber(op.attributes, "stage");
  return stage ? "stage " + std::to_string(*stage) : std::string();
}

}  // namespace

std::vector<std::int32_t> GroupByStage(const Settings& /*read*/, const sim::Problem& problem) {
  const sim::OpGraph& graph = problem.graph();
  const std::vector<std::int32_t>& sets = graph.colocation_set();

  std::vector<std::int32_t> part_of_set(static_cast<std::size_t>(graph.colocation_sets()), -1);
  std::map<std::string, std::int32_t> parts;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    std::int32_t& part = part_of_set[static_cast<std::size_t>(sets[op])];
    const std::string name = part < 0 ? PartOf(graph.ops[op]) : std::string();
    if (!name.empty()) part = parts.try_emplace(name, static_cast<std::int32_t>(parts.size())).first->second;
  }
  std::vector<std::int32_t> group_of_op;
  group_of_op.reserve(graph.ops.size());
  for (const std::int32_t set : sets) {
    const std::int32_t part = part_of_set[static_cast<std::size_t>(set)];
    group_of_op.push_back(part >= 0 ? part : static_cast<std::int32_t>(parts.size()) + set);
  }
  return group_of_op;
}

}  // namespace stowplan::agents
