// Equations of Einsum: the shape of the result and the work. (The ONNX library gives its rank alone.)
#pragma once

#include <string>
#include <vector>

#include "scenarios/builder/graph_builder.h"

namespace stowplan::scenarios::onnx_import {

struct Einsum {
  Shape shape;
  // 2 x multiply-adds, operands taken from left to right; 0 where no axis is summed over between two of them.
  double flops = 0;
  bool contracts = false;
};

// Throws std::invalid_argument where equation and operands do not fit.
Einsum ReadEinsum(const std::string& equation, const std::vector<Shape>& operands);

}  // namespace stowplan::scenarios::onnx_import
