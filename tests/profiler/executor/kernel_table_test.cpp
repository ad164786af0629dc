// Kernels made for a graph, tried, and replaced: on an accelerator that is made up.
#include "profiler/executor/kernel_table.h"

#include "profiler/executor/memo.h"
#include "tests/profiler/executor/byte_mover.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using ::testing::Pair;

struct Made {
  std::string type;
  bool stand_in = false;
};

// Knows "Good", "Bad" (fails when it runs), "Sick" (a library refuses), "Huge" (no memory to try); "Gone" fails and takes
// the device with it.
class KernelTableTest : public ::testing::Test {
 protected:
  KernelTableTest() {
    making_.make = [this](const OpTensors& t) -> std::optional<Made> {
      ++made_;
      if (t.op().type == "Sick") throw Unavailable("the library has no such op");
      if (t.op().type == "Strange") return std::nullopt;
      return Made{t.op().type, false};
    };
    making_.make_stand_in = [](const OpTensors& t) { return Made{t.op().type, true}; };
    making_.run_once = [this](const OpTensors&, const Made& kernel) {
      if (lost_) throw RunError("the device is lost");
      if (kernel.type == "Huge" && !kernel.stand_in) throw NoMemory("too large");
      if (kernel.type == "Gone") lost_ = true;
      if ((kernel.type == "Bad" && !kernel.stand_in) || lost_) throw RunError("an illegal address");
    };
  }

  KernelTable<Made> MakeTable(const std::vector<std::string>& types) {
    sim::OpGraph graph;
    graph.name = "types";
    for (const std::string& type : types)
      graph.ops.push_back(testing::ByteMover("op" + std::to_string(graph.ops.size()), type, 64));
    graph.Finish();
    return MakeKernelTable(graph, making_);
  }

  KernelMaking<Made> making_;
  int made_ = 0;
  bool lost_ = false;
};

TEST_F(KernelTableTest, WhatFailsWhenItIsTriedHasAStandInWithTheReason) {
  const auto table = MakeTable({"Placeholder", "Good", "Bad", "Sick", "Strange", "Bad", "Huge"});
  EXPECT_EQ(table.kernels[0], nullptr);
  EXPECT_FALSE(table.kernels[1]->stand_in);
  EXPECT_TRUE(table.kernels[2]->stand_in);
  EXPECT_FALSE(table.kernels[6]->stand_in);  // could not be tried: nothing is said against it
  EXPECT_THAT(table.stand_ins, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(table.reasons, ElementsAre(Pair("Bad", "failed when it was tried: an illegal address"),
                                         Pair("Sick", "the library has no such op"),
                                         Pair("Strange", "no kernel for its type or shapes")));
}

TEST_F(KernelTableTest, OpsThatAreAlikeShareAKernel) {
  const auto table = MakeTable({"Good", "Good", "Good", "Other"});
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(table.kernels[0], table.kernels[2]);
  EXPECT_THAT(table.stand_ins, IsEmpty());
}

TEST_F(KernelTableTest, AStandInCanBeAskedFor) {
  making_.stand_in_types = {"Gone"};
  const auto table = MakeTable({"Good"});
  EXPECT_FALSE(table.kernels[0]->stand_in);
  making_.run_once = [](const OpTensors&, const Made&) {};
  const auto asked = MakeTable({"Gone", "Good"});
  EXPECT_TRUE(asked.kernels[0]->stand_in);
  EXPECT_THAT(asked.reasons, ElementsAre(Pair("Gone", "asked for")));
}

TEST_F(KernelTableTest, ALostDeviceIsSaidWithTheOpThatLostIt) {
  try {
    MakeTable({"Good", "Gone", "Good"});
    FAIL() << "the device was lost";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("op1 (Gone)"));
    EXPECT_THAT(error.what(), HasSubstr("an illegal address"));
    EXPECT_THAT(error.what(), HasSubstr("--stand-in Gone"));
  }
}

// Whatever a maker looks at must tell two ops apart.
TEST(KernelKeyTest, DiffersByShapeTypeAttributesAndStorage) {
  sim::OpGraph graph;
  graph.name = "keys";
  graph.ops = {testing::ByteMover("x", "Placeholder", 64), testing::ByteMover("y", "Placeholder", 64)};
  const auto add = [&graph](auto change) {
    sim::Op op = testing::ByteMover("op" + std::to_string(graph.ops.size()), "Op", 64);
    op.inputs = {{0, 0}, {1, 0}};
    change(op);
    graph.ops.push_back(std::move(op));
  };
  add([](sim::Op&) {});
  add([](sim::Op& op) { op.type = "Other"; });
  add([](sim::Op& op) { op.phase = "backward"; });
  add([](sim::Op& op) { op.attributes = {{"axis", {std::int64_t{1}}}}; });
  add([](sim::Op& op) { op.outputs[0].shape = {16}, op.outputs[0].dtype = "f32"; });
  add([](sim::Op& op) { op.outputs[0].bytes = 128; });
  add([](sim::Op& op) { op.flops = 5; });
  add([](sim::Op& op) { op.inputs.pop_back(); });
  for (const sim::OpIndex shared : {0, 1}) {
    add([shared](sim::Op& op) {
      op.outputs[0].storage = sim::Output::Storage::kInput;
      op.outputs[0].alias = {shared, 0};
    });
  }
  graph.Finish();
  std::set<std::string> keys;
  for (sim::OpIndex op = 2; op < graph.size(); ++op) keys.insert(KernelKey(OpTensors(graph, op)));
  EXPECT_EQ(keys.size(), graph.ops.size() - 2);
  EXPECT_EQ(KernelKey(OpTensors(graph, 0)), KernelKey(OpTensors(graph, 1)));
}

TEST(MemoTest, WhatCannotBeFoundIsLookedForOnce) {
  Memo<int, int> memo;
  int calls = 0;
  const auto find = [&](int key) {
    return memo.Get(key, [&] {
      ++calls;
      if (key < 0) throw Unavailable("negative");
      return key * key;
    });
  };
  EXPECT_EQ(find(3), 9);
  EXPECT_EQ(find(3), 9);
  EXPECT_THROW(find(-1), Unavailable);
  EXPECT_THROW(find(-1), Unavailable);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(memo.entries().at(-1).unavailable, "negative");
}

}  // namespace
}  // namespace stowplan::profiler
