// What a host takes to issue the ops of a graph, eager, as CUDA graphs or flat.
#include "cost_models/ops/host_costs.h"

#include "cost_models/cost_models.h"
#include "sim/base/error.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using Mode = sim::Dispatch::Mode;
using testing::InputErrorOf;

sim::Op Make(const std::string& type, const std::string& phase = "forward", bool captured = true) {
  sim::Op op;
  op.name = type + "-" + phase;
  op.type = type;
  op.phase = phase;
  op.outputs = {{.bytes = 4}};
  if (captured) op.attributes = {{"torch_op", {std::string("aten.x")}}};
  return op;
}

sim::OpGraph GraphOf(std::vector<sim::Op> ops) {
  sim::OpGraph graph;
  graph.name = "graph";
  graph.ops = std::move(ops);
  graph.Finish();
  return graph;
}

sim::Cluster Gpu(const std::string& kind = "a100") {
  sim::Cluster cluster;
  cluster.devices = {{.name = "gpu0", .kind = kind, .launch_cost = sim::FromMicros(4)}};
  cluster.dispatch.automatic = cluster.dispatch.automatic_mode = true;
  return cluster;
}

std::vector<std::int32_t> Units(sim::OpGraph graph, const std::string& mode, sim::Cluster cluster = Gpu()) {
  ChargeHost(cluster, graph, mode);
  std::vector<std::int32_t> units;
  for (const sim::Op& op : graph.ops) units.push_back(op.DispatchUnits());
  return units;
}

TEST(Host, ChargesByTypeClassAndPhase) {
  const sim::OpGraph graph =
      GraphOf({Make("Variable"), Make("Reshape"), Make("Relu"), Make("ReluGrad", "backward"), Make("MatMul"),
               Make("Attention"), Make("Softmax"), Make("LayerNormGrad", "backward"), Make("FusedBatchNorm"),
               Make("Conv2D"), Make("ConvBackward", "backward"), Make("GatherV2"), Make("aten.unheard"),
               Make("ApplyGradientDescent", "update"), Make("Sqrt", "update"), Make("ApplyAdam", "update")});
  EXPECT_THAT(Units(graph, "eager"),
              ElementsAre(0, 3, 20, 22, 38, 40, 20, 65, 50, 60, 105, 28, 20, 5, 0, 20));
  EXPECT_THAT(Units(graph, "graph"), ElementsAre(0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 0, 1));
  EXPECT_THAT(Units(graph, "flat"), ::testing::Each(::testing::AnyOf(0, 1)));
  EXPECT_EQ(Units(graph, ""), Units(graph, "eager"));
}

TEST(Host, ChargesAsTheOptimizerOfTheCaptureDoes) {
  sim::OpGraph graph = GraphOf({Make("ApplyAdam", "update")});
  for (const auto& [optimizer, units] :
       {std::pair{"adam", 20}, std::pair{"adam-fused", 5}, std::pair{"adam-single", 250}}) {
    graph.attributes = {{"optimizer", {std::string(optimizer)}}};
    EXPECT_THAT(Units(graph, "eager"), ElementsAre(units)) << optimizer;
  }
}

TEST(Host, IsEagerForCapturedGraphsAlone) {
  for (const bool captured : {true, false}) {
    sim::OpGraph graph = GraphOf({Make("Relu", "forward", captured)});
    sim::Cluster cluster = Gpu();
    ChargeHost(cluster, graph);
    EXPECT_EQ(cluster.dispatch.mode, captured ? Mode::kEager : Mode::kFlat);
    EXPECT_EQ(graph.ops[0].DispatchUnits(), captured ? 20 : 1);
    EXPECT_EQ(cluster.dispatch.automatic, !captured);
    EXPECT_EQ(cluster.dispatch.cost, captured ? sim::FromMicros(1) : 0);
  }
}

// To 10 ns, and to ten times that as often as the longest needs it; a graph without such times has no such mode.
TEST(Host, TakesTheTimesOfATrace) {
  sim::OpGraph graph = GraphOf({Make("Relu", "forward", true), Make("Gelu", "forward", true)});
  sim::Cluster cluster = Gpu();
  EXPECT_THAT(InputErrorOf([&] { ChargeHost(cluster, graph, "traced"); }), HasSubstr("host_us"));
  graph.ops[1].attributes.emplace_back("host_us", sim::Attribute{12.345});
  cluster = Gpu();
  ChargeHost(cluster, graph);
  EXPECT_EQ(cluster.dispatch.mode, Mode::kTraced);
  const auto micros = [&](std::size_t op) {
    return sim::ToMicros(cluster.dispatch.cost * graph.ops[op].DispatchUnits());
  };
  EXPECT_EQ(micros(0), 0);
  EXPECT_NEAR(micros(1), 12.345, 0.005);
  graph.ops[0].attributes.emplace_back("host_us", sim::Attribute{100e6});
  cluster = Gpu();
  ChargeHost(cluster, graph);
  EXPECT_NEAR(micros(0), 100e6, 0.1);
  EXPECT_NEAR(micros(1), 12.345, 0.1);
}

