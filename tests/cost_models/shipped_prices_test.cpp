// The prices of real GPUs that ship with stowplan: which kinds have them, and that they answer sensibly.
#include "cost_models/embedded_data.h"
#include "cost_models/parameters/parameters.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

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
  EXPECT_THAT(ShippedKinds(),
              ::testing::UnorderedElementsAre("p4", "p100-pcie-16gb", "t4", "a100-pcie-40gb"));
  EXPECT_EQ(ShippedPrices("").any_gpu.size(), 6u);
  for (const std::string& kind : ShippedKinds()) {
    const Parameters& shipped = ShippedPrices(kind);
    EXPECT_THAT(shipped.provenance.source, HasSubstr("sitar-lab/NeuSight@"));
    EXPECT_EQ(shipped.provenance.licence, "MIT");
    EXPECT_EQ(shipped.kinds.size(), 1u);
    const KindParameters* found = shipped.Find(kind);
    ASSERT_NE(found, nullptr) << kind;
    for (const RatioTables& tables : found->tables) {
      EXPECT_GT(tables.evidence.samples, 300) << kind << ' ' << tables.family;
      EXPECT_GT(tables.held_out_error, 0) << kind << ' ' << tables.family;
      EXPECT_LT(tables.held_out_error, 0.25) << kind << ' ' << tables.family;
    }
  }
}

// They are read in parts, a kind at a time: no more and no less than all of the file.
TEST(ShippedPrices, AreThoseOfTheWholeFile) {
  const Parameters whole = ParseParameters(EmbeddedPrices(), "prices.json", BuiltinCatalogue());
  Parameters joined = ShippedPrices("");
  for (const std::string& kind : ShippedKinds()) joined.kinds.push_back(*ShippedPrices(kind).Find(kind));
  EXPECT_EQ(PrintParameters(joined), PrintParameters(whole));
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
              HasSubstr("measured by others on other GPUs: a100-pcie-40gb, p100-pcie-16gb, p4 and t4 ("));
}

// An A100 of 80 GB has the multiprocessors of the one that was measured, and faster memory.
TEST(ShippedPrices, OfOneChipStandForAnother) {
  const auto model = MakeCostModel("");
  const OpCase product = Product(4096, 1280, 5120);
  const sim::OpGraph graph = testing::GraphOf(product);
  const std::string origin =
      PriceOrigin(*model, graph, testing::LastOp(graph), testing::DeviceOf("a100-pcie-80gb"));
  EXPECT_THAT(origin, HasSubstr("measured by others on a100-pcie-40gb, the same chip (sitar-lab/NeuSight"));
  EXPECT_THAT(origin, ::testing::EndsWith(" % there"));
  const auto own = PriceOf(*model, product, "a100-pcie-40gb"),
             other = PriceOf(*model, product, "a100-pcie-80gb");
  EXPECT_NEAR(other->us / own->us, 1, 0.1);
  EXPECT_EQ(own->tier, sim::Tier::kInterpolated);
  EXPECT_EQ(other->tier, sim::Tier::kStructural);
  const std::vector<std::int64_t> large = {1 << 16, 1 << 10};
  const OpCase relu = {"Relu", 0, {{large}}, {{large}}, {}};
  EXPECT_LT(PriceOf(*model, relu, "a100-pcie-80gb")->us, 0.9 * PriceOf(*model, relu, "a100-pcie-40gb")->us);
}

TEST(ShippedPrices, BelongToTheSheetsOfTheCatalogue) {
  for (const std::string& kind : ShippedKinds())
    EXPECT_EQ(ShippedPrices(kind).Find(kind)->sheet, SheetFingerprint(*BuiltinCatalogue().FindSheet(kind)))
        << kind;
}

TEST(ShippedPrices, TablesOfAnotherSheetAreRefused) {
  const tests::TempFolder folder;
  Parameters parameters = ShippedPrices("t4");
  WriteParameters(folder / "same.json", parameters);
  EXPECT_TRUE(PriceOf(*MakeCostModel(folder / "same.json"), Product(64, 64, 64), "t4"));
  parameters.kinds.front().sheet = "0123456789abcdef";
  WriteParameters(folder / "other.json", parameters);
  EXPECT_THAT(testing::InputErrorOf([&] { MakeCostModel(folder / "other.json"); }),
              HasSubstr("were fitted with the rates 0123456789abcdef of its data sheet"));
}

OpCase Image(const std::string& type, double flops = 0) {
  const std::vector<std::int64_t> image = {8, 28, 28, 64};
  return {type, flops, {{image}, {{3, 3, 64, 64}}}, {{image}}, {}};
}

// Frameworks run f32 convolutions of these cards in TF32, which nobody measured.
TEST(ShippedPrices, LeaveConvolutionsOfTf32CardsToTheStructuralModel) {
  const auto model = MakeCostModel("");
  const auto analytic = MakeCostModel("analytic");
  const OpCase op = Image("Conv2D", 4.6e8);
  for (const char* kind : {"a100-pcie-40gb", "a100-pcie-80gb", "h100", "rtx3090"})
    EXPECT_EQ(PriceOf(*model, op, kind)->us, PriceOf(*analytic, op, kind)->us) << kind;
  for (const char* kind : {"t4", "v100"})
    EXPECT_NE(PriceOf(*model, op, kind)->us, PriceOf(*analytic, op, kind)->us) << kind;
}

TEST(ShippedPrices, SayWhatIsBorrowed) {
  const auto model = MakeCostModel("");
  const auto origin = [&](const OpCase& op) {
    const sim::OpGraph graph = testing::GraphOf(op);
    return PriceOrigin(*model, graph, testing::LastOp(graph), testing::DeviceOf("t4"));
  };
  for (const char* type : {"FusedBatchNorm", "LayerNormGrad", "SoftmaxGrad", "ReluGrad", "ReduceSum", "Cast",
                           "Fill", "Dropout", "Erf", "NobodyKnowsThis"}) {
    EXPECT_THAT(origin(Image(type)), ::testing::EndsWith(", borrowed from ops like it, error not known"))
        << type;
    EXPECT_THAT(origin(Image(type)), ::testing::StartsWith("measured by others on t4")) << type;
    EXPECT_EQ(PriceOf(*model, Image(type), "t4")->tier, sim::Tier::kStructural) << type;
  }
  EXPECT_THAT(origin(Image("Conv2DBackpropInput", 4.6e8)), HasSubstr("convolution of f32, borrowed"));
  for (const char* type : {"LayerNorm", "Softmax", "Relu", "Gelu", "Mul"}) {
    EXPECT_THAT(origin(Image(type)), ::testing::StartsWith("measured by others on t4")) << type;
    EXPECT_THAT(origin(Image(type)), HasSubstr(" %")) << type;
  }
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
}  // namespace stowplan::cost_models
