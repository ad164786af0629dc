// Modules as names spell them, in the forms that builders, PyTorch's exporters and tracers write.
#include "sim/analysis/modules.h"

#include "tests/testing.h"

namespace stowplan::sim {
namespace {

struct Named {
  std::string name;
  std::string type = "MatMul";
  std::string phase = "forward";
  std::string colocate = "";
  std::string module = "";
};

OpGraph GraphOf(const std::vector<Named>& ops) {
  OpGraph graph;
  graph.name = "named";
  for (const Named& named : ops) {
    Op op;
    op.name = named.name;
    op.type = named.type;
    op.phase = named.phase;
    op.colocate = named.colocate;
    op.outputs.resize(1);
    if (named.type == "Variable") op.persistent_bytes = 4;
    if (!named.module.empty()) op.attributes = {{"module", Attribute{named.module}}};
    graph.ops.push_back(op);
  }
  graph.Finish();
  return graph;
}

std::vector<std::string> ModulesOf(const std::vector<Named>& ops) {
  const OpGraph graph = GraphOf(ops);
  const ModuleTree tree = MakeModuleTree(graph);
  std::vector<std::string> modules;
  for (const std::int32_t m : tree.module_of_op)
    modules.push_back(tree.modules[static_cast<std::size_t>(m)].path);
  return modules;
}

TEST(Modules, AreThePartsOfNamesButTheLast) {
  EXPECT_THAT(ModulesOf({{"/model/layers.0/q_proj/MatMul"},
                         {"model.layers.0.q_proj.weight", "Variable"},
                         {"tokens", "Placeholder"},
                         {"/model/layers.0/Add"}}),
              ElementsAre("model.layers.0.q_proj", "model.layers.0.q_proj", "", "model.layers.0"));
}

TEST(Modules, OfBackwardAndUpdateOpsAreThoseOfTheirForwardOps) {
  EXPECT_THAT(ModulesOf({{"layer0/dense/matmul"},
                         {"gradients/layer0/dense/matmul/input", "MatMul", "backward"},
                         {"updates/layer0/dense/weights", "ApplyAdam", "update"},
                         {"gradients/clip"}}),  // a module of that name, in the forward pass
              ElementsAre("layer0.dense", "layer0.dense", "layer0.dense", "gradients"));
}

TEST(Modules, AScopeThatIsAnOpIsOneOnlyWithVariables) {
  EXPECT_THAT(ModulesOf({{"a/norm"}, {"a/norm/gamma", "Variable"}, {"a/conv"}, {"a/conv/bias_add"}}),
              ElementsAre("a.norm", "a.norm", "a", "a"));
}

TEST(Modules, AttributesAndColocationGoFirst) {
  EXPECT_THAT(ModulesOf({{"aten_linear_3", "MatMul", "forward", "", "layers.1/mlp"},
                         {"x/w", "Variable", "forward", "set"},
                         {"y/apply", "ApplyAdam", "update", "set"}}),
              ElementsAre("layers.1.mlp", "x", "x"));
}

TEST(Modules, NoNameMakesATreeOfItsOwnDepth) {
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "a/";
  const OpGraph graph = GraphOf({{deep + "weight", "Variable"}, {deep + "matmul"}});
  const ModuleTree tree = MakeModuleTree(graph);
  EXPECT_LT(tree.modules.size(), 70U);
  EXPECT_EQ(tree.module_of_op[0], tree.module_of_op[1]);
}

TEST(Modules, TreeCountsAndCuts) {
  const OpGraph graph =
      GraphOf({{"net/a/x"}, {"net/a/y"}, {"net/b/0/x"}, {"net/b/1/x"}, {"net/sum"}, {"loss"}});
  const ModuleTree tree = MakeModuleTree(graph);
  const auto paths = [&](std::int64_t most_ops) {
    std::vector<std::string> found;
    for (const std::int32_t m : CoarsestModules(tree, most_ops))
      found.push_back(tree.modules[static_cast<std::size_t>(m)].path);
    return found;
  };
  EXPECT_EQ(tree.modules[0].ops, 6);
  EXPECT_EQ(tree.modules[static_cast<std::size_t>(tree.Find("net.b"))].ops, 2);
  EXPECT_EQ(tree.Find("net.c"), -1);
  EXPECT_THAT(paths(100), ElementsAre("net.a", "net.b"));  // net has more than half of all
  EXPECT_THAT(paths(1), ElementsAre("net.a", "net.b.0", "net.b.1"));
}

}  // namespace
}  // namespace stowplan::sim
