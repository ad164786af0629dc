#include "problem/explain/scope_tree.h"

#include "tests/testing.h"

namespace stowplan::problem {
namespace {

// Ops that read one another in the order of their names.
sim::OpGraph ChainOf(const std::vector<std::string>& names) {
  sim::OpGraph graph;
  for (const std::string& name : names) {
    sim::Op op;
    op.name = name;
    op.type = "Op";
    op.outputs = {{.bytes = 1}};
    if (!graph.ops.empty()) op.inputs = {{static_cast<sim::OpIndex>(graph.ops.size()) - 1, 0}};
    graph.ops.push_back(op);
  }
  graph.Finish();
  return graph;
}

std::vector<std::string> LabelsIn(const ScopeTree& tree, std::int32_t node) {
  std::vector<std::string> labels;
  for (const std::int32_t child : tree.nodes[static_cast<std::size_t>(node)].children)
    labels.push_back(tree.nodes[static_cast<std::size_t>(child)].label);
  return labels;
}

using Labels = std::vector<std::string>;

TEST(ScopeTree, ScopesOfNames) {
  const ScopeTree tree = MakeScopeTree(ChainOf({"a/x", "a/y", "b", "a/z", "c/d/e", "c/d/f"}), 100);
  EXPECT_EQ(LabelsIn(tree, 0), (Labels{"a", "b", "c/d"}));  // c holds nothing but d
  EXPECT_EQ(LabelsIn(tree, 1), (Labels{"x", "y", "z"}));
  EXPECT_EQ(tree.nodes[0].ops, 6);
  EXPECT_EQ(tree.nodes[1].ops, 3);
  EXPECT_EQ(tree.nodes[1].op, -1);
  EXPECT_EQ(tree.nodes[2].op, 2);  // b
  EXPECT_EQ(tree.node_of_op[2], 2);
}

// A name can be an op and a scope at once, and an op alone in its scope takes the scope's place.
TEST(ScopeTree, AnOpBesideItsScope) {
  const ScopeTree tree = MakeScopeTree(ChainOf({"conv", "conv/weights", "head/only"}), 100);
  EXPECT_EQ(LabelsIn(tree, 0), (Labels{"conv", "conv/weights", "head/only"}));
  std::set<std::int32_t> leaves(tree.node_of_op.begin(), tree.node_of_op.end());
  EXPECT_EQ(leaves.size(), 3u);
}

TEST(ScopeTree, DotsWhereThereIsNoSlashAndNoEmptyParts) {
  EXPECT_EQ(LabelsIn(MakeScopeTree(ChainOf({"layer1.conv", "layer1.relu", "fc"}), 100), 0),
            (Labels{"layer1", "fc"}));
  EXPECT_EQ(LabelsIn(MakeScopeTree(ChainOf({"/a/x.0", "/a/x.1", "/b"}), 100), 0), (Labels{"a", "b"}));
}

// 1000 ops without scopes: 25 groups of 40 neighbours, which no name shows.
TEST(ScopeTree, FlatNamesAreGroupedInOrder) {
  Labels names;
  for (int i = 0; i < 1000; ++i) names.push_back("op_" + std::to_string(i));
  const ScopeTree tree = MakeScopeTree(ChainOf(names), 10'000);
  ASSERT_EQ(tree.nodes[0].children.size(), 25u);
  const ScopeNode& first = tree.nodes[1];
  EXPECT_EQ(first.label, "op_0 to op_39");
  EXPECT_TRUE(first.made_up);
  EXPECT_EQ(first.ops, 40);
  names.clear();
  for (int i = 0; i < 10'000; ++i) names.push_back("op_" + std::to_string(i));
  const ScopeTree large = MakeScopeTree(ChainOf(names), 100'000);
  for (const ScopeNode& node : large.nodes) EXPECT_LE(node.children.size(), kMostChildren);
  EXPECT_EQ(large.nodes[1].label, "op_0 to op_1599");
}

TEST(ScopeTree, SmallScopesStayClosedWhereThereAreTooManyNodes) {
  Labels names;
  for (int i = 0; i < 50; ++i) names.push_back("large/op" + std::to_string(i));
  for (int i = 0; i < 20; ++i) names.push_back("small/op" + std::to_string(i));
  const ScopeTree tree = MakeScopeTree(ChainOf(names), 60);
  ASSERT_EQ(tree.nodes.size(), 1u + 2u + 50u);
  EXPECT_EQ(tree.nodes[2].label, "small");
  EXPECT_TRUE(tree.nodes[2].children.empty());
  EXPECT_EQ(tree.nodes[2].op, -1);
  EXPECT_EQ(tree.node_of_op[60], 2);
}

TEST(ScopeTree, ParentsStandBeforeTheirChildren) {
  Labels names;
  for (int i = 0; i < 700; ++i)
    names.push_back("s" + std::to_string(i % 9) + "/t" + std::to_string(i % 70) + "/op" + std::to_string(i));
  const ScopeTree tree = MakeScopeTree(ChainOf(names), 10'000);
  for (std::size_t n = 1; n < tree.nodes.size(); ++n)
    EXPECT_LT(tree.nodes[n].parent, static_cast<std::int32_t>(n));
  EXPECT_EQ(
      std::count_if(tree.nodes.begin(), tree.nodes.end(), [](const ScopeNode& node) { return node.op >= 0; }),
      700);
}

TEST(ScopeTree, DepthIsTheLongestChain) {
  sim::OpGraph graph = ChainOf({"a", "b", "c"});
  sim::OpGraph wide;
  wide.ops = graph.ops;
  wide.ops[2].inputs = {{0, 0}};
  wide.ops[2].control = {1};
  wide.Finish();
  EXPECT_EQ(DepthOfOps(wide), (std::vector<std::int32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace stowplan::problem
