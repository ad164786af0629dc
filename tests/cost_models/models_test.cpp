// Values of each model against closed forms.
#include "cost_models/parameters/ratio_curve.h"
#include "sim/cost_model.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::InputErrorOf;
using testing::OpCase;
using testing::PriceOf;

// 1920 x 128, 1000 deep: one full wave on the 15 multiprocessors of a K40 (roofline_test.cpp).
const OpCase kGemm = {"MatMul", 2.0 * 1920 * 128 * 1000, {}, {{{1920, 128}}}, {}};
constexpr double kGemmFlops = 2.0 * 1920 * 128 * 1000;
const OpCase kRelu = {"Relu", 0, {{{1'000'000}}}, {{{1'000'000}}}, {}};

std::string FileOf(const std::string& name, const Parameters& parameters) {
  static const tests::TempFolder folder;
  const std::string path = folder / name;
  WriteParameters(path, parameters);
  return path;
}

double Us(const std::string& model, const OpCase& op, const std::string& kind) {
  const auto price = PriceOf(*MakeCostModel(model), op, kind);
  EXPECT_TRUE(price.has_value()) << model << ' ' << kind;
  return price ? price->us : -1;
}

TEST(Constant, SaysTheSameOfEveryOp) {
  EXPECT_EQ(MakeCostModel("constant")->name(), "constant(us=10)");
  EXPECT_EQ(Us("constant(us=2.5)", kGemm, "k40"), 2.5);
  EXPECT_EQ(Us("constant(us=2.5)", kRelu, "gpu"), 2.5);
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("constant(us=-1)"); }), HasSubstr("us"));
}

TEST(Analytic, IsTheRooflineWithTheCataloguesEfficiencies) {
  const double expected = kGemmFlops / (0.7 * 4.29e12) * 1e6 + 3;
  const auto price = PriceOf(*MakeCostModel("analytic"), kGemm, "k40");
  ASSERT_TRUE(price.has_value());
  EXPECT_NEAR(price->us, expected, 1e-9);
  EXPECT_EQ(price->tier, sim::Tier::kStructural);
  EXPECT_NEAR(price->low_us, expected / 2, 1e-9);
  EXPECT_NEAR(price->high_us, expected * 2, 1e-9);
}

TEST(Analytic, EfficienciesAreOverridableFromGeneralToSpecial) {
  const auto expected = [](double share) { return kGemmFlops / (share * 4.29e12) * 1e6 + 3; };
  const std::string file = FileOf("a.json", testing::ExampleParameters(kRelu));  // k40.gemm 0.4
  EXPECT_NEAR(Us("analytic(file=" + file + ")", kGemm, "k40"), expected(0.4), 1e-9);
  EXPECT_NEAR(Us("analytic(file=" + file + ",gemm=0.5)", kGemm, "k40"), expected(0.5), 1e-9);
  EXPECT_NEAR(Us("analytic(file=" + file + ",gemm=0.5,k40.gemm=0.6)", kGemm, "k40"), expected(0.6), 1e-9);
  EXPECT_NEAR(Us("analytic(k80.gemm=0.1)", kGemm, "k40"), expected(0.7), 1e-9);
  EXPECT_NEAR(Us("analytic(convolution=0.1)", kGemm, "k40"), expected(0.7), 1e-9);
}

TEST(Analytic, NameTellsWhatDiffersFromTheDefaults) {
  EXPECT_EQ(MakeCostModel("analytic()")->name(), "analytic");
  EXPECT_EQ(MakeCostModel("analytic(waves=yes)")->name(), "analytic");
  EXPECT_EQ(MakeCostModel("analytic(k40.gemm=0.50,waves=no,gemm=0.25)")->name(),
            "analytic(waves=no,gemm=0.25,k40.gemm=0.5)");
}

TEST(Analytic, RefusesEfficienciesOfNothing) {
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("analytic(k41.gemm=0.5)"); }), HasSubstr("k41.gemm"));
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("analytic(k40.gem=0.5)"); }), HasSubstr("recurrent_gemm"));
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("analytic(gemm=0)"); }), HasSubstr("gemm"));
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("analytic(gemm=much)"); }), HasSubstr("much"));
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("analytic(nothing=0.5)"); }), HasSubstr("nothing"));
}

