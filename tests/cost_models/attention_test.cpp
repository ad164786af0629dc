// What attention multiplies and reads, against counting every pair.
#include "cost_models/ops/attention.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "cost_models/calibration/measured_rows.h"
#include "cost_models/ops/op_work.h"
#include "tests/cost_models/testing.h"

namespace stowplan::cost_models {
namespace {

struct Counted {
  int pairs = 0;
  int keys = 0;  // that some query sees
};

// The last query sees all keys, each one before it one less; a window leaves the nearest.
Counted CountOf(const AttentionShape& of) {
  const auto queries = static_cast<int>(of.queries), keys = static_cast<int>(of.keys),
             window = static_cast<int>(of.window);
  Counted counted;
  for (int key = 0; key < keys; ++key) {
    int seen = 0;
    for (int query = 0; query < queries; ++query) {
      const int at = keys - queries + query;
      if (key <= at && (window == 0 || key > at - window)) ++seen;
    }
    counted.pairs += seen;
    counted.keys += seen > 0 ? 1 : 0;
  }
  return counted;
}

TEST(Attention, CausalPairsAreThoseThatAreCounted) {
  for (int keys = 1; keys <= 12; ++keys) {
    for (int queries = 1; queries <= keys; ++queries) {
      for (int window = 0; window <= 14; ++window) {
        AttentionShape of;
        of.queries = queries;
        of.keys = keys;
        of.window = window;
        of.is_causal = true;
        const Counted counted = CountOf(of);
        EXPECT_DOUBLE_EQ(of.Pairs(), counted.pairs) << queries << ' ' << keys << ' ' << window;
        EXPECT_DOUBLE_EQ(of.ElementsOfKeys() / (of.size + of.value_size), counted.keys)
            << queries << ' ' << keys << ' ' << window;
      }
    }
  }
}

TEST(Attention, IsReadFromAGraph) {
  const std::vector<std::int64_t> query = {2, 8, 64, 32}, key = {2, 4, 192, 32};
  const double all = 4.0 * 2 * 8 * 64 * 192 * 32;
  const auto work = [&](sim::Attributes attributes) {
    testing::OpCase op = {"Attention", all, {{query}, {key}, {key}}, {{query}}, std::move(attributes)};
    const sim::OpGraph graph = testing::GraphOf(op);
    return WorkOf(graph, testing::LastOp(graph));
  };
  EXPECT_EQ(work({}).flops, all);
  EXPECT_EQ(work({}).attention->key_heads, 4);
  EXPECT_DOUBLE_EQ(work({{"causal", sim::Attribute{true}}}).flops, all * (128 + 32.5) / 192);
  EXPECT_DOUBLE_EQ(work({{"past", sim::Attribute{std::int64_t{64}}}}).attention->keys, 256);
}

// One row of each op: what it multiplies and moves, worked out by hand.
TEST(MeasuredRows, HoldWhatAnOpMultipliesAndMoves) {
  const std::string head =
      "# machine: m\n# library: l\n# date: 2026-11-28\n# source: s\n# licence: MIT\n# device: h100\n# time: "
      "device\n";
  struct Row {
    const char* csv;
    double flops, bytes;
  };
  const Row rows[] = {
      {"op,dtype,rows,columns,depth,us\nlinear,bf16_i4,2,8,4,1", 2.0 * 2 * 8 * 4,
       2 * 2 * 4 + 0.53125 * 8 * 4 + 2 * 2 * 8},
      {"op,dtype,rows,columns,depth,us\nlinear,f8,2,8,4,1", 2.0 * 2 * 8 * 4, 2 * 4 + 8 * 4 + 2 * 2 * 8},
      {"op,dtype,batch,heads,key_heads,queries,keys,size,causal,us\nattention,bf16_f8,3,4,2,1,10,16,0,1",
       4.0 * 3 * 4 * 10 * 16, 2.0 * 2 * 3 * 4 * 16 + 1.0 * 2 * 3 * 2 * 10 * 16},
      {"op,dtype,rows,depth,columns,experts,choices,us\nexperts,bf16,1,8,4,1,1,1", 2.0 * 3 * 8 * 4,
       2.0 * (8 + 3 * 4 + 3 * 4 * 8)},
      {"op,name,dtype,rows,columns,depth,steps,us\nrecurrent,lstm,f32,2,8,4,5,1",
       5 * 2.0 * 2 * 4 * 8 * (4 + 8), 4.0 * 4 * 8 * 12 + 4.0 * 2 * 5 * (12 + 8)},
      {"op,dtype,batch,in_channels,out_channels,kernel,side,stride,padding,groups,us\nconv2d,f16,2,8,8,3,6,1,"
       "1,8,1",
       2.0 * 2 * 36 * 8 * 9, 2.0 * (2 * 8 * 36 + 8 * 9 + 2 * 8 * 36)},
  };
  for (const Row& row : rows) {
    const MeasuredRows read = ParseMeasuredRows(head + row.csv + "\n", "rows.csv");
    ASSERT_EQ(read.rows.size(), 1u) << row.csv;
    EXPECT_DOUBLE_EQ(read.rows[0].work.flops, row.flops) << row.csv;
    EXPECT_DOUBLE_EQ(read.rows[0].work.bytes, row.bytes) << row.csv;
  }
}

}  // namespace
}  // namespace stowplan::cost_models
