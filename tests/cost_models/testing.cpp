#include "tests/cost_models/testing.h"

namespace berth::cost_models::testing {
namespace {

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
  BERTH_CHECK(found != nullptr);
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
  return {"NVIDIA H200, made up", "580.0", "cuBLAS 13", "2026-11-20", "0123abc", "berth calibrate trace.json"};
}

}  // namespace berth::cost_models::testing