TEST(Analytic, KindsWithoutRatesAreNotPriced) {
  EXPECT_FALSE(PriceOf(*MakeCostModel("analytic"), kGemm, "gpu").has_value());
  EXPECT_FALSE(PriceOf(*MakeCostModel("analytic"), kRelu, "cpu").has_value());
  // Except for what takes no time anywhere.
  EXPECT_EQ(Us("analytic", {"Reshape", 0, {{{4}}}, {{{2, 2}}}, {}}, "gpu"), 0);
}

TEST(Table, AnswersWhatWasMeasuredAndNothingElse) {
  const std::string file = FileOf("b.json", testing::ExampleParameters(kRelu));
  const auto model = MakeCostModel("table(file=" + file + ")");
  const auto price = PriceOf(*model, kRelu, "h200");
  ASSERT_TRUE(price.has_value());
  EXPECT_EQ(price->us, 12.5);
  EXPECT_EQ(price->low_us, 12);
  EXPECT_EQ(price->high_us, 14);
  EXPECT_EQ(price->tier, sim::Tier::kMeasured);
  EXPECT_FALSE(PriceOf(*model, kRelu, "h100").has_value());
  OpCase other = kRelu;
  other.outputs[0].dtype = "f16";
  EXPECT_FALSE(PriceOf(*model, other, "h200").has_value());
}

// Element-wise on h200: W = 0.75 x 4.8 TB/s, kernel 2 us, ramp 1 us. The example's curve has knots (10, 15),
// (1000, 1100), (1e6, 1.2e6).
OpCase StructuralRelu(double us) {
  const auto bytes = static_cast<sim::Bytes>((us - 3) * 0.75 * 4.8e6 / 2);  // half read, half written
  return {"Relu", 0, {{{}, "", bytes}}, {{{}, "", bytes}}, {}};
}

TEST(Fitted, InterpolatesInLogarithmsInsideTheKnots) {
  const std::string file = FileOf("c.json", testing::ExampleParameters(kRelu));
  const auto model = MakeCostModel("fitted(file=" + file + ")");
  // Half way from 10 to 1000 in logarithms is 100; half way from 15 to 1100 is sqrt(15 x 1100) = 128.45.
  const auto price = PriceOf(*model, StructuralRelu(100), "h200");
  ASSERT_TRUE(price.has_value());
  EXPECT_NEAR(price->us, std::sqrt(15.0 * 1100), 1e-3);
  EXPECT_EQ(price->tier, sim::Tier::kInterpolated);
  EXPECT_NEAR(price->low_us / price->us, 0.9, 1e-12);
  EXPECT_NEAR(price->high_us / price->us, 1.2, 1e-12);
}

TEST(Fitted, KeepsTheOutermostRatioOutsideAndSaysSo) {
  const std::string file = FileOf("d.json", testing::ExampleParameters(kRelu));
  const auto model = MakeCostModel("fitted(file=" + file + ")");
  const auto small = PriceOf(*model, StructuralRelu(4), "h200");
  ASSERT_TRUE(small.has_value());
  EXPECT_NEAR(small->us, 4 * 1.5, 1e-3);
  EXPECT_EQ(small->tier, sim::Tier::kStructural);
  const auto large = PriceOf(*model, StructuralRelu(2e6), "h200");
  EXPECT_NEAR(large->us, 2e6 * 1.2, 1);
  EXPECT_EQ(large->tier, sim::Tier::kStructural);
}

TEST(Fitted, LeavesOtherClassesAndKindsToTheNext) {
  const std::string file = FileOf("e.json", testing::ExampleParameters(kRelu));
  const auto model = MakeCostModel("fitted(file=" + file + ")");
  EXPECT_FALSE(PriceOf(*model, {"Mean", 0, {{{1000}}}, {{{1}}}, {}}, "h200").has_value());
  EXPECT_FALSE(PriceOf(*model, kRelu, "h100").has_value());
  EXPECT_FALSE(PriceOf(*model, {"Reshape", 0, {{{4}}}, {{{2, 2}}}, {}}, "h200").has_value());
}

