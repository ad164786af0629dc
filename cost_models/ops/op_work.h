// What an op asks of a machine, read off the graph: arithmetic, bytes moved, the shape of its matrix product.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost_models/cost_models.h"
#include "cost_models/ops/attention.h"
#include "sim/op_graph.h"

namespace stowplan::cost_models {

// `count` products of rows x depth by depth x columns. The depth follows from the op's flops.
struct MatrixProduct {
  double count = 1;
  double rows = 0;
  double columns = 0;
  double depth = 0;
};

// A product of rows, each with the matrix of its expert.
struct Experts {
  double experts = 1;      // that this device holds
  double all_experts = 1;  // of the layer, on all devices
  double rows = 0;         // a token counts once for each expert of this device that it goes to
  double choices = 1;      // experts that a token goes to, on all devices
  double skew = 0;         // exponent of the power law by which rows choose; 0 = evenly

  double Reached() const;  // experts that some row goes to, on average, if rows choose evenly
};

struct OpWork {
  OpClass op_class = OpClass::kNothing;
  double flops = 0;
  double bytes = 0;  // read and written, each once
  // Of the first output, else of the first input; of products of the first input, in whose units they run. "f8_block" where
  // an op in f8 says `scaling: block`. Empty if not known.
  std::string_view dtype;
  std::optional<MatrixProduct> product;  // where the output's tile grid can be derived
  double read_again = 0;  // of the bytes, what batch norm reads a second time behind its statistics
  std::optional<AttentionShape> attention;
  std::optional<Experts> experts;
  double steps = 1;     // of recurrent layers: one after the other
  double elements = 0;  // written
  double row = 0;       // length of the first output's last dimension; 0 if not known
  bool broadcasts =
      false;        // of element-wise ops: an operand has fewer elements than the output, and more than one
  double taps = 0;  // of convolutions: places of the filter; 0 if not known
  double positions = 0;      // of convolutions: outputs of one image and channel; 0 if not known
  std::string_view family;   // FamilyOf()
  std::optional<bool> tf32;  // whether its f32 products run in TF32, where the op or its graph says so
  std::string_view type;     // of the op; "" of a row that names none
};

// Of the op as a whole. Class kNothing and all zero for views and for variables, constants and placeholders. The
// work's dtype and type point into the graph.
OpWork WorkOf(const sim::OpGraph& graph, sim::OpIndex op);

// What its kernels do, one after the other: WorkOf() alone, but for ConvBackward. That has a product for the gradient of
// the image, one for that of the filter and a sum for that of the bias, each only where the op has such an output.
std::vector<OpWork> KernelsOf(const sim::OpGraph& graph, sim::OpIndex op);

// Tells apart what runs at different speeds and nothing else: type, shapes and types of inputs and outputs,
// and the attributes that change the work. Tensors of unknown shape stand with their bytes. The key of
// measured tables: "Conv2D(f32[64,299,299,3],f32[3,3,3,32])->f32[64,149,149,32]{strides=[2,2]}"
std::string Signature(const sim::OpGraph& graph, sim::OpIndex op);

}  // namespace stowplan::cost_models
