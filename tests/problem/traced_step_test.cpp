// Steps of a Kineto trace, simulated on one GPU: a step that was recorded takes as long as it took.
#include <algorithm>

#include <fmt/format.h>

#include "problem/loaded_problem.h"
#include "scenarios/importers/trace.h"
#include "scenarios/importers/trace/job.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"
#include "tests/temp_folder.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

using tests::ErrorOf;

// Records of a step made by hand [us].
class Step {
 public:
  Step& Call(const std::string& name, double start, double takes, int correlation = 0) {
    return Event("cuda_runtime", name, start, takes, fmt::format(R"("correlation": {})", correlation));
  }
  Step& Launch(double start, double takes, int correlation) {
    return Call("cudaLaunchKernel", start, takes, correlation);
  }
  Step& Kernel(int stream, double start, double takes, int correlation, const std::string& name = "k",
               const std::string& more = "") {
    return Event("kernel", name, start, takes, Device(stream, correlation) + more);
  }
  Step& Copy(int stream, double start, double takes, int correlation) {
    return Event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", start, takes, Device(stream, correlation));
  }
  Step& Op(const std::string& name, double start, double takes, const std::string& args = "") {
    return Event("cpu_op", name, start, takes, args);
  }
  Step& Annotation(const std::string& name, double start, double takes, const std::string& args = "") {
    return Event("user_annotation", name, start, takes, args);
  }
  std::string Text() const {
    return fmt::format(R"({{"baseTimeNanoseconds": 1000, "traceEvents": [{}]}})", fmt::join(events_, ",\n"));
  }

 private:
  static constexpr double kBegin = 1000;  // what begins at 0 has no stamp

  static std::string Device(int stream, int correlation) {
    return fmt::format(R"("device": 0, "context": 1, "stream": {}, "correlation": {})", stream, correlation);
  }
  Step& Event(const std::string& category, const std::string& name, double start, double takes,
              const std::string& args) {
    events_.push_back(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}, "args": {{{}}}}})",
        category, name, start + kBegin, takes, args));
    return *this;
  }
  std::vector<std::string> events_;
};

scenarios::ImportedGraph Read(const Step& step) {
  return scenarios::ImportTrace(step.Text(), "step.json", {});
}

const std::string kOneGpu =
    "format: stowplan.cluster\nversion: 1\nname: own\ndevices:\n"
    "  - {name: gpu0, kind: v100, memory: 16GiB}\n";

// [us]
double Simulated(const sim::OpGraph& graph, const std::string& host = "") {
  ProblemSource source{.graph = "given", .cluster = "own", .host = host, .cluster_text = kOneGpu};
  const LoadedProblem loaded(graph, source);
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  return sim::ToMicros(sim::MakeSimulator(loaded.problem())->Run(placement).runtime);
}

double Traced(const sim::OpGraph& graph) {
  return sim::FindNumber(graph.attributes, "traced_step_us").value_or(0);
}

const sim::Op& OpOf(const sim::OpGraph& graph, const std::string& part) {
  const auto found = std::ranges::find_if(
      graph.ops, [&](const sim::Op& op) { return op.name.find(part) != std::string::npos; });
  STOWPLAN_CHECK(found != graph.ops.end());
  return *found;
}

double HostMicros(const sim::Op& op) {
  return sim::FindNumber(op.attributes, "host_us").value_or(-1);
}

// The host takes 20 us from launch to launch, each kernel 5.
Step HostBound() {
  Step step;
  for (int i = 0; i < 4; ++i) step.Launch(20 * i, 6, i + 1).Kernel(7, 20 * i + 9, 5, i + 1);
  return step;
}

TEST(TracedStep, TheHostTakesItsTime) {
  const sim::OpGraph graph = Read(HostBound()).graph;
  EXPECT_DOUBLE_EQ(Traced(graph), 65);
  EXPECT_NEAR(Simulated(graph), 65, 0.05);
  EXPECT_DOUBLE_EQ(HostMicros(graph.ops[1]), 20);
  EXPECT_NEAR(Simulated(graph, "graph"), 20 + 2 * 4, 8) << "issued at once, the kernels remain";
}

