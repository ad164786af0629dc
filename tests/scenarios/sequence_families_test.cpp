// The families ptb and nmt_family: 32 different members each, every one a graph that trains and fits.
#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "scenarios/workloads/families.h"
#include "tests/scenarios/graph_checks.h"
#include "tests/scenarios/serial_memory.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

constexpr double kSmallestCard = 11.68;  // usable on a K40 or a die of a K80, GB (docs/protocol.md#memory)

double Number(const sim::OpGraph& graph, const std::string& key) {
  return sim::FindNumber(graph.attributes, key).value();
}

TEST(NmtFamilyTest, MembersAreDifferentLengthsAndBatchesThatFit) {
  std::set<std::pair<double, double>> seen;
  for (int index = 0; index < kFamilySize; ++index) {
    const sim::OpGraph graph = LoadGraph("nmt_family(index=" + std::to_string(index) + ")");
    const double steps = Number(graph, "steps"), batch = Number(graph, "batch");
    EXPECT_TRUE(steps >= 10 && steps <= 50 && std::fmod(steps, 5) == 0) << steps;
    EXPECT_THAT(batch, ::testing::AnyOf(32, 64, 128, 256));
    seen.insert({steps, batch});
    // On one card, so on every cluster that the family is placed on.
    EXPECT_LT(static_cast<double>(SerialPeak(graph).peak) / 1e9, 0.95 * kSmallestCard) << index;
    EXPECT_EQ(sim::FindString(graph.attributes, "half"), ToString(HalfOf("nmt_family", index)));
  }
  EXPECT_EQ(seen.size(), 32u);
}

// A member is the nmt of its numbers.
TEST(NmtFamilyTest, MemberIsNmt) {
  const sim::OpGraph member = LoadGraph("nmt_family(index=7)");
  const auto text = [&](const char* key) {
    return std::to_string(static_cast<std::int64_t>(Number(member, key)));
  };
  const sim::OpGraph nmt =
      LoadGraph("nmt(hidden=512,vocabulary=30000,steps=" + text("steps") + ",batch=" + text("batch") + ")");
  ASSERT_EQ(member.size(), nmt.size());
  EXPECT_EQ(member.totals().flops, nmt.totals().flops);
  EXPECT_EQ(member.totals().output_bytes, nmt.totals().output_bytes);
}

// Results name members by index, so what an index stands for may never change.
TEST(NmtFamilyTest, FirstMembersArePinned) {
  std::vector<std::pair<double, double>> members;
  for (const char* name : {"nmt_family(index=0)", "nmt_family(index=1)", "nmt_family(index=2)"}) {
    const sim::OpGraph graph = LoadGraph(name);
    members.emplace_back(Number(graph, "steps"), Number(graph, "batch"));
  }
  EXPECT_THAT(members,
              ::testing::ElementsAre(std::pair(25.0, 64.0), std::pair(10.0, 128.0), std::pair(25.0, 256.0)));
}

// Weights: table V n, first node 4 n^2, each other 2 n^2. Multiply-adds: the nodes' and the table's for each word.
TEST(PtbTest, MembersShareSizesAndDifferInTheirCells) {
  constexpr std::int64_t n = 720, v = 10'000, nodes = 4 * n * n + 11 * 2 * n * n;
  std::set<std::string> cells;
  for (int index = 0; index < kFamilySize; ++index) {
    const sim::OpGraph graph = LoadGraph("ptb(index=" + std::to_string(index) + ")");
    EXPECT_EQ(graph.totals().parameters, v * n + nodes);
    EXPECT_EQ(ForwardMultiplyAdds(graph), 35.0 * 20 * static_cast<double>(v * n + nodes));
    cells.insert(sim::FindString(graph.attributes, "cell").value());
    EXPECT_EQ(sim::FindString(graph.attributes, "half"), ToString(HalfOf("ptb", index)));
    EXPECT_LT(static_cast<double>(SerialPeak(graph).peak) / 1e9, 0.95 * kSmallestCard) << index;
  }
  EXPECT_EQ(cells.size(), 32u);
}

TEST(PtbTest, MembersTrain) {
  for (int index = 0; index < kFamilySize; ++index) {
    const sim::OpGraph graph =
        LoadGraph("ptb(steps=3,hidden=16,vocabulary=50,index=" + std::to_string(index) + ")");
    EXPECT_EQ(FaultInShapes(graph), "") << index;
    EXPECT_EQ(FaultInPlace(graph), "") << index;
    EXPECT_EQ(FaultInTraining(graph), "") << index;
  }
}

TEST(PtbTest, FirstCellIsPinned) {
  EXPECT_EQ(sim::FindString(LoadGraph("ptb").attributes, "cell"),
            "2 0 2 0 3 0 0 3 0 0 0 0 3 5 2 1 0 4 3 0 3 3 1");
}

}  // namespace
}  // namespace stowplan::scenarios
