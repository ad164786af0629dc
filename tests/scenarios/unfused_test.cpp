// granularity=unfused keeps what the fused graph says and adds helpers around it (scenarios/builder/unfused.h).
#include "scenarios/builder/unfused.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scenarios/builder/layers.h"
#include "scenarios/scenarios.h"
#include "tests/scenarios/graph_checks.h"
#include "tests/scenarios/graph_view.h"
#include "tests/scenarios/serial_memory.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

// RapidCheck draws from this seed (and prints it) unless the environment says otherwise.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261120", 0);

using sim::OpIndex;

bool IsHelper(const sim::Op& op) {
  return sim::FindAttribute(op.attributes, "helper") != nullptr;
}

// Names of the fused ops whose outputs reach an op, through helpers.
class Sources {
 public:
  explicit Sources(const sim::OpGraph& graph) : graph_(graph), through_(graph.ops.size()) {
    for (OpIndex i = 0; i < graph.size(); ++i) {
      if (IsHelper(At(graph, i))) through_[static_cast<std::size_t>(i)] = Of(i);
    }
  }
  std::set<std::string> Of(OpIndex op) const {
    std::set<std::string> names;
    for (const sim::TensorRef input : At(graph_, op).inputs) {
      const auto& through = through_[static_cast<std::size_t>(input.op)];
      if (IsHelper(At(graph_, input.op))) {
        names.insert(through.begin(), through.end());
      } else {
        names.insert(At(graph_, input.op).name);
      }
    }
    return names;
  }

 private:
  const sim::OpGraph& graph_;
  std::vector<std::set<std::string>> through_;  // by helper; in file order, which is a topological one
};

std::string FaultInFusedOps(const sim::OpGraph& fused, const sim::OpGraph& unfused) {
  const Sources sources(unfused);
  const Sources fused_sources(fused);
  for (OpIndex i = 0; i < fused.size(); ++i) {
    const sim::Op& op = At(fused, i);
    const OpIndex found = unfused.Find(op.name);
    if (found < 0) return "'" + op.name + "' is lost";
    const sim::Op& same = At(unfused, found);
    if (IsHelper(same)) return "'" + op.name + "' has become a helper";
    if (same.type != op.type || same.flops != op.flops || same.phase != op.phase)
      return "'" + op.name + "' has another type, phase or FLOPs";
    if (same.outputs.size() != op.outputs.size()) return "'" + op.name + "' has other outputs";
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (same.outputs[o].shape != op.outputs[o].shape || same.outputs[o].bytes != op.outputs[o].bytes ||
          same.outputs[o].storage != op.outputs[o].storage)
        return "'" + op.name + "' has other outputs";
    }
    if (sources.Of(found) != fused_sources.Of(i))
      return "'" + op.name + "' reads other ops than in the fused graph";
    if (same.control.size() != op.control.size()) return "'" + op.name + "' waits for other ops";
    for (std::size_t c = 0; c < op.control.size(); ++c) {
      if (At(unfused, same.control[c]).name != At(fused, op.control[c]).name)
        return "'" + op.name + "' waits for other ops";
    }
  }
  const auto fused_ops = std::ranges::count_if(unfused.ops, [](const sim::Op& op) { return !IsHelper(op); });
  return fused_ops == fused.size() ? "" : "there are ops that are neither fused nor helpers";
}

// A variable, its read, slots, initialisers and update are in one set.
std::string FaultInColocation(const sim::OpGraph& unfused) {
  for (OpIndex i = 0; i < unfused.size(); ++i) {
    const sim::Op& op = At(unfused, i);
    for (const sim::TensorRef input : op.inputs) {
      const sim::Op& producer = At(unfused, input.op);
      if (producer.type != "Variable") continue;
      if (unfused.colocation_set()[static_cast<std::size_t>(i)] !=
          unfused.colocation_set()[static_cast<std::size_t>(input.op)])
        return "'" + op.name + "' reads the variable '" + producer.name + "' from another device";
    }
  }
  return "";
}

