#include "cli/validate/placements.h"

#include "cli/validate/recording.h"
#include "cost_models/cost_models.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

sim::Cluster TwoCpus() {
  return formats::ParseCluster(
      "{format: stowplan.cluster, version: 1, name: two, devices: [{name: a, kind: cpu, memory: 8GiB},"
      " {name: b, kind: cpu, memory: 8GiB}], links: [{name: l, ends: [a, b], bandwidth: 1GB/s}]}",
      "two", cost_models::BuiltinCatalogue());
}

TEST(ChoosePlacementsTest, AreLegalDifferentAndOfEveryFamily) {
  const sim::OpGraph graph = LoadMeasuredGraph("rnnlm(batch=2,hidden=8,steps=3,vocabulary=20)");
  const sim::Cluster cluster = TwoCpus();
  const auto model = cost_models::MakeCostModel("constant(us=10)");
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, *model));
  const std::vector<profiler::FamilyPlacement> chosen = ChoosePlacements(problem, 21, 7);
  ASSERT_THAT(chosen, SizeIs(21));
  std::map<std::string, int> families;
  std::set<std::vector<sim::DeviceIndex>> different;
  for (const profiler::FamilyPlacement& choice : chosen) {
    ++families[choice.family];
    different.insert(choice.placement.device);
    EXPECT_NO_THROW(sim::CheckPlacement(graph, cluster, choice.placement));
  }
  EXPECT_THAT(different, SizeIs(21));
  EXPECT_THAT(families, SizeIs(5));
  const auto again = ChoosePlacements(problem, 21, 7);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    EXPECT_EQ(again[i].placement.device, chosen[i].placement.device);
}

TEST(ChoosePlacementsTest, AGraphOfOneOpHasTwo) {
  const sim::OpGraph graph = LoadMeasuredGraph("chain(ops=1)");
  const sim::Cluster cluster = TwoCpus();
  const auto model = cost_models::MakeCostModel("constant(us=10)");
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, *model));
  EXPECT_THAT(ChoosePlacements(problem, 30, 1), SizeIs(2));
}

}  // namespace
}  // namespace stowplan::cli
