// What a problem that is loaded makes of its graph's times.
#include "problem/loaded_problem.h"

#include "tests/testing.h"

namespace stowplan::problem {
namespace {

// A time measured on an H100 is that there, and moves to an A100 by the data sheets: 3.35 and 2.04 TB/s or so, so by more than
// 1.2 and less than 2.
TEST(LoadedProblem, TimesOfAnotherKindMove) {
  sim::OpGraph graph;
  graph.name = "one";
  graph.ops.resize(2);
  graph.ops[0].name = "x";
  graph.ops[0].type = "Placeholder";
  graph.ops[1].name = "y";
  graph.ops[1].type = "Relu";
  graph.ops[1].inputs = {{0, 0}};
  for (sim::Op& op : graph.ops) {
    op.outputs.resize(1);
    op.outputs[0] = {.bytes = 4 << 28, .dtype = "f32", .shape = {1 << 28}, .alias = {}};
  }
  graph.ops[1].cost_us_by_kind = {{"h100", 777}};
  graph.Finish();
  const auto us_on = [&](const std::string& cluster, const std::string& kind, sim::Tier* tier) {
    const LoadedProblem loaded(graph, {.graph = "one", .cluster = cluster});
    const auto& devices = loaded.cluster().devices;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (devices[d].kind != kind) continue;
      const auto device = static_cast<sim::DeviceIndex>(d);
      *tier = loaded.problem().costs().TierAt(1, device);
      return sim::ToMicros(loaded.problem().costs().at(1, device));
    }
    return -1.0;
  };
  sim::Tier tier{};
  EXPECT_EQ(us_on("h100(gpus=2)", "h100", &tier), 777);
  EXPECT_EQ(tier, sim::Tier::kMeasured);
  const double there = us_on("a100(gpus=2)", "a100", &tier);
  EXPECT_GT(there, 1.2 * 777);
  EXPECT_LT(there, 2 * 777);
  EXPECT_NE(tier, sim::Tier::kMeasured);
}

}  // namespace
}  // namespace stowplan::problem
