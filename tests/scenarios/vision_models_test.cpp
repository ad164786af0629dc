// NASNet-A for CIFAR-10, AmoebaNet-D, WaveNet and the family cifar10: weights, multiply-adds, op counts, sums
// of outputs and live peaks against counts by hand.
#include "scenarios/builder/graph_builder.h"
#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "scenarios/workloads/families.h"
#include "tests/scenarios/graph_checks.h"
#include "tests/scenarios/serial_memory.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

double Gigabytes(sim::Bytes bytes) {
  return static_cast<double>(bytes) / 1e9;
}

TEST(VisionModelsTest, DilationsDoubleInAStackAndStartAgain) {
  std::vector<std::int64_t> dilations;
  for (const sim::Op& op : LoadGraph("wavenet(stacks=2,depth=3,samples=20)").ops) {
    if (op.type != "Conv2D" || op.phase != "forward" || !op.name.ends_with("/filter")) continue;
    const sim::Attribute* found = sim::FindAttribute(op.attributes, "dilations");
    dilations.push_back(
        found == nullptr ? 1 : std::get<std::int64_t>(std::get<sim::Attribute::List>(found->value)[1].value));
  }
  EXPECT_THAT(dilations, ::testing::ElementsAre(1, 2, 4, 1, 2, 4));
}

// ---- cifar10

TEST(Cifar10Test, MembersAreSoundDifferentAndSaySo) {
  std::set<std::string> arcs;
  int train = 0;
  for (int index = 0; index < kFamilySize; ++index) {
    const std::string name = "cifar10(index=" + std::to_string(index);
    const sim::OpGraph small = LoadGraph(name + ",layers=3)");
    EXPECT_EQ(FaultInShapes(small), "") << name;
    EXPECT_EQ(FaultInPlace(small), "") << name;
    EXPECT_EQ(FaultInTraining(small), "") << name;
    const sim::OpGraph graph = LoadGraph(name + ")");
    arcs.insert(*sim::FindString(graph.attributes, "normal_cell") + "," +
                *sim::FindString(graph.attributes, "reduction_cell"));
    EXPECT_EQ(sim::FindString(graph.attributes, "half"), ToString(HalfOf("cifar10", index)));
    train += HalfOf("cifar10", index) == Half::kTrain ? 1 : 0;
    // Every member fits one die of a K80 or one K40 (11.68 GB), as the generator owes
    // (docs/protocol_rules.md#families).
    EXPECT_LT(Gigabytes(SerialPeak(graph).peak), 0.95 * 11.68) << name;
  }
  EXPECT_EQ(arcs.size(), 32u);
  EXPECT_EQ(train, 16);
}

// Results name members by index, so what an index stands for may never change.
TEST(Cifar10Test, TheFirstMemberIsPinned) {
  const sim::OpGraph graph = LoadGraph("cifar10");
  EXPECT_EQ(sim::FindString(graph.attributes, "normal_cell"), "0 0 0 2 0 3 1 4 2 2 2 1 0 0 0 1 2 0 2 2");
  EXPECT_EQ(graph.totals().parameters, 412'550);
}

TEST(Cifar10Test, RefusesIndicesOutsideTheFamily) {
  EXPECT_THROW(LoadGraph("cifar10(index=32)"), InputError);
  EXPECT_THROW(LoadGraph("cifar10(index=-1)"), InputError);
  EXPECT_THROW(LoadGraph("cifar10(layers=7)"), InputError);
  EXPECT_THROW(LoadGraph("amoebanet_d(cells=4)"), InputError);
  EXPECT_THROW(LoadGraph("amoebanet_d(filters=200)"), InputError);
  EXPECT_THROW(LoadGraph("nasnet_a(size=tiny)"), InputError);
  EXPECT_THROW(LoadGraph("wavenet(input=mp3)"), InputError);
}

// ---- options

class TrainingTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainingTest, EveryVariableIsUpdatedAndKeepsTheSlotsOfItsOptimizer) {
  EXPECT_EQ(FaultInTraining(LoadGraph(GetParam() + ")")), "");
  for (const auto& [name, optimizer] : {std::pair("sgd", Optimizer::kSgd),
                                        {"momentum", Optimizer::kMomentum},
                                        {"adam", Optimizer::kAdam},
                                        {"rmsprop", Optimizer::kRmsProp}}) {
    const std::string with = GetParam() + ",optimizer=" + name;
    const sim::OpGraph graph = LoadGraph(with + ")");
    const sim::OpGraph::Totals totals = graph.totals();
    EXPECT_EQ(totals.persistent_bytes, 4 * totals.parameters * (1 + Slots(optimizer))) << with;
    const sim::OpGraph inference = LoadGraph(with + ",mode=inference)");
    EXPECT_EQ(inference.totals().persistent_bytes, 4 * totals.parameters) << with;
    EXPECT_EQ(ForwardMultiplyAdds(inference), ForwardMultiplyAdds(graph)) << with;
  }
}

INSTANTIATE_TEST_SUITE_P(VisionModels, TrainingTest,
                         ::testing::Values("nasnet_a(batch=2,size=cifar",
                                           "amoebanet_d(batch=2,cells=3,filters=16,image=32",
                                           "wavenet(batch=2,samples=40",
                                           "cifar10(batch=2,layers=3,index=31"));

}  // namespace
}  // namespace stowplan::scenarios
