// What tests of executors share, on whatever devices: clusters, random graphs, and what must hold of every step.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "profiler/executor.h"
#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/simulator.h"

namespace stowplan::profiler::testing {

// Devices by their first letter: c is a CPU.
inline sim::Cluster ClusterOf(const std::vector<std::string>& names, sim::Bytes memory) {
  sim::Cluster cluster;
  cluster.name = "devices";
  for (const std::string& name : names) {
    const bool cpu = name[0] == 'c';
    cluster.devices.push_back({.name = name,
                               .kind = cpu ? "cpu" : "gpu",
                               .device_class = cpu ? sim::DeviceClass::kCpu : sim::DeviceClass::kGpu,
                               .memory = memory,
                               .granularity = 64});
  }
  for (std::int32_t d = 1; d < cluster.size(); ++d)
    cluster.links.push_back(
        {.name = "l" + std::to_string(d), .ends = {0, d}, .bandwidth = 1'000'000'000, .latency = 0});
  if (names.size() > 2)
    cluster.links.push_back({.name = "last", .ends = {1, 2}, .bandwidth = 1'000'000'000, .latency = 0});
  cluster.Finish();
  return cluster;
}

// Lets an op, the next of the graph, read up to three of those before it, wait for another and share what it reads first.
inline void DrawReads(const sim::OpGraph& graph, sim::Op* op) {
  const auto before = static_cast<sim::OpIndex>(graph.ops.size());
  if (before == 0) return;
  for (int k = *rc::gen::inRange(0, 4); k > 0; --k) op->inputs.push_back({*rc::gen::inRange(0, before), 0});
  if (*rc::gen::inRange(0, 3) == 0) op->control.push_back(*rc::gen::inRange(0, before));
  if (op->inputs.empty() || *rc::gen::inRange(0, 5) != 0) return;
  op->outputs[0].storage = sim::Output::Storage::kInput;
  op->outputs[0].alias = op->inputs[0];
  op->outputs[0].bytes = graph.ops[static_cast<std::size_t>(op->inputs[0].op)].outputs[0].bytes;
}

// The peak of the first device of two, where everything is there: it does not depend on how long ops take.
inline sim::Bytes SimulatedPeak(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                const sim::Placement& placement) {
  sim::CostTable costs{.cost_model = "one", .devices = 2, .picos = {}, .tier = {}};
  costs.picos.assign(graph.ops.size() * 2, 1'000'000);
  costs.tier.assign(graph.ops.size() * 2, sim::Tier::kMeasured);
  const sim::Problem problem(graph, cluster, costs);
  return sim::MakeSimulator(problem)->Run(placement).devices[0].peak;
}

// Of a traced step: every op but sources ran once, on its device, behind what it reads and waits for; every copy was made
// once, behind what it copies.
inline void CheckSpans(const sim::OpGraph& graph, const sim::Placement& placement, const ExecutedStep& step) {
  std::map<sim::OpIndex, OpSpan> spans;
  for (const OpSpan& span : step.ops) {
    RC_ASSERT(spans.emplace(span.op, span).second);
    RC_ASSERT(span.device == placement.device[static_cast<std::size_t>(span.op)]);
  }
  const auto is_source = [&](sim::OpIndex op) { return graph.ops[static_cast<std::size_t>(op)].IsSource(); };
  std::map<std::pair<sim::TensorRef, sim::DeviceIndex>, CopySpan> copies;
  for (const CopySpan& copy : step.copies) {
    RC_ASSERT(copies.emplace(std::pair(copy.tensor, copy.to), copy).second);
    if (!is_source(copy.tensor.op)) RC_ASSERT(spans.at(copy.tensor.op).end_ns <= copy.start_ns);
  }
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    RC_ASSERT(spans.contains(op) != is_source(op));
    if (is_source(op)) continue;
    std::vector<sim::TensorRef> reads = graph.ops[static_cast<std::size_t>(op)].inputs;
    for (const sim::OpIndex producer : graph.ops[static_cast<std::size_t>(op)].control) {
      if (!is_source(producer)) reads.push_back({producer, -1});
    }
    for (const sim::TensorRef tensor : reads) {
      const auto here = placement.device[static_cast<std::size_t>(op)];
      const bool local = placement.device[static_cast<std::size_t>(tensor.op)] == here;
      if (local && is_source(tensor.op)) continue;
      const std::int64_t there = local ? spans.at(tensor.op).end_ns : copies.at({tensor, here}).end_ns;
      RC_ASSERT(there <= spans.at(op).start_ns);
    }
  }
}

}  // namespace stowplan::profiler::testing
