// How tensors of an op lie against one another, also where equal sizes leave it open.
#include "profiler/executor/op_tensors.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using Shape = std::vector<std::int64_t>;

std::optional<Spread> Find(const char* type, const Shape& large, const Shape& small, const char* phase = "",
                           const char* data_format = nullptr) {
  sim::Op op;
  op.type = type;
  op.phase = phase;
  if (data_format != nullptr) op.attributes = {{"data_format", {std::string(data_format)}}};
  Spread spread;
  return FindSpread(op, large, small, &spread) ? std::optional(spread) : std::nullopt;
}

void ExpectSpread(const std::optional<Spread>& found, std::int64_t outer, std::int64_t middle,
                  std::int64_t inner) {
  ASSERT_TRUE(found);
  EXPECT_EQ(found->outer, outer);
  EXPECT_EQ(found->middle, middle);
  EXPECT_EQ(found->inner, inner);
}

TEST(SpreadTest, ABiasHasTheChannelsWhateverTheBatch) {
  ExpectSpread(Find("BiasAdd", {8, 8}, {8}), 1, 8, 8);
  ExpectSpread(Find("BiasAdd", {8, 5, 5, 8}, {8}), 1, 200, 8);
  EXPECT_FALSE(Find("BiasAdd", {4, 5}, {4}));
  // Channels between others are no one piece that is lacking.
  EXPECT_FALSE(Find("BiasAdd", {2, 8, 5, 5}, {8}, "", "NCHW"));
  ExpectSpread(Find("BiasAdd", {1, 8, 5, 5}, {8}, "", "NCHW"), 8, 25, 1);
}

TEST(SpreadTest, ArithmeticIsBroadcastFromTheLastAxis) {
  ExpectSpread(Find("Add", {4, 4}, {4}), 1, 4, 4);
  ExpectSpread(Find("Mul", {4, 4}, {4, 1}), 4, 4, 1);
  ExpectSpread(Find("Sub", {3, 4, 5}, {3, 1, 5}), 3, 4, 5);
  ExpectSpread(Find("Add", {3, 4}, {3, 4}), 1, 1, 12);
  ExpectSpread(Find("Add", {3, 4}, {}), 1, 12, 1);
  EXPECT_FALSE(Find("Add", {2, 3, 4, 5}, {1, 3, 1, 5}));
  EXPECT_FALSE(Find("Add", {4, 5}, {3}));
}

// Where arrays could not be broadcast the sizes still say what is meant: a number for each image and channel.
TEST(SpreadTest, WhatIsLackingMayBeInTheMiddle) {
  ExpectSpread(Find("Mul", {2, 7, 7, 3}, {2, 3}), 2, 49, 3);
}

TEST(SpreadTest, ASumIsOfTheLastAxisThatFitsAndAGradientOfTheFirst) {
  ExpectSpread(Find("ReduceSum", {6, 6}, {6}), 6, 6, 1);
  ExpectSpread(Find("ReduceSum", {6, 6}, {6}, "backward"), 1, 6, 6);
  ExpectSpread(Find("MulSum", {6, 6}, {6}), 1, 6, 6);
  ExpectSpread(Find("BiasAddGrad", {6, 6}, {6}), 1, 6, 6);
  ExpectSpread(Find("Mean", {4, 4, 4, 4}, {4, 4}), 4, 16, 4);
  ExpectSpread(Find("Mean", {6, 6}, {1, 6}), 1, 6, 6);
  ExpectSpread(Find("Tile", {4, 4, 4, 4}, {4, 4}, "backward"), 4, 16, 4);
  ExpectSpread(Find("ReduceSum", {4, 5, 6}, {4, 6}), 4, 5, 6);
  ExpectSpread(Find("Mean", {4, 5}, {}), 1, 20, 1);
  EXPECT_FALSE(Find("ReduceSum", {4, 5, 6}, {5, 7}));
}

RC_GTEST_PROP(SpreadTest, CoversEveryElementOnce, ()) {
  const auto shape = *rc::gen::container<Shape>(3, rc::gen::inRange<std::int64_t>(1, 4));
  const auto begin = *rc::gen::inRange<std::size_t>(0, 3), end = *rc::gen::inRange<std::size_t>(begin, 4);
  Shape small = shape;
  std::fill(small.begin() + static_cast<std::ptrdiff_t>(begin),
            small.begin() + static_cast<std::ptrdiff_t>(end), 1);
  const auto spread =
      Find(*rc::gen::elementOf(std::vector<const char*>{"Add", "ReduceSum", "Tile"}), shape, small);
  RC_ASSERT(spread.has_value());
  RC_ASSERT(spread->large() == ElementsOf(shape));
  RC_ASSERT(spread->small() == ElementsOf(small));
}

TEST(SumSlicesTest, NarrowDeepSumsAreCutAndOthersAreNot) {
  EXPECT_EQ(SumSlices({1, 1 << 20, 64}), 256);  // two blocks of columns
  EXPECT_EQ(SumSlices({1, 1024, 64}), 16);      // no slice of less than 64 rows
  EXPECT_EQ(SumSlices({1, 63, 64}), 1);
  EXPECT_EQ(SumSlices({1, 1 << 20, 1 << 15}), 1);  // wide enough
  EXPECT_EQ(SumSlices({1, 1 << 20, 1}), 256);      // one number
  EXPECT_EQ(SumSlices({600, 1 << 20, 1}), 1);
  EXPECT_EQ(PartialBytes({1, 1024, 64}), 16U * 64 * 4);
  EXPECT_EQ(PartialBytes({1, 63, 64}), 0U);
}

}  // namespace
}  // namespace stowplan::profiler
