#include "agents/rl/unit_blocks.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/agents/rl/test_task.h"

namespace berth::agents::rl {
namespace {

using Blocks = std::vector<std::int64_t>;

Blocks BlocksIn(const TestTask& made, std::int64_t blocks) {
  return BlocksOf(made.task, GraphOf(made.task), blocks);
}

TEST(UnitBlocks, FewUnitsAreBlocksOfTheirOwnInOrder) {
  // Op 2 is a source, so it comes before op 1.
  const auto made = MakeTestTask({{10, 8, {}}, {10, 8, {0}}, {10, 8, {}}});
  EXPECT_EQ(BlocksIn(*made, 3), (Blocks{0, 2, 1}));
  EXPECT_EQ(BlocksIn(*made, 64), (Blocks{0, 2, 1}));
}

TEST(UnitBlocks, ChainsFallIntoContiguousPiecesOfEqualWork) {
  std::vector<TestOp> ops;
  for (int i = 0; i < 16; ++i)
    ops.push_back({10, 1000, i < 2 ? std::vector<int>{} : std::vector<int>{i - 2}});
  const Blocks blocks = BlocksIn(*MakeTestTask(ops), 4);
  for (int chain = 0; chain < 2; ++chain) {
    for (std::size_t i = 2; i < 16; i += 2) {
      const std::size_t op = i + static_cast<std::size_t>(chain);
      EXPECT_GE(blocks[op], blocks[op - 2]) << op;
    }
  }
  for (std::int64_t block = 0; block < 4; ++block) {
    EXPECT_GE(std::count(blocks.begin(), blocks.end(), block), 2);
    EXPECT_LE(std::count(blocks.begin(), blocks.end(), block), 6);
  }
}

TEST(UnitBlocks, HeavyEdgesStayInside) {
  // Pairs (0,1), (2,3), (4,5) exchange much, the pairs among themselves little.
  const auto made = MakeTestTask({{10, 1'000'000, {}},
                                  {10, 8, {0}},
                                  {10, 1'000'000, {1}},
                                  {10, 8, {2}},
                                  {10, 1'000'000, {3}},
                                  {10, 8, {4}}});
  EXPECT_EQ(BlocksIn(*made, 3), (Blocks{0, 0, 1, 1, 2, 2}));
}

// A source that all read must not swallow them.
TEST(UnitBlocks, NoBlockIsMuchLargerThanAnEqualPart) {
  const auto made = MakeTestTask(Branches(64, 100, 1000));
  const Blocks blocks = BlocksIn(*made, 16);
  for (std::int64_t block = 0; block < 16; ++block) {
    EXPECT_GT(std::count(blocks.begin(), blocks.end(), block), 0);
    EXPECT_LE(std::count(blocks.begin(), blocks.end(), block), 20);
  }
}

}  // namespace
}  // namespace berth::agents::rl
