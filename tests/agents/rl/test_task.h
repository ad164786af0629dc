// Small tasks for the tests of learners: a graph of measured ops on a few GPUs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agents/classical/unit_graph.h"
#include "agents/random_numbers.h"
#include "agents/task.h"
#include "sim/cluster.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"
#include "sim/simulator.h"
#include "tests/sim/no_cost_model.h"

namespace stowplan::agents::rl {

struct TestOp {
  double cost_us;
  sim::Bytes output_bytes;
  std::vector<int> inputs;  // earlier ops
  sim::Bytes persistent_bytes = 0;
};

// Everything that a task refers to.
struct TestTask {
  sim::OpGraph graph;
  sim::Cluster cluster;
  std::unique_ptr<sim::Problem> problem;
  Task task;
};

// `devices` GPUs of `memory` bytes, each linked with each at 10 GB/s and 5 us.
inline std::unique_ptr<TestTask> MakeTestTask(const std::vector<TestOp>& ops, int devices = 2,
                                              sim::Bytes memory = sim::Bytes{1} << 34) {
  auto made = std::make_unique<TestTask>();
  made->graph.name = "test";
  for (std::size_t i = 0; i < ops.size(); ++i) {
    sim::Op op;
    op.name = "op" + std::to_string(i);
    op.type = "MatMul";
    op.cost_us = ops[i].cost_us;
    op.persistent_bytes = ops[i].persistent_bytes;
    op.outputs.push_back({.bytes = ops[i].output_bytes});
    for (const int input : ops[i].inputs) op.inputs.push_back({input, 0});
    made->graph.ops.push_back(std::move(op));
  }
  made->graph.Finish();
  made->cluster.name = "test";
  for (int d = 0; d < devices; ++d) {
    made->cluster.devices.push_back({.name = "gpu" + std::to_string(d), .kind = "k80", .memory = memory});
    for (int other = 0; other < d; ++other) {
      made->cluster.links.push_back({.name = "link" + std::to_string(other) + std::to_string(d),
                                     .ends = {other, d},
                                     .bandwidth = 10'000'000'000,
                                     .latency = 5 * sim::kPicosPerMicro});
    }
  }
  made->cluster.Finish();
  sim::CostTable costs = sim::PriceOps(made->graph, made->cluster, sim::NoCostModel{});
  for (sim::DeviceIndex d = 1; d < devices; ++d) costs.Separate(d);  // for tests that make one dearer
  made->problem = std::make_unique<sim::Problem>(made->graph, made->cluster, std::move(costs));
  made->task = MakeTask(*made->problem, "colocation");
  return made;
}

inline UnitGraph GraphOf(const Task& task) {
  return UnitGraph(task, /*reach=*/false);
}

// a -> b_i -> ... -> end: `width` independent branches of two ops between a source and a sink.
inline std::vector<TestOp> Branches(int width, double cost_us, sim::Bytes bytes) {
  std::vector<TestOp> ops = {{1, bytes, {}}};
  TestOp sink{1, 0, {}};
  for (int i = 0; i < width; ++i) {
    ops.push_back({cost_us, bytes, {0}});
    const int first = static_cast<int>(ops.size()) - 1;
    ops.push_back({cost_us, bytes, {first}});
    sink.inputs.push_back(first + 1);
  }
  ops.push_back(sink);
  return ops;
}

// Each op reads up to two earlier ones.
inline std::vector<TestOp> RandomDag(int size, std::uint64_t seed) {
  Rng rng(seed, "test dag");
  std::vector<TestOp> ops;
  for (int i = 0; i < size; ++i) {
    TestOp op{10 + 190 * rng.Uniform(), static_cast<sim::Bytes>(rng.Below(2'000'000)), {}};
    for (int k = 0; k < 2 && i > 0; ++k) {
      const int back = 1 + static_cast<int>(rng.Below(8));
      if (back <= i) op.inputs.push_back(i - back);
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

}  // namespace stowplan::agents::rl
