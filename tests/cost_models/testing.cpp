#include "tests/cost_models/testing.h"

#include <cstdlib>

#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models::testing {
namespace {

// Property tests draw the same cases on every run; a seed given from outside wins.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261120 max_success=200", 0);

sim::Output OutputOf(const TensorCase& tensor) {
  sim::Output output;
  output.shape = tensor.shape;
  output.dtype = tensor.dtype;
  std::int64_t elements = 1;
  for (const auto dimension : tensor.shape) elements *= dimension;
  output.bytes = tensor.bytes >= 0 ? tensor.bytes : 4 * elements;
  return output;
}

}  // namespace

sim::OpGraph GraphOf(const OpCase& op) {
  sim::OpGraph graph;
  graph.name = "one op";
  sim::Op last;
  last.name = "op";
  last.type = op.type;
  last.flops = op.flops;
  last.attributes = op.attributes;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    sim::Op producer;
    producer.name = "input" + std::to_string(i);
    producer.type = op.inputs[i].producer;
    producer.outputs.push_back(OutputOf(op.inputs[i]));
    graph.ops.push_back(producer);
    last.inputs.push_back({static_cast<sim::OpIndex>(i), 0});
  }
  for (const TensorCase& tensor : op.outputs) last.outputs.push_back(OutputOf(tensor));
  graph.ops.push_back(last);
  graph.Finish();
  return graph;
}

sim::Device DeviceOf(const std::string& kind) {
  const sim::DeviceKind* found = BuiltinCatalogue().FindDevice(kind);
  STOWPLAN_CHECK(found != nullptr);
  sim::Device device;
  device.name = kind;
  device.kind = kind;
  device.device_class = found->device_class;
  device.launch_cost = found->launch_cost;
  return device;
}

std::optional<sim::Price> PriceOf(const sim::CostModel& model, const OpCase& op, const std::string& kind) {
  const sim::OpGraph graph = GraphOf(op);
  return model.Predict(graph, LastOp(graph), DeviceOf(kind));
}

Provenance ExampleProvenance() {
  return {"NVIDIA H200, made up", "580.0",   "cuBLAS 13",
          "2026-11-20",           "0123abc", "stowplan calibrate trace.json"};
}

Parameters ExampleParameters(const OpCase& op) {
  const Evidence evidence{40, 0.01, 0.05, std::pair{1e3, 1e12}};
  RatioCurve gemm;
  gemm.op_class = OpClass::kGemm;
  gemm.knots = {{10, 15}, {1000, 1100}, {1e6, 1.2e6}};
  gemm.low_ratio = 0.9;
  gemm.high_ratio = 1.2;
  gemm.evidence = evidence;
  RatioCurve elementwise = gemm;
  elementwise.op_class = OpClass::kElementwise;

  KindParameters h200;
  h200.kind = "h200";
  h200.structural = StructuralFingerprint(BuiltinCatalogue(), "h200");
  h200.curves = {gemm, elementwise};
  h200.dispatch_us = FittedNumber{4.5, evidence};
  h200.launch_to_start_us = FittedNumber{6, evidence};
  h200.kernel_gap_us = FittedNumber{0.8, evidence};
  h200.graph_node_us = FittedNumber{1.2, evidence};
  h200.concurrency = Concurrency{{1, 0.6}, {3, 0.01, 0.02, std::nullopt}};
  h200.overlap_copy = FittedNumber{0.9, {1, 0.01, 0, std::nullopt}};
  h200.tf32 = Convolutions();
  KindParameters k40;
  k40.kind = "k40";
  k40.efficiency[OpClass::kGemm] = {0.4, evidence};
  k40.efficiency[OpClass::kConvolution] = {0.3, {3, 0, 0.1, std::nullopt}};

  Parameters parameters;
  parameters.name = "example";
  parameters.provenance = ExampleProvenance();
  parameters.kinds = {h200, k40};
  LinkParameters link{.kind = "h200-pinned", .bandwidth = 52'000'000'000};
  link.knots = {{0, 2.5}, {1 << 20, 22.5}, {1 << 30, 20000}};
  link.evidence = {29, 0.01, 0.03, std::pair{4.0, 1073741824.0}};
  link.both = FittedNumber{0.78, {14, 0.01, 0.02, std::nullopt}};
  parameters.links.push_back(link);
  const sim::OpGraph graph = GraphOf(op);
  parameters.table.push_back({"h200", Signature(graph, LastOp(graph)), 12.5, 12, 14, 30});
  return parameters;
}

}  // namespace stowplan::cost_models::testing
