#include "profiler/executor/block_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

// A device with that much memory, of which blocks are taken.
struct SmallDevice {
  sim::Bytes free = 0;
  int idles = 0;
  BlockMaker maker() {
    return [this](sim::Bytes bytes) {
      if (bytes > free) throw NoMemory("there are " + std::to_string(free) + " bytes");
      return NewBlock(bytes);
    };
  }
};

RC_GTEST_PROP(BestFitPoolTest, BlocksThatAreTakenNeverOverlap, ()) {
  BestFitPool pool(
      NewBlock, [] {}, *rc::gen::inRange<sim::Bytes>(0, 5000));
  std::map<char*, sim::Bytes> taken;
  for (int i = *rc::gen::inRange(0, 60); i > 0; --i) {
    if (taken.empty() || *rc::gen::inRange(0, 3) > 0) {
      const sim::Bytes bytes = *rc::gen::inRange<sim::Bytes>(0, 3000);
      auto* const block = static_cast<char*>(pool.Take(bytes));
      const auto next = taken.lower_bound(block);
      const bool behind = next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= block;
      const bool before = next == taken.end() || block + bytes <= next->first;
      RC_ASSERT(behind);
      RC_ASSERT(before);
      RC_ASSERT(reinterpret_cast<std::uintptr_t>(block) % 64 == 0U);
      RC_ASSERT(taken.emplace(block, std::max<sim::Bytes>(bytes, 1)).second);
      std::fill_n(block, bytes, 'x');
    } else {
      const auto block = std::next(taken.begin(), *rc::gen::inRange<int>(0, static_cast<int>(taken.size())));
      pool.GiveBack(block->first, block->second);
      taken.erase(block);
    }
  }
}

// What the pool of equal sizes cannot do.
TEST(BestFitPoolTest, AnotherSizeIsCutFromWhatWasGivenBack) {
  BestFitPool pool(
      NewBlock, [] {}, 0);
  void* const large = pool.Take(1024);
  pool.GiveBack(large, 1024);
  void* const first = pool.Take(512);
  void* const second = pool.Take(256);
  EXPECT_EQ(first, large);
  EXPECT_EQ(second, static_cast<char*>(large) + 512);
  EXPECT_EQ(pool.reserved(), 1024);
  // Neighbours become one again, whatever the order.
  pool.GiveBack(first, 512);
  pool.GiveBack(second, 256);
  EXPECT_EQ(pool.Take(1024), large);
  EXPECT_EQ(pool.reserved(), 1024);
}

TEST(BestFitPoolTest, TheSmallestThatFitsIsTaken) {
  BestFitPool pool(
      NewBlock, [] {}, 0);
  void* const large = pool.Take(4096);
  void* const small = pool.Take(1024);
  pool.GiveBack(large, 4096);
  pool.GiveBack(small, 1024);
  EXPECT_EQ(pool.Take(800), small);
}

TEST(BestFitPoolTest, AsksForLittleWhereThereIsNoChunkLeft) {
  SmallDevice device{.free = 1000};
  BestFitPool pool(
      device.maker(), [] {}, 1 << 20);
  EXPECT_NE(pool.Take(512), nullptr);
  EXPECT_EQ(pool.reserved(), 512);
}

TEST(BestFitPoolTest, ReturnsWhatIsFreeOnceNothingUsesItAndOnlyThenGivesUp) {
  SmallDevice device{.free = 4096};
  BestFitPool pool(
      device.maker(), [&] { ++device.idles, device.free = 4096; }, 0);
  void* const first = pool.Take(1024);
  pool.GiveBack(first, 1024);
  device.free = 0;
  EXPECT_NE(pool.Take(2048), nullptr);  // the device has it when the first is returned
  EXPECT_EQ(device.idles, 1);
  EXPECT_EQ(pool.reserved(), 2048);
  EXPECT_THROW(pool.Take(8192), NoMemory);
  EXPECT_EQ(pool.reserved(), 2048);
  device.free = 0;
  pool.Clear();
  EXPECT_EQ(pool.reserved(), 0);
}

TEST(EqualSizesPoolTest, TheLastThatWasGivenBackIsTakenFirst) {
  EqualSizesPool pool(NewBlock);
  void* const first = pool.Take(64);
  void* const second = pool.Take(64);
  pool.GiveBack(first, 64);
  pool.GiveBack(second, 64);
  EXPECT_NE(pool.Take(128), second);
  EXPECT_EQ(pool.Take(64), second);
  EXPECT_EQ(pool.Take(64), first);
}

}  // namespace
}  // namespace stowplan::profiler
