// What every row of the table of workloads must do, with its default parameters and with bad ones.
#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "tests/scenarios/graph_checks.h"
#include "tests/testing.h"

namespace stowplan::scenarios {

// What gtest calls a case; else it prints the bytes, addresses among them.
static void PrintTo(const WorkloadRow& row, std::ostream* out) {
  *out << row.name;
}

namespace {

class WorkloadTest : public ::testing::TestWithParam<WorkloadRow> {
 protected:
  sim::OpGraph Build(const std::string& parameters = "") const {
    return GetParam().build(WorkloadSettings(GetParam().name + ("(" + parameters + ")")));
  }
  // Deep-learning models, as against specimens, have phases and variables.
  static bool IsModel(const sim::OpGraph& graph) {
    return sim::FindAttribute(graph.attributes, "mode") != nullptr;
  }
};

TEST_P(WorkloadTest, IsSoundAsAGraph) {
  const sim::OpGraph graph = Build();
  EXPECT_EQ(graph.name, GetParam().name);
  EXPECT_GT(graph.size(), 0);
  EXPECT_GT(graph.edges(), 0);
  EXPECT_EQ(static_cast<sim::OpIndex>(graph.topological_order().size()), graph.size());
  // File order is an order to run in, so that program order is what the builder wrote.
  for (sim::OpIndex i = 0; i < graph.size(); ++i)
    EXPECT_EQ(graph.topological_order()[static_cast<std::size_t>(i)], i);
  for (const sim::Op& op : graph.ops) {
    EXPECT_FALSE(op.phase.empty()) << op.name;
    EXPECT_GE(op.framework_ops, 1) << op.name;
    for (const auto& output : op.outputs) EXPECT_GT(output.bytes, 0) << op.name;
  }
}

TEST_P(WorkloadTest, NamesItselfInFull) {
  const sim::OpGraph graph = Build();
  const std::string canonical = WorkloadSettings(GetParam().name).Canonical();
  EXPECT_EQ(sim::FindString(graph.attributes, "workload"), canonical);
  const sim::OpGraph again = GetParam().build(WorkloadSettings(canonical));
  ASSERT_EQ(again.size(), graph.size());
  EXPECT_EQ(again.attributes, graph.attributes);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    EXPECT_EQ(again.ops[i].name, graph.ops[i].name);
    EXPECT_EQ(again.ops[i].inputs, graph.ops[i].inputs);
  }
}

TEST_P(WorkloadTest, StagesAreNumberedFromZeroToLayers) {
  const sim::OpGraph graph = Build();
  const auto layers = sim::FindNumber(graph.attributes, "layers");
  ASSERT_TRUE(layers.has_value());
  std::vector<bool> seen(static_cast<std::size_t>(*layers), false);
  for (const sim::Op& op : graph.ops) {
    const auto stage = sim::FindNumber(op.attributes, "stage");
    ASSERT_TRUE(stage.has_value()) << op.name;
    ASSERT_LT(*stage, *layers) << op.name;
    seen.at(static_cast<std::size_t>(*stage)) = true;
  }
  EXPECT_THAT(seen, ::testing::Each(true));
  EXPECT_THAT(*sim::FindString(graph.attributes, "expert"), ::testing::AnyOf("stage", "branch"));
}

TEST_P(WorkloadTest, ShapesStorageAndTrainingHold) {
  const sim::OpGraph graph = Build();
  if (!IsModel(graph)) GTEST_SKIP() << "a specimen: no shapes, no variables";
  EXPECT_EQ(FaultInShapes(graph), "");
  EXPECT_EQ(FaultInPlace(graph), "");
  EXPECT_EQ(FaultInTraining(graph), "");
  EXPECT_GT(graph.totals().parameters, 0);
}

TEST_P(WorkloadTest, VariablesAndUpdatesShareADeviceAndNothingElseDoes) {
  const sim::OpGraph graph = Build();
  if (!IsModel(graph)) GTEST_SKIP() << "a specimen: no variables";
  sim::OpIndex variables = 0;
  for (const sim::Op& op : graph.ops) {
    EXPECT_EQ(!op.colocate.empty(), op.type == "Variable" || op.phase == "update") << op.name;
    variables += op.type == "Variable" ? 1 : 0;
  }
  EXPECT_EQ(graph.colocation_sets(), graph.size() - variables);
}

TEST_P(WorkloadTest, ColocatedGradientsLeaveOneSetForEachForwardOp) {
  if (!IsModel(Build())) GTEST_SKIP() << "a specimen: no gradients";
  const sim::OpGraph graph = Build("gradients=colocated");
  std::int32_t forward = 0;
  for (const sim::Op& op : graph.ops) {
    forward += op.phase == "forward" ? 1 : 0;
    EXPECT_FALSE(op.phase == "backward" && op.colocate.empty()) << op.name;
  }
  EXPECT_EQ(graph.colocation_sets(), forward);
}

TEST_P(WorkloadTest, InferenceIsTheForwardPartWithoutSlots) {
  const sim::OpGraph training = Build();
  if (!IsModel(training)) GTEST_SKIP() << "a specimen: no training";
  const sim::OpGraph graph = Build("mode=inference");
  EXPECT_EQ(graph.totals().parameters, training.totals().parameters);
  // Weights, and what a decoder keeps of the positions it has seen.
  sim::Bytes state = 0;
  for (const sim::Op& op : graph.ops) {
    if (sim::FindAttribute(op.attributes, "trainable") != nullptr) state += op.persistent_bytes;
  }
  EXPECT_EQ(graph.totals().persistent_bytes, 4 * graph.totals().parameters + state);
  EXPECT_EQ(ForwardMultiplyAdds(graph), ForwardMultiplyAdds(training));
  for (const sim::Op& op : graph.ops) EXPECT_EQ(op.phase, "forward") << op.name;
  EXPECT_EQ(FaultInPlace(graph), "");
}

TEST_P(WorkloadTest, BatchScalesWorkAndLeavesWeights) {
  const sim::OpGraph one = Build();
  if (!IsModel(one)) GTEST_SKIP() << "a specimen: no batch";
  const auto batch = static_cast<std::int64_t>(*sim::FindNumber(one.attributes, "batch"));
  const sim::OpGraph twice = Build("batch=" + std::to_string(2 * batch));
  EXPECT_EQ(twice.size(), one.size());
  EXPECT_EQ(twice.totals().parameters, one.totals().parameters);
  EXPECT_LE(twice.totals().flops, 2 * one.totals().flops);
  // Transformer-XL's distances are the same for all items.
  EXPECT_GT(twice.totals().flops, 1.999 * one.totals().flops);
}

TEST_P(WorkloadTest, RefusesBadParameters) {
  const std::string name = GetParam().name;
  for (const char* parameters :
       {"bogus=1", "16", "mode=sleeping,cost=gold", "batch=0,us=-1", "batch=1.5,bytes=many"}) {
    EXPECT_THROW(Build(parameters), InputError) << name << "(" << parameters << ")";
  }
  try {
    Build("bogus=1");
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr("bogus")));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, WorkloadTest, ::testing::ValuesIn(Workloads()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(WorkloadTableTest, NamesAreUnique) {
  std::vector<std::string> names;
  for (const WorkloadRow& row : Workloads()) names.emplace_back(row.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace stowplan::scenarios
