#include "profiler/cpu/cache_residence.h"

#include "profiler/cpu/pace.h"
#include "profiler/host_machine.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

// Sizes are shares of the cache of the machine that the test runs on.
sim::Bytes Cache(double share) {
  return static_cast<sim::Bytes>(share * static_cast<double>(CacheBytes()));
}

sim::OpIndex Add(sim::OpGraph& graph, const std::string& type, sim::Bytes bytes,
                 std::vector<sim::OpIndex> inputs) {
  sim::Op op;
  op.name = "op" + std::to_string(graph.ops.size());
  op.type = type;
  op.outputs.emplace_back();
  op.outputs.back().bytes = bytes;
  for (const sim::OpIndex input : inputs) op.inputs.push_back({input, 0});
  graph.ops.push_back(std::move(op));
  return static_cast<sim::OpIndex>(graph.ops.size()) - 1;
}

std::vector<CacheResidence> Find(sim::OpGraph& graph, std::vector<std::int32_t> set_of) {
  graph.name = "graph";
  graph.Finish();
  set_of.resize(graph.ops.size(), -1);
  return FindCacheResidence(graph, set_of);
}

TEST(CacheResidenceTest, AResultIsCachedUntilTheCacheIsFull) {
  for (const double between : {0.5, 0.9}) {
    sim::OpGraph graph;
    const auto first = Add(graph, "A", Cache(0.1), {});
    const auto second = Add(graph, "B", Cache(between), {first});
    const auto last = Add(graph, "C", 64, {first, second});
    const auto cached = Find(graph, {});
    EXPECT_THAT(cached[static_cast<std::size_t>(second)].inputs, ElementsAre(true));
    EXPECT_THAT(cached[static_cast<std::size_t>(last)].inputs, ElementsAre(between < 0.6, between < 0.6));
  }
}

// What is read again and again does not push anything out: it counts once.
TEST(CacheResidenceTest, OnlyWhatDiffersFillsTheCache) {
  sim::OpGraph graph;
  const auto first = Add(graph, "A", Cache(0.1), {});
  const auto wide = Add(graph, "B", Cache(0.3), {first});
  sim::OpIndex last = wide;
  for (int i = 0; i < 10; ++i) last = Add(graph, "C", 64, {wide, last});
  const auto end = Add(graph, "D", 64, {first, last});
  EXPECT_THAT(Find(graph, {})[static_cast<std::size_t>(end)].inputs, ElementsAre(true, true));
}

// What was written a step ago is far where a step fills the cache, cached where all of it fits.
TEST(CacheResidenceTest, AVariableIsCachedWhereTheStepFits) {
  for (const double wide : {0.3, 2.0}) {
    sim::OpGraph graph;
    const auto variable = Add(graph, "Variable", Cache(0.1), {});
    graph.ops[0].outputs[0].storage = sim::Output::Storage::kPersistent;
    const auto read = Add(graph, "A", 64, {variable});
    Add(graph, "B", Cache(wide), {read});
    EXPECT_THAT(Find(graph, {})[static_cast<std::size_t>(read)].inputs, ElementsAre(wide < 0.5));
  }
}

// A block that was given back is given out again, still warm; one that others hold is not.
TEST(CacheResidenceTest, OutputsAreCachedWhereTheirBlockWasJustTouched) {
  sim::OpGraph graph;
  sim::OpIndex last = Add(graph, "A", Cache(0.3), {});
  for (int i = 0; i < 6; ++i) last = Add(graph, "A", Cache(0.3), {last});
  for (const CacheResidence& cached : Find(graph, {})) EXPECT_THAT(cached.outputs, ElementsAre(true));

  sim::OpGraph held;
  std::vector<sim::OpIndex> all = {Add(held, "A", Cache(0.3), {})};
  for (int i = 0; i < 6; ++i) all.push_back(Add(held, "A", Cache(0.3), {all.back()}));
  Add(held, "B", 64, all);
  const auto cached = Find(held, {});
  // The first two are given what the end of the step before has just read.
  for (std::size_t i = 2; i < 6; ++i) EXPECT_THAT(cached[i].outputs, ElementsAre(false)) << i;
}

TEST(CacheResidenceTest, CodeIsCachedWhereAnOpOfTheSetRanJustBefore) {
  sim::OpGraph graph;
  const auto a = Add(graph, "A", 64, {});
  const auto b = Add(graph, "A", Cache(2), {a});
  Add(graph, "A", 64, {b});
  const auto cached = Find(graph, {0, 0, 0});
  EXPECT_TRUE(cached[1].code);
  EXPECT_FALSE(cached[2].code);
}

TEST(PaceTest, HoldsWithinAThird) {
  const Pace pace{.ns = 900};
  for (const std::int64_t ns : {600, 900, 1200}) EXPECT_TRUE(pace.Holds(ns)) << ns;
  for (const std::int64_t ns : {599, 1201, 2000}) EXPECT_FALSE(pace.Holds(ns)) << ns;
  EXPECT_TRUE(Pace{}.Holds(5));
}

TEST(PaceTest, QuietIsHowMuchOfTheWorkAtThatPaceGetsDone) {
  const CoresByDevice cores = {{AvailableCores().front()}};
  EXPECT_LT(QuietShare(cores, {.ns = 1}, 20), 0.1);  // thousands of ns in truth
  EXPECT_EQ(QuietShare(cores, {.ns = 1'000'000'000}, 20), 1);
}

}  // namespace
}  // namespace stowplan::profiler