// A queue that never runs dry, with a gap of 2 us from kernel to kernel.
TEST(TracedStep, TheDeviceTakesItsTime) {
  Step step;
  for (int i = 0; i < 5; ++i) step.Launch(10 * i, 5, i + 1).Kernel(7, 8 + 102 * i, 100, i + 1);
  const sim::OpGraph graph = Read(step).graph;
  EXPECT_DOUBLE_EQ(Traced(graph), 5 * 102 - 2);
  EXPECT_NEAR(Simulated(graph), 5 * 102 - 2, 0.05);
  EXPECT_NEAR(Simulated(graph, "graph"), 5 * 102 - 2, 10) << "the host was never waited for";
}

// The host waits for a kernel of 500 us, then goes on: twice as long a kernel makes the step 500 us longer.
TEST(TracedStep, TheHostWaitsForTheDevice) {
  Step step;
  step.Launch(0, 5, 1).Kernel(7, 10, 500, 1);
  step.Call("cudaStreamSynchronize", 20, 500, 2);
  step.Launch(540, 5, 3).Kernel(7, 550, 30, 3);
  sim::OpGraph graph = Read(step).graph;
  ASSERT_EQ(graph.size(), 3);
  EXPECT_EQ(graph.ops[1].type, "Synchronize");
  EXPECT_DOUBLE_EQ(Traced(graph), 570);
  EXPECT_NEAR(Simulated(graph), 570, 0.05);
  graph.ops[0].cost_us_by_kind = {{"gpu", 1000}};
  EXPECT_NEAR(Simulated(graph), 1070, 0.05);
}

TEST(TracedStep, ACopyThatBlocksIsWaitedFor) {
  Step step;
  step.Launch(0, 5, 1).Kernel(7, 10, 300, 1);
  step.Call("cudaMemcpyAsync", 20, 315, 2).Copy(7, 312, 20, 2);
  step.Launch(360, 5, 3).Kernel(7, 370, 10, 3);
  const sim::OpGraph graph = Read(step).graph;
  EXPECT_EQ(sim::FindBool(graph.ops[1].attributes, "host_waits"), true);
  EXPECT_NEAR(Simulated(graph), Traced(graph), 0.05);
}

// Short kernels run beside a long one; another then waits for them, and for no recorded reason but that it starts when they end.
TEST(TracedStep, StreamsRunSideBySide) {
  Step step;
  step.Launch(0, 5, 1).Kernel(7, 10, 1000, 1, "whole");
  for (int i = 0; i < 3; ++i)
    step.Launch(20 + 10 * i, 5, i + 2).Kernel(20, 30 + 200 * i, 190, i + 2, "aside");
  step.Launch(60, 5, 5).Kernel(24, 622, 700, 5, "behind");
  const sim::OpGraph graph = Read(step).graph;
  EXPECT_EQ(sim::FindNumber(graph.attributes, "streams"), 3);
  EXPECT_NEAR(Simulated(graph), Traced(graph), 0.05);
  EXPECT_EQ(OpOf(graph, "behind").control, (std::vector<sim::OpIndex>{3})) << "the last of those aside";
  EXPECT_EQ(sim::FindNumber(OpOf(graph, "behind").attributes, "gap_us"), std::nullopt);
}

// 100 us of computing, 60 of a collective of which 20 lie beside it, 40 of nothing.
TEST(TracedStep, SharesOfTheStep) {
  Step step;
  step.Launch(0, 5, 1)
      .Kernel(7, 10, 80, 1, "gemm")
      .Launch(20, 5, 2)
      .Kernel(24, 70, 60, 2, "ncclKernel_AllReduce");
  step.Launch(150, 5, 3).Kernel(7, 170, 20, 3, "gemm");
  const scenarios::ImportedGraph imported = Read(step);
  EXPECT_THAT(imported.notes, Contains(AllOf(HasSubstr("computed 55.6 %"), HasSubstr("22.2 %, and"),
                                             HasSubstr("idle 22.2 %"))));
}

TEST(TracedStep, WhatHasNoLaunchRunsWhenItRan) {
  Step step;
  step.Kernel(7, 5, 50, 77);
  step.Launch(20, 5, 1).Kernel(7, 57, 40, 1);
  const scenarios::ImportedGraph imported = Read(step);
  EXPECT_NEAR(Simulated(imported.graph), 92, 0.05);
  EXPECT_DOUBLE_EQ(HostMicros(imported.graph.ops[0]), 0);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 piece")));
}