void ExpectSameButHelpers(const std::string& workload, const std::string& parameters) {
  const std::string more = parameters.empty() ? "" : "," + parameters;
  const sim::OpGraph fused = LoadGraph(workload + "(granularity=fused" + more + ")");
  const sim::OpGraph unfused = LoadGraph(workload + "(granularity=unfused" + more + ")");
  SCOPED_TRACE(workload + "(" + parameters + ")");
  EXPECT_EQ(unfused.totals().flops, fused.totals().flops);
  EXPECT_EQ(unfused.totals().parameters, fused.totals().parameters);
  EXPECT_EQ(unfused.totals().persistent_bytes, fused.totals().persistent_bytes);
  EXPECT_EQ(FaultInFusedOps(fused, unfused), "");
  EXPECT_EQ(FaultInColocation(unfused), "");
  EXPECT_EQ(FaultInPlace(unfused), "");
  for (OpIndex i = 0; i < unfused.size(); ++i) {
    ASSERT_EQ(unfused.topological_order()[static_cast<std::size_t>(i)], i)
        << "file order is an order to run in";
    const sim::Op& op = At(unfused, i);
    ASSERT_TRUE(sim::FindAttribute(op.attributes, "stage") != nullptr) << op.name;
    const bool initialiser = op.framework_ops == 0;
    ASSERT_TRUE(initialiser || op.framework_ops == 1) << op.name;
    if (initialiser) {
      ASSERT_TRUE(IsHelper(op)) << op.name;
      ASSERT_EQ(op.outputs.front().bytes, 0) << op.name << " ran before the step";
    }
  }
  // Constants of at most a number for each axis; nothing else is live that was not.
  const sim::Bytes more_live = SerialPeak(unfused).peak - SerialPeak(fused).peak;
  EXPECT_GE(more_live, 0);
  EXPECT_LE(more_live, 20 * unfused.size());
}

class UnfusedModelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(UnfusedModelTest, KeepsTheFusedGraphAndItsTotals) {
  ExpectSameButHelpers(GetParam(), "");
  ExpectSameButHelpers(GetParam(), "mode=inference");
}