TEST(Host, LeavesAnExplicitCostAsItIs) {
  sim::OpGraph graph = GraphOf({Make("Relu")});
  sim::Cluster cluster = Gpu();
  cluster.dispatch = {.cost = sim::FromMicros(5)};
  ChargeHost(cluster, graph);
  EXPECT_EQ(cluster.dispatch.cost, sim::FromMicros(5));
  EXPECT_EQ(graph.ops[0].DispatchUnits(), 1);
  ChargeHost(cluster, graph, "graph");
  EXPECT_EQ(cluster.dispatch.cost, sim::FromMicros(1));
  EXPECT_EQ(graph.ops[0].DispatchUnits(), 2);
}

// Joined once more, nothing changes.
TEST(Host, FollowsTheMeasuredLaunches) {
  sim::OpGraph graph = GraphOf({Make("Relu")});
  sim::Cluster slow = Gpu(), own = Gpu("nobody's");
  slow.devices[0].launch_cost = own.devices[0].launch_cost = sim::FromMicros(6);
  for (int again = 0; again < 2; ++again) {
    ChargeHost(slow, graph);
    ChargeHost(own, graph);
    EXPECT_EQ(slow.dispatch.cost, sim::FromMicros(1.5));
    EXPECT_EQ(own.dispatch.cost, sim::FromMicros(1));
    EXPECT_EQ(graph.ops[0].DispatchUnits(), 20);
  }
}

// A trace's time of an op on the CPU is the host's; what framework_ops says counts.
TEST(Host, ChargesNothingTwice) {
  sim::OpGraph graph = GraphOf({Make("Relu"), Make("Gelu"), Make("Exp"), Make("Tanh")});
  graph.ops[0].cost_us_by_kind = {{"cpu", 30}};
  graph.ops[1].cost_us_by_kind = {{"gpu", 30}};
  graph.ops[2].framework_ops = 0;
  graph.ops[3].framework_ops = 3;
  EXPECT_THAT(Units(graph, "eager"), ElementsAre(0, 20, 0, 60));
}

TEST(Host, RefusesOtherModes) {
  EXPECT_THAT(InputErrorOf([] { Units(GraphOf({Make("Relu")}), "eagre"); }),
              HasSubstr("did you mean eager?"));
}

std::string Table(const std::string& eager) {
  std::string all;
  for (const char* op_class : {"convolution", "dilated_convolution", "depthwise", "gemm", "recurrent_gemm",
                               "elementwise", "reduction", "normalisation", "data_movement", "optimizer"})
    all += std::string(all.empty() ? "" : ", ") + op_class;
  const std::string rest = "  - {of: [" + all + "], forward: 1, source: \"assumption: a test\"}\n";
  const std::string views = "  - {of: [nothing], forward: 1, source: \"assumption: a test\"}\n";
  return "format: stowplan.host\nversion: 1\neager:\n" + rest + eager + "graph:\n" + rest + views;
}

TEST(HostTable, RefusesWhatItCannotUse) {
  const std::string row = "  - {of: [nothing], forward: 3, source: s}\n";
  EXPECT_EQ(ParseHostTable(Table(row), "t").micros[0].at("nothing")[1], 3);
  for (const auto& [rows, says] :
       {std::pair{std::string("  - {of: [MatMul], forward: 1, source: s}\n"),
                  "nothing of the class 'nothing'"},
        std::pair{row + row, "has a row already"},
        std::pair{std::string("  - {of: [Matmul], forward: 1, source: s}\n"), "is no op type"},
        std::pair{std::string("  - {of: [nothing], forward: 1}\n"), "has no \"source\""},
        std::pair{std::string("  - {of: [nothing], forward: -1, source: s}\n"), "forward"}})
    EXPECT_THAT(InputErrorOf([&] { ParseHostTable(Table(rows), "t"); }), HasSubstr(says)) << rows;
}

TEST(HostTable, NamesItsSources) {
  std::ifstream lines(std::string(STOWPLAN_SOURCE_DIR) + "/cost_models/data/host.yaml");
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("forward:") == std::string::npos) continue;
    ++rows;
    EXPECT_THAT(line, ::testing::ContainsRegex("source: \"(measured|derived|assumption): .+\"\\}$"));
  }
  EXPECT_GE(rows, 15);
}

}  // namespace
}  // namespace stowplan::cost_models