// The kernels of one op are one where they follow each other; those of a CUDA graph are themselves, and may run side by side.
TEST(TracedStep, KernelsOfAnOpAndOfACudaGraph) {
  Step step;
  step.Op("aten::native_layer_norm", 0, 40).Launch(1, 5, 1).Launch(10, 5, 2);
  step.Kernel(7, 10, 8, 1, "a").Kernel(7, 19, 8, 2, "b");
  step.Call("cudaGraphLaunch", 50, 10, 3);
  for (int i = 0; i < 3; ++i)
    step.Kernel(7, 65 + 10 * i, 15, 3, fmt::format("node{}", i),
                fmt::format(R"(, "graph id": 4, "graph node id": {})", i));
  const sim::OpGraph graph = Read(step).graph;
  ASSERT_EQ(graph.size(), 4);
  EXPECT_EQ(graph.ops[0].type, "LayerNorm");
  EXPECT_EQ(graph.ops[0].cost_us_by_kind.front().second, 17);
  EXPECT_NEAR(Simulated(graph), Traced(graph), 0.05);
}

TEST(TracedStep, CollectivesAndKernelsAreTold) {
  Step step;
  step.Op(
      "record_param_comms", 0, 10,
      R"("Collective name": "all_to_allv", "In msg nelems": 100, "dtype": "BFloat16", "Group size": 8, "Process Group Name": "ep")");
  step.Launch(1, 5, 1).Kernel(24, 12, 9, 1, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  step.Annotation("nccl:all_reduce", 30, 10, R"("Input Dims": [[10, 3]], "Input type": ["float"])");
  step.Launch(31, 5, 2).Kernel(24, 40, 9, 2, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)");
  step.Launch(61, 5, 3).Kernel(7, 70, 9, 3, "triton_poi_fused_add_mul_0");
  step.Launch(81, 5, 4).Kernel(7, 90, 9, 4,
                               "void flash_fwd_kernel<Flash_fwd_kernel_traits<64> >(Flash_fwd_params)");
  step.Launch(101, 5, 5).Kernel(7, 110, 9, 5, "void fbgemm_gpu::permute_2D_data_kernel<long>(int)");
  const sim::OpGraph graph = Read(step).graph;
  ASSERT_EQ(graph.size(), 5);
  std::vector<std::string> types;
  for (const sim::Op& op : graph.ops) types.push_back(op.type);
  EXPECT_THAT(types, ElementsAre("other.AllToAll", "other.AllReduce", "Fused", "Attention", "Permute"));
  const auto number = [&](int op, const char* key) {
    return sim::FindNumber(graph.ops[static_cast<std::size_t>(op)].attributes, key);
  };
  EXPECT_EQ(number(0, "bytes"), 200);
  EXPECT_EQ(number(0, "group_size"), 8);
  EXPECT_EQ(sim::FindString(graph.ops[0].attributes, "process_group"), "ep");
  EXPECT_EQ(number(1, "bytes"), 120);
  EXPECT_EQ(number(1, "group_size"), std::nullopt);
}

TEST(TracedStep, PhasesAndModules) {
  Step step;
  step.Annotation("nn.Module: Net_0", 0, 30).Annotation("nn.Module: Linear_1", 1, 20);
  step.Op("aten::addmm", 2, 10, R"("Input Dims": [[4], [2, 3], [3, 4]])")
      .Launch(3, 5, 1)
      .Kernel(7, 12, 9, 1, "gemm");
  step.Op("autograd::engine::evaluate_function: AddmmBackward0", 40, 20).Op("aten::mm", 42, 10);
  step.Launch(43, 5, 2).Kernel(7, 52, 9, 2, "gemm");
  step.Annotation("Optimizer.step#SGD.step", 70, 20).Op("aten::_foreach_add_", 72, 10);
  step.Launch(73, 5, 3).Kernel(7, 82, 9, 3, "multi_tensor");
  const sim::OpGraph graph = Read(step).graph;
  std::vector<std::string> phases;
  for (const sim::Op& op : graph.ops) phases.push_back(op.type + " " + op.phase);
  EXPECT_THAT(phases, ElementsAre("MatMul forward", "MatMul backward", "Optimizer update"));
  EXPECT_EQ(sim::FindString(graph.ops[0].attributes, "module"), "Net_0.Linear_1");
  EXPECT_NE(sim::FindAttribute(graph.ops[0].attributes, "input_dims"), nullptr);
}

// A CPU's step takes what its ops take and what lies between them.
TEST(TracedStep, OpsOfACpuAreItsStep) {
  Step step;
  step.Op("aten::linear", 0, 100).Op("aten::addmm", 10, 80).Op("aten::relu", 130, 20);
  const sim::OpGraph graph = Read(step).graph;
  ASSERT_EQ(graph.size(), 2) << "addmm is called by linear";
  EXPECT_DOUBLE_EQ(Traced(graph), 150);
  EXPECT_DOUBLE_EQ(HostMicros(graph.ops[1]), 30);
}

// What a trace says of its step stays with it.
TEST(TracedStep, APipelineKeepsTheTracedStep) {
  const tests::TempFolder folder;
  formats::WriteFile(folder / "step.json", HostBound().Text());
  const sim::OpGraph graph = LoadGraph("pipeline(of=" + (folder / "step.json") + ",micro_batches=1)");
  EXPECT_DOUBLE_EQ(Traced(graph), 65);
  EXPECT_EQ(sim::FindNumber(graph.attributes, "streams"), 1);
}

// A rank of two on a clock of its own: it computes, all-reduces until 400 us and computes again.
scenarios::trace::TracedRank Rank(double clock, double computes) {
  Step step;
  step.Launch(clock, 5, 1).Kernel(7, clock + 10, computes, 1);
  step.Launch(clock + 20, 5, 2);
  step.Kernel(24, clock + 15 + computes, 385 - computes, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)");
  step.Launch(clock + 30, 5, 3).Kernel(7, clock + 402, 50, 3);
  return scenarios::trace::ReadTracedRank(step.Text(), "rank.json", {});
}

TEST(TracedStep, RanksAreOneJob) {
  scenarios::ImportedGraph job =
      scenarios::trace::JoinRanks({Rank(0, 95), Rank(7000, 295)}, {"rank0.json", "rank1.json"});
  const auto simulated = [&] {
    sim::OpGraph graph = job.graph;
    graph.Finish();
    const LoadedProblem loaded(
        graph,
        ProblemSource{
            .graph = "given", .cluster = "own", .cluster_text = kOneGpu + "  - {name: gpu1, kind: v100}\n"});
    sim::Placement placement;
    for (const sim::Op& op : graph.ops) placement.device.push_back(op.name.starts_with("rank1/") ? 1 : 0);
    return sim::ToMicros(sim::MakeSimulator(loaded.problem())->Run(placement).runtime);
  };
  EXPECT_DOUBLE_EQ(Traced(job.graph), 442);
  EXPECT_NEAR(simulated(), 442, 0.1);
  EXPECT_THAT(job.notes, Contains(AllOf(HasSubstr("rank 0 waits longest"), HasSubstr("(200 us)"))));
  for (sim::Op& op : job.graph.ops)
    if (op.name == "rank1/k#0") op.cost_us_by_kind.front().second = 50;
  EXPECT_NEAR(simulated(), 442 - 200, 0.1) << "then the other is the last to come";
}

TEST(TracedStep, RanksOfTwoJobsAreRefused) {
  Step alone;
  alone.Launch(0, 5, 1).Kernel(7, 10, 5, 1);
  const auto other = [&] { return scenarios::trace::ReadTracedRank(alone.Text(), "other.json", {}); };
  EXPECT_THAT(ErrorOf([&] {
                scenarios::trace::JoinRanks({Rank(0, 95), other()}, {"rank.json", "other.json"});
              }),
              HasSubstr("other.json"));
}

// A profiler that was killed leaves a part of its file: what is whole of it is read.
TEST(TracedStep, WhatIsWholeOfACutTraceIsRead) {
  const std::string whole = HostBound().Text();
  for (const auto& [cut, ops] :
       {std::pair{whole.size() - 1, 4}, {whole.size() - 3, 3}, {whole.rfind("kernel"), 3}}) {
    const scenarios::ImportedGraph imported = scenarios::ImportTrace(whole.substr(0, cut), "step.json", {});
    EXPECT_EQ(imported.graph.size(), ops) << cut;
    EXPECT_THAT(imported.notes, Contains(HasSubstr("ends in the middle"))) << cut;
  }
  EXPECT_THAT(ErrorOf([] { scenarios::ImportTrace(R"({"traceEvents": [)", "step.json", {}); }),
              HasSubstr("step.json"));
}

}  // namespace
}  // namespace stowplan::problem
