// What a cluster leaves to the framework: who issues, in which order, what is reserved.
#include "scenarios/clusters/framework.h"

#include "agents/task.h"
#include "problem/explain/rules_text.h"
#include "problem/loaded_problem.h"
#include "problem/placement_source.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

using sim::Dispatch;

constexpr sim::Bytes kMiB = 1 << 20;

const std::string kRanks =
    R"({"format": "stowplan.graph", "version": 1, "name": "ranks", "ops": [
      {"name": "a", "type": "MatMul", "cost_us": 10, "outputs": [{"bytes": 4000}]},
      {"name": "b", "type": "MatMul", "cost_us": 10, "outputs": [{"bytes": 4000}]},
      {"name": "sum", "type": "AllReduce", "inputs": ["a:0", "b:0"], "outputs": [{"bytes": 4000}, {"bytes": 4000}]}]})";

std::string ClusterText(const std::string& dispatch, const std::string& reserve = "") {
  return "format: stowplan.cluster\nversion: 1\nname: own\ndevices:\n"
         "  - {name: cpu0, kind: cpu-broadwell, memory: 64GiB}\n"
         "  - {name: gpu0, kind: a100, memory: 10GiB" +
         reserve + "}\n  - {name: gpu1, kind: a100, memory: 1GiB}\n" + dispatch;
}

std::string Pipeline(int micro_batches) {
  return "pipeline(of=rnnlm(batch=4,layers=1,hidden=16,steps=2,vocabulary=50),micro_batches=" +
         std::to_string(micro_batches) + ")";
}

ProblemSource Source(const std::string& graph, const std::string& cluster_text) {
  ProblemSource source;
  source.graph = graph;
  source.cluster = "own";
  source.cluster_text = cluster_text;
  return source;
}

TEST(Framework, RanksAndPipelinesHaveAProcessEach) {
  const auto per = [](const sim::OpGraph& graph, const std::string& dispatch) {
    return LoadedProblem(graph, Source("given", ClusterText(dispatch))).cluster().dispatch.per;
  };
  const sim::OpGraph chain = LoadGraph("chain"), ranks = formats::ParseGraph(kRanks, "ranks"),
                     pipeline = LoadGraph(Pipeline(2)), one_batch = LoadGraph(Pipeline(1));
  for (const char* open : {"", "dispatch: {cost: 1us}\n", "dispatch: {per: auto, cost: 1us}\n"}) {
    EXPECT_EQ(per(chain, open), Dispatch::Per::kProcess) << open;
    EXPECT_EQ(per(one_batch, open), Dispatch::Per::kProcess) << open;
    EXPECT_EQ(per(ranks, open), Dispatch::Per::kDevice) << open;
    EXPECT_EQ(per(pipeline, open), Dispatch::Per::kDevice) << open;
  }
  EXPECT_EQ(per(chain, "dispatch: {per: device}\n"), Dispatch::Per::kDevice);
  EXPECT_EQ(per(ranks, "dispatch: {per: process}\n"), Dispatch::Per::kProcess);
}

TEST(Framework, OrderIsTheProgramsUnlessTheClusterSaysAnother) {
  const auto order = [](const std::string& dispatch) {
    return LoadedProblem(Source("chain", ClusterText(dispatch))).cluster().dispatch.order;
  };
  EXPECT_EQ(order(""), Dispatch::Order::kProgram);
  EXPECT_EQ(order("dispatch: {per: device}\n"), Dispatch::Order::kProgram);
  EXPECT_EQ(order("dispatch: {order: ready}\n"), Dispatch::Order::kReady);
}

// What is left open is as what it stands for: the same scenario, to the bit, but for the cluster's name.
TEST(Framework, AutoIsWhatItStandsFor) {
  for (const auto& [graph, host] :
       {std::pair{"nmt(layers=2,hidden=64,steps=4)", "process"},
        std::pair{"pipeline(of=nmt(hidden=64,steps=4,batch=8),micro_batches=4)", "device"}}) {
    const LoadedProblem open(ProblemSource{.graph = graph, .cluster = "a100(gpus=2)"});
    const LoadedProblem said(
        ProblemSource{.graph = graph, .cluster = std::string("a100(gpus=2,host=") + host + ")"});
    const auto text = [](const LoadedProblem& loaded) {
      sim::Cluster cluster = loaded.cluster();
      cluster.name = "one name";
      return formats::PrintCluster(cluster);
    };
    EXPECT_EQ(text(open), text(said)) << graph;
    const auto run = [](const LoadedProblem& loaded) {
      return sim::MakeSimulator(loaded.problem())->Run(LoadPlacement("expert", loaded.problem())).runtime;
    };
    EXPECT_EQ(run(open), run(said)) << graph;
  }
}