TEST(Fitted, RefusesCurvesOfAnotherStructuralModel) {
  Parameters parameters = testing::ExampleParameters(kRelu);
  parameters.kinds[0].structural = "0000000000000000";
  const std::string file = FileOf("f.json", parameters);
  EXPECT_THAT(InputErrorOf([&] { MakeCostModel("fitted(file=" + file + ")"); }),
              HasSubstr("calibrate again"));
  parameters = testing::ExampleParameters(kRelu);
  parameters.kinds[0].kind = "gpu";
  const std::string rateless = FileOf("g.json", parameters);
  EXPECT_THAT(InputErrorOf([&] { MakeCostModel("fitted(file=" + rateless + ")"); }),
              HasSubstr("without rates"));
}

TEST(Chain, TheFirstAnswerCounts) {
  const std::string file = FileOf("h.json", testing::ExampleParameters(kRelu));
  const auto model = MakeCostModel(file);
  EXPECT_EQ(PriceOf(*model, kRelu, "h200")->tier, sim::Tier::kMeasured);
  EXPECT_EQ(PriceOf(*model, StructuralRelu(100), "h200")->tier, sim::Tier::kInterpolated);
  EXPECT_EQ(PriceOf(*model, kRelu, "h100")->tier, sim::Tier::kStructural);
  EXPECT_EQ(Us("chain(constant(us=3),analytic)", kGemm, "k40"), 3);
  EXPECT_FALSE(PriceOf(*model, kRelu, "gpu").has_value());
}

TEST(Chain, NestsAndKeepsTheNamesInForce) {
  EXPECT_EQ(MakeCostModel("chain(table,chain(constant))")->name(), "chain(table,chain(constant(us=10)))");
}

TEST(Chain, FilesOfTwoMachinesAreNotMixed) {
  Parameters other = testing::ExampleParameters(kGemm);
  const std::string a = FileOf("i.json", other);
  for (std::string Provenance::*field : {&Provenance::machine, &Provenance::driver, &Provenance::library}) {
    other = testing::ExampleParameters(kGemm);
    other.provenance.*field = "another";
    const std::string b = FileOf("j.json", other);
    const std::string spec = "chain(table(file=" + a + "),fitted(file=" + b + "))";
    EXPECT_THAT(InputErrorOf([&] { MakeCostModel(spec); }), HasSubstr("not mixed"));
  }
  // Another day or commit of the same machine is the same machine.
  other = testing::ExampleParameters(kGemm);
  other.provenance.date = "2026-11-21";
  other.provenance.commit = "fedcba9";
  const std::string c = FileOf("k.json", other);
  EXPECT_NO_THROW(MakeCostModel("chain(table(file=" + a + "),fitted(file=" + c + "))"));
}

// The door that the engine uses: prices in picoseconds with tiers, and an error that names op and kind.
TEST(PriceOps, AsksTheChain) {
  const sim::OpGraph graph = testing::GraphOf(kGemm);
  sim::Cluster cluster;
  cluster.name = "one";
  cluster.devices = {testing::DeviceOf("k40"), testing::DeviceOf("cpu-haswell")};
  cluster.devices[1].name = "cpu0";
  for (sim::Device& device : cluster.devices) device.memory = 1 << 30;
  const sim::CostTable table = sim::PriceOps(graph, cluster, *MakeCostModel(""));
  EXPECT_EQ(table.cost_model, "chain(table,fitted,analytic)");
  EXPECT_EQ(table.at(0, 0), sim::FromMicros(kGemmFlops / (0.7 * 4.29e12) * 1e6 + 3));
  EXPECT_GT(table.at(0, 1), table.at(0, 0));
  cluster.devices[0].kind = "gpu";
  const std::string error = InputErrorOf([&] { sim::PriceOps(graph, cluster, *MakeCostModel("")); });
  EXPECT_THAT(error, HasSubstr("'op'"));
  EXPECT_THAT(error, HasSubstr("'gpu'"));
}

}  // namespace
}  // namespace stowplan::cost_models
