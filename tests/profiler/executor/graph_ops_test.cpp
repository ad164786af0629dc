// The ops of a graph, each alone.
#include "profiler/executor/graph_ops.h"

#include "profiler/executor/block_pool.h"
#include "tests/profiler/executor/byte_mover.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

// Two updates of one variable's kind by equal gradients, a join that reads one tensor twice, and a view.
sim::OpGraph Training() {
  sim::OpGraph graph;
  graph.name = "training";
  const auto add = [&graph](const std::string& type, std::vector<sim::TensorRef> inputs) -> sim::Op& {
    graph.ops.push_back(testing::ByteMover("op" + std::to_string(graph.ops.size()), type, 64));
    graph.ops.back().inputs = std::move(inputs);
    graph.ops.back().colocate = "all";
    graph.ops.back().cost_us = 5;
    return graph.ops.back();
  };
  for (int i = 0; i < 2; ++i) {
    sim::Op& variable = add("Variable", {});
    variable.persistent_bytes = 192;
    variable.outputs[0].storage = sim::Output::Storage::kPersistent;
  }
  add("Join", {{0, 0}, {1, 0}, {0, 0}});
  sim::Op& view = add("Reshape", {{2, 0}});
  view.outputs[0].storage = sim::Output::Storage::kInput;
  view.outputs[0].alias = {2, 0};
  for (const sim::OpIndex variable : {0, 1}) {
    sim::Op& update = add("ApplyAdam", {{variable, 0}, {3, 0}});
    update.control = {2};
    update.outputs[0].storage = sim::Output::Storage::kInput;
    update.outputs[0].alias = {variable, 0};
  }
  graph.Finish();
  return graph;
}

TEST(LoneOp, StandsBehindSourcesForWhatItReads) {
  const sim::OpGraph lone = LoneOp(Training(), 4);
  ASSERT_EQ(lone.size(), 3);
  EXPECT_EQ(lone.ops[0].type, "Variable");
  EXPECT_EQ(lone.ops[0].persistent_bytes, 192);
  EXPECT_EQ(lone.ops[1].type, "Placeholder");
  EXPECT_EQ(lone.ops[1].outputs[0].storage, sim::Output::Storage::kOwn);
  const sim::Op& update = lone.ops[2];
  EXPECT_THAT(update.inputs, ElementsAre(sim::TensorRef{0, 0}, sim::TensorRef{1, 0}));
  EXPECT_EQ(update.outputs[0].alias, (sim::TensorRef{0, 0}));
  EXPECT_THAT(update.control, IsEmpty());
  EXPECT_EQ(update.colocate, "");
  EXPECT_FALSE(update.cost_us);
}

TEST(LoneOp, ReadsATensorTwiceFromOnePlace) {
  const sim::OpGraph lone = LoneOp(Training(), 2);
  EXPECT_THAT(lone.ops.back().inputs,
              ElementsAre(sim::TensorRef{0, 0}, sim::TensorRef{1, 0}, sim::TensorRef{0, 0}));
}

TEST(MeasureOpsOf, HasARowForEachKernelWithTheGraphThatMakesIt) {
  const sim::OpGraph graph = Training();
  int measured = 0;
  const sim::Attribute result = MeasureOpsOf(graph, {}, [&](const sim::OpGraph& lone, sim::Attributes* row) {
    ++measured;
    if (lone.ops.back().type == "Join") throw NoMemory("it is too large");
    row->emplace_back("hot", sim::Attribute{std::string("measured")});
  });
  const auto& rows = std::get<sim::Attribute::List>(
      sim::FindAttribute(std::get<sim::Attributes>(result.value), "rows")->value);
  ASSERT_EQ(rows.size(), 2u);  // neither sources nor the view
  const auto& join = std::get<sim::Attributes>(rows[0].value);
  const auto& update = std::get<sim::Attributes>(rows[1].value);
  EXPECT_EQ(sim::FindString(join, "unavailable"), "it is too large");
  EXPECT_EQ(sim::FindString(update, "op"), "ApplyAdam");
  EXPECT_EQ(sim::FindNumber(update, "count"), 2);
  EXPECT_EQ(sim::FindString(update, "workload"), "training");
  EXPECT_EQ(measured, 2);
}

TEST(MeasureOpsOf, RefusesRowsOfAnotherGraph) {
  sim::Attribute::List rows = {{sim::Attributes{{"op", {std::string("Join")}}}}};
  EXPECT_THROW(MeasureOpsOf(Training(), {.rows = &rows}, [](const auto&, auto*) {}), InputError);
}

}  // namespace
}  // namespace stowplan::profiler
