// Every workload of the zoo, at a reduced size, runs for real over two devices with finite numbers.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost_models/cost_models.h"
#include "profiler/executor/executor.h"
#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"

namespace berth::bench {
namespace {

using ::testing::SizeIs;

struct Reduced {
  const char* workload;
  bool stand_ins;  // specimens have ops of no shape
};

class ZooRunsTest : public ::testing::TestWithParam<Reduced> {};

TEST_P(ZooRunsTest, OverTwoDevicesWithFiniteNumbers) {
  const sim::OpGraph graph = scenarios::LoadGraph(GetParam().workload);
  const sim::Cluster cluster = formats::ParseCluster(
      "{format: berth.cluster, version: 1, name: two, devices: [{name: cpu0, kind: cpu, memory: 8GiB},"
      " {name: cpu1, kind: cpu, memory: 8GiB}], links: [{name: bus, ends: [cpu0, cpu1], bandwidth: 1GB/s}]}",
      "two", cost_models::BuiltinCatalogue());
  const std::vector<int> cores = profiler::AvailableCores();
  const auto executor = profiler::MakeCpuExecutor(graph, cluster, {{cores.front()}, {cores.back()}});
  if (GetParam().stand_ins) {
    EXPECT_THAT(executor->stand_ins(), SizeIs(static_cast<std::size_t>(graph.size())));
  } else {
    for (const sim::OpIndex op : executor->stand_ins())
      ADD_FAILURE() << graph.ops[static_cast<std::size_t>(op)].name << " is run by a stand-in";
  }
  sim::Placement placement;
  for (const std::int32_t set : graph.colocation_set()) placement.device.push_back(set / 7 % 2);
  const auto steps =
      executor->Run(placement, {.warm_up = 0, .steps = 1, .at_most = 1, .traced = true, .checked = true});
  ASSERT_THAT(steps, SizeIs(1));
  const auto sources =
      std::count_if(graph.ops.begin(), graph.ops.end(), [](const sim::Op& op) { return op.IsSource(); });
  for (const profiler::Step& step : steps) {
    EXPECT_FALSE(step.oom);
    EXPECT_THAT(step.ops, SizeIs(graph.ops.size() - static_cast<std::size_t>(sources)));
    ASSERT_EQ(step.not_finite, -1) << graph.ops[static_cast<std::size_t>(step.not_finite)].name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Reduced, ZooRunsTest,
    ::testing::Values(
        Reduced{"chain(ops=8,us=10,cost=flops)", true}, Reduced{"diamond(us=10,cost=flops)", true},
        Reduced{"random_dag(ops=40,us=5,bytes=10000,cost=flops)", true},
        Reduced{"rnnlm(batch=4,hidden=32,steps=4,vocabulary=100)", false},
        Reduced{"rnnlm(batch=4,hidden=32,steps=4,vocabulary=100,softmax=per_step,optimizer=adam)", false},
        Reduced{"nmt(batch=4,hidden=32,steps=4,vocabulary=100)", false},
        Reduced{"inception_v3(batch=1,aux=yes)", false}, Reduced{"inception_v3(batch=1,bn=no)", false},
        Reduced{"resnet_152(batch=1)", false}, Reduced{"nasnet_a(batch=1)", false}),
    [](const auto& each) {
      std::string name = each.param.workload;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; },
          '_');
      return name;
    });

}  // namespace
}  // namespace berth::bench
