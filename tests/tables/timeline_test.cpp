#include "tables/timeline.h"

#include "tests/testing.h"

namespace stowplan::tables {
namespace {

// One op on gpu0 during the first half, one on gpu1 during the last quarter, a transfer between them.
std::string TwoLanes(const std::vector<std::string>& names = {"gpu0", "gpu1"}) {
  sim::Cluster cluster;
  for (const std::string& name : names) {
    cluster.devices.emplace_back();
    cluster.devices.back().name = name;
  }
  sim::Outcome outcome;
  outcome.runtime = 1200;
  outcome.ops = {{0, 0, 600}, {0, 900, 1200}};
  sim::TransferTimes transfer;
  transfer.start = 600;
  transfer.end = 905;
  outcome.transfers = {transfer};
  sim::Placement placement;
  placement.device = {0, 1};
  return KeepTimeline(outcome, placement, cluster);
}

double Sum(const std::array<double, kTimelineParts>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

TEST(Timeline, LanesSayWhenDevicesWorkAndSend) {
  const std::vector<TimelineLane> lanes = ReadTimeline(TwoLanes(), "here");
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0].device, "gpu0");
  EXPECT_EQ(Sum(lanes[0].works), 60);
  EXPECT_EQ(lanes[0].works[59], 1);
  EXPECT_EQ(lanes[0].works[60], 0);
  EXPECT_EQ(Sum(lanes[1].works), 30);
  EXPECT_EQ(Sum(lanes[1].sends), 0);
  EXPECT_EQ(lanes[0].sends[89], 1);
  EXPECT_GT(lanes[0].sends[90], 0.5);  // half of this slice
  EXPECT_LT(lanes[0].sends[90], 0.6);
  EXPECT_EQ(lanes[0].sends[91], 0);
}

TEST(Timeline, DevicesMayHaveAnyName) {
  const std::vector<std::string> names = {"a GPU: the first", ":0:1 "};
  const std::vector<TimelineLane> lanes = ReadTimeline(TwoLanes(names), "here");
  const std::vector<TimelineLane> plain = ReadTimeline(TwoLanes(), "here");
  ASSERT_EQ(lanes.size(), 2u);
  for (std::size_t d = 0; d < 2; ++d) {
    EXPECT_EQ(lanes[d].device, names[d]);
    EXPECT_EQ(lanes[d].works, plain[d].works);
    EXPECT_EQ(lanes[d].sends, plain[d].sends);
  }
}

TEST(Timeline, RefusesAnotherText) {
  EXPECT_TRUE(ReadTimeline("", "here").empty());
  std::string text = TwoLanes();
  for (const std::string& broken :
       {text.substr(1 + text.find(':')), text + "0", text + " gpu2", std::string("gpu0")})
    EXPECT_THROW(ReadTimeline(broken, "here"), InputError) << broken;
  text[text.find(':') + 1] = 'x';  // or it would be the name of a device
  EXPECT_THROW(ReadTimeline(text, "here"), InputError);
}

}  // namespace
}  // namespace stowplan::tables