TEST(Framework, ReservesContextAndGaps) {
  const auto reserves = [](const std::string& option, const std::string& of_the_file = "") {
    ProblemSource source = Source("chain", ClusterText("", of_the_file));
    source.reserve = option;
    const LoadedProblem loaded(source);
    EXPECT_EQ(loaded.cluster().devices[0].reserve, 0);
    return std::pair{loaded.cluster().devices[1].reserve, loaded.cluster().devices[2].reserve};
  };
  using Pair = std::pair<sim::Bytes, sim::Bytes>;
  const auto percent = [](int part, sim::Bytes of) { return (of * part + 50) / 100; };
  const sim::Bytes ten = 10240 * kMiB, one = 1024 * kMiB;
  EXPECT_EQ(reserves(""), Pair(500 * kMiB + percent(4, ten), 128 * kMiB + percent(4, one)));
  EXPECT_EQ(reserves("", ", reserve: auto"), reserves(""));
  EXPECT_EQ(reserves("0"), Pair(0, 0));
  EXPECT_EQ(reserves("200MiB"), Pair(200 * kMiB, 200 * kMiB));
  EXPECT_EQ(reserves("5%"), Pair(percent(5, ten), percent(5, one)));
  EXPECT_EQ(reserves("200MiB+5%"), Pair(200 * kMiB + percent(5, ten), 200 * kMiB + percent(5, one)));
  // What the file says stands.
  EXPECT_EQ(reserves("200MiB", ", reserve: 1GiB"), Pair(one, 200 * kMiB));
  EXPECT_EQ(reserves("", ", reserve: 0B").first, 0);
}

TEST(Framework, RefusesReservesThatMakeNoSense) {
  const auto refused = [](const std::string& option, const std::string& cluster, const std::string& says) {
    EXPECT_THAT(
        tests::ErrorOf([&] {
          const LoadedProblem loaded(ProblemSource{.graph = "chain", .cluster = cluster, .reserve = option});
        }),
        HasSubstr(says));
  };
  refused("100%", "a100", "share below 100 %");
  refused("-1%", "a100", "share below 100 %");
  refused("nan%", "a100", "share below 100 %");
  refused("1GiB+", "a100", "share below 100 %");
  refused("1GiB+2", "a100", "share below 100 %");
  refused("lots", "a100", "--reserve");
  refused("100GiB", "a100", "less is wanted");
  refused("1GiB", "k40(gpus=2)", "leave the option out");
}

// A chain of views, products and sums as stowplan.capture names them.
std::string Captured(int blocks) {
  std::string ops, before;
  const auto add = [&](const std::string& name, const std::string& type, const std::string& more) {
    ops += std::string(ops.empty() ? "" : ",\n") + R"({"name": ")" + name + R"(", "type": ")" + type +
           R"(", "cost_us": 1, )" + (before.empty() ? "" : R"("inputs": [")" + before + R"(:0"], )") +
           R"("outputs": [{"bytes": 4000)" + more + R"(}], "attributes": {"torch_op": "aten.op"}})";
    before = name;
  };
  for (int i = 0; i < blocks; ++i) {
    const std::string number = std::to_string(i);
    add("product" + number, "MatMul", "");
    add("view" + number, "Reshape", R"(, "alias": "product)" + number + R"(:0")");
    add("sum" + number, "Add", "");
  }
  return R"({"format": "stowplan.graph", "version": 1, "name": "captured", "ops": [)" + ops + "]}";
}

TEST(Framework, HostsIssueCapturedGraphsAsPyTorchDoes) {
  const auto micros = [](const std::string& cluster, const std::string& host = "") {
    ProblemSource source{.graph = "captured", .cluster = cluster, .host = host};
    if (cluster.find('\n') != cluster.npos) source.cluster_text = std::exchange(source.cluster, "own");
    const LoadedProblem loaded(formats::ParseGraph(Captured(100), "captured"), source);
    return sim::ToMicros(
        sim::MakeSimulator(loaded.problem())->Run(LoadPlacement("single_gpu", loaded.problem())).runtime);
  };
  const double eager = 100 * (38 + 3 + 20) + 1;  // the last op still runs
  for (const std::string& cluster :
       {std::string("a100(gpus=1)"), ClusterText(""), ClusterText("dispatch: {cost: auto}\n"),
        ClusterText("dispatch: {mode: eager}\n")}) {
    EXPECT_DOUBLE_EQ(micros(cluster), eager) << cluster;
    EXPECT_DOUBLE_EQ(micros(cluster, "eager"), eager) << cluster;
    EXPECT_DOUBLE_EQ(micros(cluster, "graph"), 100 * 4 + 1) << cluster;
  }
  EXPECT_DOUBLE_EQ(micros(ClusterText("dispatch: {mode: graph}\n")), 100 * 4 + 1);
  EXPECT_DOUBLE_EQ(micros("a100(gpus=1)", "flat"), 300 * 4 + 1);
  EXPECT_DOUBLE_EQ(micros(ClusterText("dispatch: {mode: flat, cost: auto}\n")), 300 * 4 + 1);
  EXPECT_DOUBLE_EQ(micros(ClusterText("dispatch: {cost: 5us}\n")), 300 * 5 + 1);
  EXPECT_DOUBLE_EQ(micros(ClusterText("dispatch: {cost: 5us}\n"), "eager"), eager);
}

