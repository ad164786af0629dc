// Which op of the graph a node of the ONNX file is that was placed.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "scenarios/exporters/exporters.h"

namespace berth::scenarios {

// As the file calls it: an importer may have named the op by its module.
std::string NodeNameOf(const sim::Op& op);

class OpsByNode {
 public:
  explicit OpsByNode(const sim::OpGraph& graph);
  // Of the next node of that name, in the order of the file; a node without one goes by its first output. Nothing where
  // it is no op.
  std::optional<std::size_t> Take(const std::string& node);

 private:
  std::map<std::string, std::deque<std::size_t>> ops_;
};

// The file's bytes. Throws InputError where the graph is none.
std::string ReadPlacedOnnx(const ExportInput& input, const char* exporter);

}  // namespace berth::scenarios
