// Which of the tensors that were there before a recording are inputs, and which are weights or what an optimizer keeps.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "scenarios/importers/trace/nodes.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios::trace {

// What an argument says of its tensors by its name: "weight" and "bias" are weights, "input" and "target" data, as are "indices"
// into a weight.
enum class Role : std::uint8_t { kNone, kWeight, kData };
Role RoleOf(const Node& node, const Argument& argument);

// What was seen of the variables of a graph, which stand for those tensors.
struct Evidence {
  std::set<sim::OpIndex> variables;
  std::set<sim::OpIndex> weights;  // called so, or touched by an optimizer or by gradients that are added up
  std::set<sim::OpIndex> data;     // called so
  std::set<sim::OpIndex> written;
  std::multiset<std::vector<std::int64_t>> gradients;  // shapes of those that autograd added up
};

// Those that are data become Placeholders: what is called so and is no weight, and what nothing tells but that its first
// dimension is that of data. Returns their number.
std::size_t TellInputs(const Evidence& evidence, sim::OpGraph& graph);

}  // namespace stowplan::scenarios::trace
