// What the tests of cost models share: graphs of one op, devices by kind, parameter files.
#pragma once

#include "cost_models/cost_models.h"
#include "cost_models/parameters/parameters.h"
#include "sim/op_graph.h"
#include "tests/testing.h"

namespace stowplan::cost_models::testing {

struct TensorCase {
  std::vector<std::int64_t> shape;
  std::string dtype = "f32";
  sim::Bytes bytes = -1;            // -1: 4 bytes an element
  std::string producer = "Source";  // type of the op that makes it; "Variable" for weights
};

struct OpCase {
  std::string type;
  double flops = 0;
  std::vector<TensorCase> inputs;
  std::vector<TensorCase> outputs;
  sim::Attributes attributes;
};

// One producer for each input, then the op, which is the last.
sim::OpGraph GraphOf(const OpCase& op);
inline sim::OpIndex LastOp(const sim::OpGraph& graph) {
  return graph.size() - 1;
}

sim::Device DeviceOf(const std::string& kind);

// Price of the case's op on a kind.
std::optional<sim::Price> PriceOf(const sim::CostModel& model, const OpCase& op, const std::string& kind);

// A table entry for `op` on h200, GEMM and element-wise curves on h200, efficiencies of k40, all made up.
Parameters ExampleParameters(const OpCase& op);
Provenance ExampleProvenance();

// The message of the InputError that `f` must throw; fails the test if it does not.
template <typename F>
std::string InputErrorOf(F f);

}  // namespace stowplan::cost_models::testing

template <typename F>
std::string stowplan::cost_models::testing::InputErrorOf(F f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError";
  return "";
}
