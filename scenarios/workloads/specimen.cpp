#include "scenarios/workloads/specimen.h"

#include <utility>

namespace stowplan::scenarios {

SpecimenCost ReadSpecimenCost(const Settings& read) {
  return read.Choice<SpecimenCost>("cost");
}

sim::Op SpecimenOp(const std::string& name, SpecimenCost cost, double us, sim::Bytes bytes) {
  constexpr double kFlopsPerMicro = 1e6;
  sim::Op op;
  op.name = name;
  op.type = cost == SpecimenCost::kMicros ? "Opaque" : "MatMul";
  op.phase = "forward";
  if (cost == SpecimenCost::kMicros) {
    op.cost_us = us;
  } else {
    op.flops = us * kFlopsPerMicro;
  }
  sim::Output output;
  output.bytes = bytes;
  op.outputs.push_back(std::move(output));
  return op;
}

}  // namespace stowplan::scenarios
