// Nodes of an ONNX file, without the ONNX library, and which op of the graph each of them is.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

struct OnnxNode {
  std::string name;  // may be empty
  std::string type;
  std::vector<std::string_view>
      inputs;  // of tensors; one that is left out is empty. They point into the file
  std::vector<std::string_view> outputs;
  bool nested = false;  // in a branch or a loop of another node
};

// In the order of the file; those inside of a node follow it. 64 levels deep, as the importer reads.
std::vector<OnnxNode> ReadOnnxNodes(std::string_view model);

// As the file calls it: an importer may have named the op by its module.
std::string NodeNameOf(const sim::Op& op);

class OpsByNode {
 public:
  explicit OpsByNode(const sim::OpGraph& graph);
  // Of the next node of that name, in the order of the file; a node without one goes by its first output. Nothing where
  // it is no op.
  std::optional<std::size_t> Take(const std::string& node);
  std::optional<std::size_t> Take(const OnnxNode& node);

 private:
  std::map<std::string, std::deque<std::size_t>> ops_;
};

// The importer makes a product and this of a node with a bias: its name goes on so.
inline constexpr std::string_view kBiasAdd = "/bias_add";
// The op that adds the bias of a node; nothing where there is none.
std::optional<std::size_t> BiasOf(const sim::OpGraph& graph, std::size_t op);

}  // namespace stowplan::scenarios