// What is no capture is as before, on papers' clusters and others.
TEST(Framework, HostsIssueOtherGraphsAtOneCost) {
  for (const char* cluster : {"k40(gpus=2)", "k80(gpus=2)", "p100(gpus=2)", "a100(gpus=2)", "h100(gpus=2)"}) {
    const LoadedProblem loaded(ProblemSource{.graph = "rnnlm", .cluster = cluster});
    const Dispatch& dispatch = loaded.cluster().dispatch;
    EXPECT_TRUE(dispatch.automatic && dispatch.mode == Dispatch::Mode::kFlat) << cluster;
    for (const sim::Op& op : loaded.graph().ops)
      EXPECT_EQ(op.DispatchUnits(), op.IsSource() ? 0 : op.framework_ops) << op.name;
    EXPECT_EQ(HostText(loaded.problem()), "");
  }
}

TEST(Framework, TheModeOfTheHostIsNamed) {
  const auto text = [](const std::string& host) {
    return HostText(LoadedProblem(formats::ParseGraph(Captured(10), "captured"),
                                  {.graph = "captured", .cluster = "a100(gpus=1)", .host = host})
                        .problem());
  };
  EXPECT_THAT(text(""), HasSubstr("610.0 us in all (host mode eager"));
  EXPECT_THAT(text("graph"), HasSubstr("40.00 us in all (host mode graph)"));
  EXPECT_EQ(text("flat"), "");
}

// Gradients of a step are there together in program order; as ops become ready each goes as soon as it is applied.
TEST(Framework, GradientsOfAStepExistTogether) {
  const std::string llama =
      "llama(layers=8,hidden=512,heads=8,kv_heads=8,feed_forward=1376,vocabulary=2000,batch=1,sequence=16,"
      "optimizer=sgd)";
  const auto peak = [&](const std::string& cluster) {
    const LoadedProblem loaded(ProblemSource{.graph = llama, .cluster = cluster});
    return sim::MakeSimulator(loaded.problem())
        ->Run(LoadPlacement("single_gpu", loaded.problem()))
        .devices[1]
        .peak;
  };
  const sim::Bytes embedding = sim::Bytes{2000} * 512 * 4;  // its gradient has the rows of the tokens alone
  const sim::Bytes weights = LoadGraph(llama).totals().persistent_bytes;
  EXPECT_GE(peak("a100(gpus=1)"), 2 * weights - embedding);
  EXPECT_LT(peak("a100(gpus=1,order=ready,host=device)"), 2 * weights);
}

// What others measured or saw fail, as far as a workload can say it (its numbers have 4 bytes).
TEST(Framework, StepsTakeTheMemoryThatOthersMeasured) {
  const std::string seven = "llama(layers=32,hidden=4096,heads=32,kv_heads=32,feed_forward=11008,batch=1,";
  const auto run = [](const std::string& graph, const std::string& cluster, const std::string& placement) {
    const LoadedProblem loaded(ProblemSource{.graph = graph, .cluster = cluster});
    return sim::MakeSimulator(loaded.problem())->Run(LoadPlacement(placement, loaded.problem()));
  };
  // meta-pytorch/torchtune#389: 27.83 GB in bf16, plain gradient descent.
  const sim::Outcome sgd = run(seven + "sequence=512,optimizer=sgd)", "h100(gpus=1)", "single_gpu");
  EXPECT_NEAR(static_cast<double>(sgd.devices[1].peak) / 2e9, 27.83, 0.08 * 27.83);
  // tatsu-lab/stanford_alpaca#56: with Adam one A100 of 80 GB is too small, two are enough.
  const std::string adam = seven + "sequence=512,optimizer=adam)";
  EXPECT_FALSE(run(adam, "a100(gpus=1)", "single_gpu").feasible());
  EXPECT_TRUE(run(adam, "a100(gpus=2)", "expert").feasible());
}

}  // namespace
}  // namespace stowplan::problem