std::vector<std::string> Models() {
  std::vector<std::string> names;
  for (const WorkloadRow& row : Workloads()) {
    if (row.settings.Find("granularity") != nullptr) names.emplace_back(row.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Registry, UnfusedModelTest, ::testing::ValuesIn(Models()),
                         [](const auto& row) { return row.param; });

RC_GTEST_PROP(UnfusedTest, KeepsTheFusedGraphForAnyOptions, ()) {
  const auto option = [](const std::string& key, const std::vector<std::string>& values) {
    return key + "=" + *rc::gen::elementOf(values);
  };
  const std::string model = *rc::gen::elementOf(std::vector<std::string>{"nmt", "rnnlm"});
  ExpectSameButHelpers(model, option("optimizer", {"sgd", "momentum", "adam", "rmsprop"}) + "," +
                                  option("gradients", {"free", "colocated"}) + "," +
                                  option("mode", {"training", "inference"}) +
                                  ",layers=" + std::to_string(*rc::gen::inRange(1, 4)) +
                                  ",steps=" + std::to_string(*rc::gen::inRange(1, 6)));
}

// ---- worked by hand

std::vector<std::string> NamesOf(const sim::OpGraph& graph) {
  std::vector<std::string> names;
  for (const sim::Op& op : graph.ops) names.push_back(op.name);
  return names;
}

sim::OpGraph Perceptron(Optimizer optimizer) {
  GraphBuilder b("perceptron", {.optimizer = optimizer, .granularity = Granularity::kUnfused});
  b.SetLocation({.stage = 0});
  const Tensor x = b.Placeholder("x", {8, 4});
  const Tensor labels = b.Placeholder("labels", {8}, "i32");
  const Tensor hidden = MatMul(b, "matmul", x, b.Variable("w", {4, 4}));
  Predict(b, "loss", MatMul(b, "logits", hidden, b.Variable("v", {4, 3})), labels);
  return b.Finish({});
}

TEST(UnfusedTest, PerceptronOpByOp) {
  const std::string uniform = "/Initializer/random_uniform";
  std::vector<std::string> expected = {"x", "labels"};
  const auto variable = [&](const std::string& name) {
    for (const char* part : {"/shape", "/min", "/max", "/RandomUniform", "/sub", "/mul", ""}) {
      if (std::string(part) == "/shape") expected.push_back(name);
      expected.push_back(name + uniform + part);
    }
    expected.push_back(name + "/Assign");
    for (const char* part : {"/Momentum", "/Momentum/Initializer/zeros", "/Momentum/Assign", "/read"})
      expected.push_back(name + part);
  };
  variable("w");
  expected.push_back("matmul");
  variable("v");
  for (const char* name :
       {"logits", "loss/Shape", "loss", "gradients/loss/logits",
        // Two gradients: both are there before either goes on.
        "gradients/logits/input", "gradients/logits/weights", "gradients/logits/tuple/group_deps",
        "gradients/logits/tuple/control_dependency_0", "gradients/logits/tuple/control_dependency_1",
        // x needs none, so there is nothing to wait for.
        "gradients/matmul/weights", "Momentum/learning_rate", "Momentum/momentum", "updates/w", "updates/v"})
    expected.emplace_back(name);
  EXPECT_THAT(NamesOf(Perceptron(Optimizer::kMomentum)), ::testing::ElementsAreArray(expected));
}

TEST(UnfusedTest, SlotsHaveTheirPartOfThePersistentBytes) {
  const std::map<Optimizer, std::vector<std::string>> slots = {
      {Optimizer::kSgd, {}},
      {Optimizer::kMomentum, {"w/Momentum"}},
      {Optimizer::kAdam, {"w/Adam", "w/Adam_1"}},
      {Optimizer::kRmsProp, {"w/RMSProp", "w/RMSProp_1"}}};
  for (const auto& [optimizer, names] : slots) {
    const sim::OpGraph graph = Perceptron(optimizer);
    EXPECT_EQ(At(graph, graph.Find("w")).persistent_bytes, 4 * 16);
    std::vector<std::string> read;
    for (const sim::TensorRef input : At(graph, graph.Find("updates/w")).inputs) {
      const sim::Op& op = At(graph, input.op);
      if (op.type == "Variable" && IsHelper(op)) {
        read.push_back(op.name);
        EXPECT_EQ(op.persistent_bytes, 4 * 16) << op.name;
      }
    }
    EXPECT_EQ(read, names);
  }
}

TEST(UnfusedTest, GradientOfAProductIsSummedAndReshapedBehindOneBroadcastHelper) {
  GraphBuilder b("product", {.granularity = Granularity::kUnfused});
  b.SetLocation({.stage = 0});
  const Tensor labels = b.Placeholder("labels", {8}, "i32");
  Predict(b, "loss", Mul(b, "mul", b.Variable("w", {8, 3}), b.Variable("v", {3})), labels);
  const sim::OpGraph graph = b.Finish({});
  const auto inputs = [&](const std::string& name) {
    std::vector<std::string> names;
    for (const sim::TensorRef input : At(graph, graph.Find(name)).inputs)
      names.push_back(At(graph, input.op).name);
    return names;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(inputs("mul"), ElementsAre("w/read", "v/read"));
  EXPECT_THAT(inputs("gradients/mul/BroadcastGradientArgs"),
              ElementsAre("gradients/mul/Shape", "gradients/mul/Shape_1"));
  // Of w: the same shape, so the sum hands on. Of v: the fused op sums, told over which axes.
  EXPECT_THAT(inputs("gradients/mul/input0/Sum"),
              ElementsAre("gradients/mul/input0", "gradients/mul/BroadcastGradientArgs"));
  EXPECT_THAT(inputs("gradients/mul/input0/Reshape"),
              ElementsAre("gradients/mul/input0/Sum", "gradients/mul/Shape"));
  EXPECT_THAT(inputs("gradients/mul/input1"),
              ElementsAre("gradients/loss/logits", "w/read", "gradients/mul/BroadcastGradientArgs"));
  EXPECT_THAT(inputs("gradients/mul/tuple/control_dependency_0"),
              ElementsAre("gradients/mul/input0/Reshape"));
  EXPECT_THAT(inputs("updates/w"),
              ElementsAre("w", "gradients/mul/tuple/control_dependency_0", "GradientDescent/learning_rate"));
}

TEST(UnfusedTest, RefusesMoreThanOneFrameworkOp) {
  try {
    LoadGraph("rnnlm(granularity=unfused,framework_ops=4)");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "rnnlm: framework_ops=4 says how many ops of a framework a fused op stands for, and with "
                 "granularity=unfused every op is one of the framework; leave framework_ops out or write "
                 "granularity=fused");
  }
  EXPECT_THROW(LoadGraph("rnnlm(granularity=fine)"), InputError);
}

}  // namespace
}  // namespace stowplan::scenarios
