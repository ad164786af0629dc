#include "agents/classical/unit_schedule.h"

#include "agents/agent.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

constexpr sim::Picos kMicro = sim::kPicosPerMicro;

// a (10 us) -> b (20), c (30) -> d (10) on two GPUs; copies take 10 us, those of c 40.
std::unique_ptr<Case> Diamond() {
  auto made = std::make_unique<Case>();
  made->Add("a", {10}, {}, 100'000);
  made->Add("b", {20}, {0}, 100'000);
  made->Add("c", {30}, {0}, 400'000);
  made->Add("d", {10}, {1, 2}, 0);
  made->UseGpus(2, /*cpu=*/false);
  for (sim::Link& link : made->cluster.links) link.latency = 0;
  made->Finish();
  return made;
}

TEST(UnitScheduleGraph, LevelsAreTheLongestPathsWithTheirTransfers) {
  const auto made = Diamond();
  const UnitScheduleGraph graph(MakeTask(*made->problem, ""));
  std::vector<sim::Picos> bottom, top;
  for (UnitIndex unit = 0; unit < 4; ++unit) {
    bottom.push_back(graph.Bottom(unit).length / kMicro);
    top.push_back(graph.Top(unit).length / kMicro);
  }
  EXPECT_THAT(bottom, ElementsAre(10 + 10 + 30 + 40 + 10, 20 + 10 + 10, 30 + 40 + 10, 10));
  EXPECT_THAT(top, ElementsAre(10, 10 + 10 + 20, 10 + 10 + 30, 10 + 10 + 30 + 40 + 10));
  EXPECT_EQ(graph.Bottom(0).next, 2);
  EXPECT_EQ(graph.Top(3).next, 2);
  EXPECT_EQ(graph.Bottom(3).next, -1);
  EXPECT_THAT(graph.by_bottom(), ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(graph.HeaviestInputOf(3), 2);
  EXPECT_EQ(graph.HeaviestInputOf(0), -1);
}

TEST(UnitSchedule, OffersWhatTheDevicesHave) {
  const auto made = Diamond();
  const UnitScheduleGraph graph(MakeTask(*made->problem, ""));
  UnitSchedule schedule(graph);
  const auto place = [&](UnitIndex unit, std::size_t slot) {
    schedule.Place(unit, slot, schedule.OffersFor(unit)[slot]);
  };
  EXPECT_THAT(schedule.Ready(9), ElementsAre(0));
  place(0, 1);
  EXPECT_THAT(schedule.Ready(9), ElementsAre(2, 1)) << "the longer bottom level first";
  EXPECT_THAT(schedule.Ready(1), ElementsAre(2));
  place(2, 1);
  EXPECT_EQ(schedule.makespan(), 40 * kMicro);
  place(1, 0);
  const auto offers = schedule.OffersFor(3);
  EXPECT_EQ(offers[0].work, 20 * kMicro);
  EXPECT_EQ(offers[1].work, 40 * kMicro);
  EXPECT_EQ(offers[0].input_work, 20 * kMicro);
  EXPECT_EQ(offers[0].first_start, 20 * kMicro) << "the copy of a's output";
  EXPECT_EQ(offers[0].last_end, 40 * kMicro);
  EXPECT_EQ(offers[1].first_start, 10 * kMicro);
  EXPECT_EQ(offers[0].start, (40 + 40) * kMicro) << "c's copy";
  EXPECT_EQ(offers[1].start, (40 + 10) * kMicro) << "b's copy";
  EXPECT_EQ(offers[1].end, 60 * kMicro);
  EXPECT_EQ(offers[0].input_part, 0.2);
  EXPECT_EQ(offers[0].heaviest, false);
  EXPECT_EQ(offers[1].heaviest, true);
  place(3, 1);
  EXPECT_THAT(schedule.Ready(9), IsEmpty());
  EXPECT_TRUE(schedule.done());
  EXPECT_EQ(schedule.makespan(), 60 * kMicro);
}

// By units: the two ops of a colocation set are one, whose way back counts where it begins.
TEST(UnitSchedule, FoldsAWayBack) {
  Case c;
  c.Add("forward", {10}, {}, 100'000).colocate = "layer";
  c.Add("loss", {20}, {0}, 200'000);
  c.Add("backward", {30}, {1}, 0).colocate = "layer";
  c.UseGpus(2, false);
  for (sim::Link& link : c.cluster.links) link.latency = 0;
  const UnitScheduleGraph graph(MakeTask(c.Finish(), ""));
  ASSERT_EQ(graph.units(), 2);
  EXPECT_EQ(graph.MeanLength(0), 40 * kMicro);
  ASSERT_EQ(graph.InputsOf(1).size(), 1u);
  EXPECT_EQ(graph.InputsOf(1)[0].bytes, 300'000);
  EXPECT_EQ(graph.Bottom(0).length, (40 + 30 + 20) * kMicro);
}

// c goes on at once where a is, b would end earlier on the other device, d ends first where c is.
TEST(CriticalPath, PlacesTheLongestPathFirst) {
  const auto made = Diamond();
  const Task task = MakeTask(*made->problem, "");
  EXPECT_THAT(Record("critical_path", task, 5), ElementsAre(ElementsAre(0, 1, 0, 0)));
}

// Where devices are unequal it ends first, not starts first.
TEST(CriticalPath, PrefersTheFasterDevice) {
  Case c;
  c.Add("a", {100, 10}, {}, 0);
  c.UseGpus(1);
  EXPECT_THAT(Record("critical_path", MakeTask(c.Finish(), ""), 5), ElementsAre(ElementsAre(1)));
}

}  // namespace
}  // namespace stowplan::agents
