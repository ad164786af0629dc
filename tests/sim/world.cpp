#include "tests/sim/world.h"

#include "tests/sim/compare.h"
#include "tests/sim/oracle.h"
#include "tests/testing.h"

namespace stowplan::sim {

DeviceIndex World::AddDevice(DeviceClass device_class) {
  Device device;
  device.name = ToString(device_class) + std::to_string(cluster.devices.size());
  device.kind = ToString(device_class);
  device.device_class = device_class;
  device.memory = Bytes{1} << 40;
  device.granularity = 1;
  cluster.devices.push_back(device);
  return cluster.size() - 1;
}

std::int32_t World::AddSwitch() {
  cluster.switches.push_back("switch" + std::to_string(cluster.switches.size()));
  return cluster.size() + static_cast<std::int32_t>(cluster.switches.size()) - 1;
}

Link& World::Connect(std::int32_t a, std::int32_t b) {
  Link link;
  link.name = "link" + std::to_string(cluster.links.size());
  link.ends = {a, b};
  link.bandwidth = 10'000'000'000;
  link.latency = 5 * kUs;
  cluster.links.push_back(link);
  return cluster.links.back();
}

OpIndex World::Add(DeviceIndex where, double cost_us, std::initializer_list<Bytes> outputs,
                   std::initializer_list<TensorRef> inputs, std::initializer_list<OpIndex> control) {
  Op op;
  op.name = "op" + std::to_string(graph.ops.size());
  op.type = "MatMul";
  op.cost_us = cost_us;
  op.inputs = inputs;
  op.control = control;
  for (const Bytes bytes : outputs) {
    op.outputs.emplace_back();
    op.outputs.back().bytes = bytes;
  }
  graph.ops.push_back(op);
  placement.device.push_back(where);
  return static_cast<OpIndex>(graph.ops.size()) - 1;
}

TensorRef World::AddView(OpIndex i, TensorRef input) {
  Output view;
  view.bytes = op(input.op).outputs[static_cast<std::size_t>(input.output)].bytes;
  view.storage = Output::Storage::kInput;
  view.alias = input;
  op(i).outputs.push_back(view);
  return {i, static_cast<std::int32_t>(op(i).outputs.size()) - 1};
}

void World::SetCost(OpIndex i, DeviceIndex d, double cost_us) {
  other_costs_.push_back({i, d, FromMicros(cost_us)});
}

void World::Finish() {
  if (finished_) return;
  finished_ = true;
  graph.name = cluster.name = "world";
  graph.Finish();
  cluster.Finish();
  CheckPlacement(graph, cluster, placement);
  costs_.devices = cluster.size();
  for (const Op& op : graph.ops) {
    costs_.picos.insert(costs_.picos.end(), cluster.devices.size(), FromMicros(*op.cost_us));
    costs_.tier.insert(costs_.tier.end(), cluster.devices.size(), Tier::kMeasured);
  }
  for (const auto& [op, d, cost] : other_costs_) {
    costs_.picos[static_cast<std::size_t>(op * costs_.devices + d)] = cost;
  }
}

Outcome World::Run(const RunOptions& options) {
  Finish();
  const Problem problem(graph, cluster, costs_);
  Outcome outcome = MakeSimulator(problem)->Run(placement, options);
  if (cluster.rules == Rules::kNative && !outcome.stopped &&
      options.record == RunOptions::Record::kTimeline) {
    EXPECT_EQ("", FirstDifference(OracleRun(graph, cluster, costs_, placement), outcome, graph, cluster));
  }
  return outcome;
}

}  // namespace stowplan::sim
