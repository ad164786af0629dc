// An op that moves bytes and does nothing else.
#pragma once

#include <string>

#include "sim/op_graph.h"

namespace stowplan::profiler::testing {

inline sim::Op ByteMover(const std::string& name, const std::string& type, sim::Bytes bytes) {
  sim::Op op;
  op.name = name;
  op.type = type;
  op.outputs.emplace_back();
  op.outputs[0].bytes = bytes;
  return op;
}

}  // namespace stowplan::profiler::testing
