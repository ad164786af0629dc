// Times measured on one kind, asked for on another: by the ratio of what a model says of both.
#include "cost_models/models/measured_elsewhere.h"

#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::DeviceOf;
using testing::OpCase;

const OpCase kCases[] = {
    {"MatMul", 2.0 * 4096 * 4096 * 4096, {{{4096, 4096}}, {{4096, 4096}}}, {{{4096, 4096}}}, {}},
    {"Conv2D",
     2.0 * 64 * 256 * 56 * 56 * 256 * 9,
     {{{64, 256, 56, 56}}, {{256, 256, 3, 3}}},
     {{{64, 256, 56, 56}}},
     {{"data_format", {std::string("NCHW")}}}},
    {"Relu", 0, {{{64, 256, 56, 56}}}, {{{64, 256, 56, 56}}}, {}},
    {"Softmax", 0, {{{4096, 1024}}}, {{{4096, 1024}}}, {}},
};

double Us(const sim::CostModel& model, const sim::OpGraph& graph, const std::string& kind) {
  const auto price = model.Predict(graph, testing::LastOp(graph), DeviceOf(kind));
  EXPECT_TRUE(price.has_value()) << kind;
  return price ? price->us : -1;
}

TEST(MeasuredElsewhere, IsTheTimeMeasuredByTheRatioOfTheModel) {
  const auto analytic = MakeCostModel("analytic");
  const auto moving = MovingMeasuredTimes(*analytic, BuiltinCatalogue());
  for (const OpCase& one : kCases) {
    sim::OpGraph graph = testing::GraphOf(one);
    graph.ops.back().cost_us_by_kind = {{"h100", 777}};
    for (const char* kind : {"h200", "a100", "v100", "t4"}) {
      EXPECT_NEAR(Us(*moving, graph, kind), 777 * Us(*analytic, graph, kind) / Us(*analytic, graph, "h100"),
                  1e-9)
          << one.type << " " << kind;
    }
    EXPECT_LE(Us(*moving, graph, "h200"), 777) << "as many units, more bandwidth: " << one.type;
    EXPECT_GT(Us(*moving, graph, "t4"), 777) << one.type;
  }
}

// With whatever evidence the model has of the two kinds: there and back is where it began, and the default model does not move
// a time by the difference between a table and a formula.
TEST(MeasuredElsewhere, TheWayBackUndoesTheWay) {
  const auto model = MakeCostModel("");
  const auto moving = MovingMeasuredTimes(*model, BuiltinCatalogue());
  for (const OpCase& one : kCases) {
    sim::OpGraph graph = testing::GraphOf(one);
    for (const char* kind : {"h200", "a100", "v100", "rtx4090", "l4"}) {
      graph.ops.back().cost_us_by_kind = {{"h100", 777}};
      graph.ops.back().cost_us_by_kind = {{kind, Us(*moving, graph, kind)}};
      EXPECT_NEAR(Us(*moving, graph, "h100"), 777, 1e-6) << one.type << " " << kind;
    }
    graph.ops.back().cost_us_by_kind = {{"h100", 777}};
    EXPECT_LE(Us(*moving, graph, "h200"), 1.05 * 777) << one.type;  // within the error of the tables
  }
}

TEST(MeasuredElsewhere, OtherClassesAndUnknownKindsArePricedByTheModel) {
  const auto model = MakeCostModel("");
  const auto moving = MovingMeasuredTimes(*model, BuiltinCatalogue());
  sim::OpGraph graph = testing::GraphOf(kCases[0]);
  graph.ops.back().cost_us_by_kind = {{"h100", 777}};
  EXPECT_EQ(Us(*moving, graph, "cpu-broadwell"), Us(*model, graph, "cpu-broadwell"));
  graph.ops.back().cost_us_by_kind = {{"a kind of nobody", 777}};
  EXPECT_EQ(Us(*moving, graph, "h200"), Us(*model, graph, "h200"));
  graph.ops.back().cost_us_by_kind.clear();
  EXPECT_EQ(Us(*moving, graph, "h200"), Us(*model, graph, "h200"));
  EXPECT_EQ(moving->name(), model->name());
}

TEST(MeasuredElsewhere, IsCountedByKind) {
  sim::OpGraph graph = testing::GraphOf(kCases[0]);
  graph.ops.back().cost_us_by_kind = {{"h100", 777}, {"cpu", 9000}};
  sim::Cluster cluster;
  cluster.devices = {DeviceOf("h200"), DeviceOf("h100"), DeviceOf("h200"), DeviceOf("cpu-broadwell")};
  const auto moved = MovedTimesOf(graph, cluster, BuiltinCatalogue());
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].from, "h100");
  EXPECT_EQ(moved[0].to, "h200");
  EXPECT_EQ(moved[0].ops, 1);
}

}  // namespace
}  // namespace stowplan::cost_models
