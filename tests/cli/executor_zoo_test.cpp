// Every workload of the zoo, at a reduced size, runs for real over two devices with finite numbers.
#include "cost_models/cost_models.h"
#include "profiler/cpu/cpu_executor.h"
#include "profiler/host_machine.h"
#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

struct Reduced {
  const char* workload;
  std::set<std::string> stand_ins;  // types that no kernel runs for what they are
};

class ZooRunsTest : public ::testing::TestWithParam<Reduced> {};

TEST_P(ZooRunsTest, OverTwoDevicesWithFiniteNumbers) {
  const sim::OpGraph graph = scenarios::LoadGraph(GetParam().workload);
  const sim::Cluster cluster = formats::ParseCluster(
      "{format: stowplan.cluster, version: 1, name: two, devices: [{name: cpu0, kind: cpu, memory: 8GiB},"
      " {name: cpu1, kind: cpu, memory: 8GiB}], links: [{name: bus, ends: [cpu0, cpu1], bandwidth: 1GB/s}]}",
      "two", cost_models::BuiltinCatalogue());
  const std::vector<int> cores = profiler::AvailableCores();
  const auto executor = profiler::MakeCpuExecutor(graph, cluster, {{cores.front()}, {cores.back()}});
  std::set<std::string> types;
  for (const sim::OpIndex op : executor->stand_ins())
    types.insert(graph.ops[static_cast<std::size_t>(op)].type);
  EXPECT_EQ(types, GetParam().stand_ins);
  sim::Placement placement;
  for (const std::int32_t set : graph.colocation_set()) placement.device.push_back(set / 7 % 2);
  const auto steps =
      executor->Run(placement, {.warm_up = 0, .steps = 1, .at_most = 1, .traced = true, .checked = true});
  ASSERT_THAT(steps, SizeIs(1));
  const auto sources =
      std::count_if(graph.ops.begin(), graph.ops.end(), [](const sim::Op& op) { return op.IsSource(); });
  for (const profiler::ExecutedStep& step : steps) {
    EXPECT_FALSE(step.oom);
    EXPECT_THAT(step.ops, SizeIs(graph.ops.size() - static_cast<std::size_t>(sources)));
    ASSERT_EQ(step.not_finite, -1) << graph.ops[static_cast<std::size_t>(step.not_finite)].name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Reduced, ZooRunsTest,
    ::testing::Values(
        Reduced{"chain(ops=8,us=10)", {"Opaque"}}, Reduced{"diamond(us=10,cost=flops)", {"MatMul"}},
        Reduced{"random_dag(ops=40,us=5,bytes=10000,cost=flops)", {"MatMul"}},
        Reduced{"rnnlm(batch=4,hidden=32,steps=4,vocabulary=100)", {}},
        Reduced{"rnnlm(batch=4,hidden=32,steps=4,vocabulary=100,softmax=per_step,optimizer=adam)", {}},
        Reduced{"nmt(batch=4,hidden=32,steps=4,vocabulary=100)", {}},
        Reduced{"gnmt(batch=2,hidden=32,steps=4,vocabulary=100)", {}},
        Reduced{"nmt_family(batch=2,hidden=32,steps=4,vocabulary=100)", {}},
        Reduced{"ptb(batch=2,hidden=32,steps=4,vocabulary=100)", {"AddN", "MatMul"}},
        Reduced{"inception_v3(batch=1,aux=yes)", {}}, Reduced{"resnet_152(batch=1)", {}},
        Reduced{"nasnet_a(batch=1)", {}}, Reduced{"cifar10(batch=1,layers=3)", {}},
        Reduced{"amoebanet_d(batch=1,image=64,cells=6,filters=32)", {}},
        Reduced{"wavenet(samples=100,residual=8,dilation=8,skip=8)",
                {"Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"}},
        Reduced{"bert(batch=1,layers=2,sequence=32,hidden=64,heads=2,vocabulary=100)",
                {"Erf", "ErfGrad", "Transpose"}},
        Reduced{
            "transformer_xl(batch=1,segment=16,memory=16,hidden=40,heads=2,feed_forward=64,vocabulary=100)",
            {"AddN", "BatchMatMul", "MatMul", "Transpose"}},
        Reduced{"llama(layers=2,hidden=64,heads=4,kv_heads=2,feed_forward=128,sequence=32,vocabulary=100)",
                {"BatchMatMul", "RMSNorm", "RMSNormGrad", "RotaryEmbedding", "RotaryEmbeddingGrad", "Swish",
                 "SwishGrad", "Transpose"}},
        Reduced{
            "moe(batch=1,layers=2,hidden=64,heads=4,kv_heads=2,feed_forward=128,sequence=32,vocabulary=100)",
            {"BatchMatMul", "ExpertCombine", "ExpertCombineGrad", "ExpertDispatch", "ExpertDispatchGrad",
             "RMSNorm", "RMSNormGrad", "RotaryEmbedding", "RotaryEmbeddingGrad", "Swish", "SwishGrad", "TopK",
             "TopKGrad", "Transpose"}}),
    [](const auto& each) {
      std::string name = each.param.workload;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; },
          '_');
      return name;
    });

}  // namespace
}  // namespace stowplan::cli
