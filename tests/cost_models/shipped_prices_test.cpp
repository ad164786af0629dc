// The prices of real GPUs that ship with berth: which kinds have them, and that they answer sensibly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost_models/parameters.h"
#include "tests/cost_models/testing.h"

namespace berth::cost_models {
namespace {

using ::testing::HasSubstr;
using testing::OpCase;
using testing::PriceOf;

OpCase Product(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  return {"MatMul",
          2.0 * static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(columns),
          {{{rows, depth}}, {{depth, columns}}},
          {{{rows, columns}}},
          {}};
}

TEST(ShippedPrices, SayWhereTheyComeFrom) {
  const Parameters& shipped = ShippedPrices();
  EXPECT_THAT(shipped.provenance.source, HasSubstr("sitar-lab/NeuSight@"));
  EXPECT_EQ(shipped.provenance.licence, "MIT");
  for (const char* kind : {"p4", "p100-pcie-16gb", "t4", "a100-pcie-40gb"}) {
    const KindParameters* found = shipped.Find(kind);
    ASSERT_NE(found, nullptr) << kind;
    for (const RatioTables& tables : found->tables) {
      EXPECT_GT(tables.evidence.samples, 300) << kind << ' ' << tables.family;
      EXPECT_GT(tables.held_out_error, 0) << kind << ' ' << tables.family;
      EXPECT_LT(tables.held_out_error, 0.25) << kind << ' ' << tables.family;
    }
  }
}

TEST(ShippedPrices, AreTheDefaultOfTheirKindAndOfGpusNobodyMeasured) {
  const auto model = MakeCostModel("");
  const auto analytic = MakeCostModel("analytic");
  const OpCase op = Product(4096, 1280, 5120);
  EXPECT_EQ(PriceOf(*model, op, "t4")->tier, sim::Tier::kInterpolated);
  EXPECT_EQ(PriceOf(*model, op, "h100")->tier, sim::Tier::kStructural);
  EXPECT_NE(PriceOf(*model, op, "h100")->us, PriceOf(*analytic, op, "h100")->us);
  const sim::OpGraph graph = testing::GraphOf(op);
  EXPECT_THAT(PriceOrigin(*model, graph, testing::LastOp(graph), testing::DeviceOf("t4")),
              HasSubstr("measured by others on t4 (sitar-lab/NeuSight"));
  EXPECT_THAT(PriceOrigin(*model, graph, testing::LastOp(graph), testing::DeviceOf("h100")),
              HasSubstr("measured by others on other GPUs"));
}

// Published tables rest on these.
TEST(ShippedPrices, LeaveTheKindsOfPublishedTablesAlone) {
  const auto model = MakeCostModel("");
  const auto analytic = MakeCostModel("analytic");
  for (const char* kind : {"k40", "k80", "p100", "p100-12gb"}) {
    for (const OpCase& op : {Product(4096, 1280, 5120), Product(7, 30, 9)})
      EXPECT_EQ(PriceOf(*model, op, kind)->us, PriceOf(*analytic, op, kind)->us) << kind;
  }
}

// Nobody measured f16: the structural model prices it.
TEST(ShippedPrices, AreOfF32Alone) {
  OpCase op = Product(4096, 1280, 5120);
  for (auto& tensor : op.inputs) tensor.dtype = "f16";
  for (auto& tensor : op.outputs) tensor.dtype = "f16";
  EXPECT_EQ(PriceOf(*MakeCostModel(""), op, "t4")->us, PriceOf(*MakeCostModel("analytic"), op, "t4")->us);
}

TEST(ShippedPrices, GrowWithTheWorkFarBeyondWhatWasMeasured) {
  const auto model = MakeCostModel("");
  double before = 0;
  for (const std::int64_t size : {1 << 10, 1 << 12, 1 << 14, 1 << 16}) {
    const double us = PriceOf(*model, Product(size, 8192, 8192), "a100-pcie-40gb")->us;
    EXPECT_GT(us, 2 * before);
    before = us;
  }
}

}  // namespace
}  // namespace berth::cost_models
