// The memory statistics that ONNX Runtime (1.23 or newer) collects of each node (session.collect_node_memory_stats_to_file)
// and reads (session.resource_cuda_partitioning_settings): a line of a CSV file for each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/onnx_files/onnx_nodes.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

struct NodeMemory {
  std::string name;  // StatisticsName() of the node
  // A tensor counts where it is read first.
  sim::Bytes inputs =
      0;  // as ONNX Runtime collects it with the weights, and with what stands in a buffer of before
  sim::Bytes weights = 0;
  sim::Bytes outputs = 0;    // that were allocated; 0 = they stand in a buffer that was there
  sim::Bytes workspace = 0;  // all that was asked for while it ran
  std::size_t line = 0;      // of the file
};

// The node's name, or else its type, and a hash of its tensors' names.
std::string StatisticsName(const OnnxNode& node);

std::string PrintNodeMemory(const std::vector<NodeMemory>& nodes);
// Throws InputError with the line that is wrong.
std::vector<NodeMemory> ParseNodeMemory(std::string_view text, const std::string& source);

// Gives the ops of an imported model (the bytes of its file) the memory that was measured of their nodes: what was allocated for
// outputs, and workspace. Sizes of inputs and weights follow from shapes; where what was read cannot be those, the run had other
// shapes, and this throws InputError, as it does where most lines are of no node of the model, or none of an op. Returns notes
// for the user.
std::vector<std::string> TakeNodeMemory(sim::OpGraph& graph, std::string_view model,
                                        const std::vector<NodeMemory>& nodes, const std::string& source);

}  // namespace stowplan::scenarios
