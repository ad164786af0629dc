#include "cost_models/parameters/ratio_curve.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cost_models/ops/portable_math.h"
#include "tests/cost_models/testing.h"

namespace stowplan::cost_models {
namespace {

using ::testing::HasSubstr;
using testing::InputErrorOf;

TEST(PortableMath, AgreesWithTheLibrary) {
  for (double x = 1e-12; x < 1e13; x *= 1.37) {
    EXPECT_NEAR(PortableLog(x), std::log(x), 4e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (double x = -600; x < 600; x += 1.37) EXPECT_NEAR(PortableExp(x) / std::exp(x), 1, 3e-13) << x;
  EXPECT_EQ(PortableLog(1), 0);
  EXPECT_EQ(PortableExp(0), 1);
}

// Measured = 1.5 x structural everywhere: every knot has that ratio, and held-out samples have no error.
TEST(FitRatioCurve, AConstantRatioIsFound) {
  std::vector<RatioSample> samples;
  for (int i = 1; i <= 60; ++i) samples.push_back({1.0 * i * i, 1.5 * i * i, 100.0 * i, 0.02});
  const RatioCurve curve = FitRatioCurve(OpClass::kGemm, samples);
  EXPECT_EQ(curve.op_class, OpClass::kGemm);
  EXPECT_LE(curve.knots.size(), 14u);  // 12 groups and the two outermost samples
  EXPECT_NEAR(curve.knots.front().structural_us, 1, 1e-12);
  EXPECT_NEAR(curve.knots.back().structural_us, 3600, 1e-9);
  for (const double x : {1.0, 7.0, 500.0, 3600.0}) {
    EXPECT_NEAR(EvaluateCurve(curve, x).us, 1.5 * x, 1e-9 * x) << x;
    EXPECT_TRUE(EvaluateCurve(curve, x).inside || x == 1.0 || x == 3600.0);
  }
  EXPECT_NEAR(curve.low_ratio, 1, 1e-12);
  EXPECT_NEAR(curve.high_ratio, 1, 1e-12);
  EXPECT_NEAR(curve.evidence.fit_error, 0, 1e-12);
  EXPECT_EQ(curve.evidence.samples, 60);
  EXPECT_EQ(curve.evidence.spread, 0.02);
  EXPECT_EQ(curve.evidence.range, std::pair(100.0, 6000.0));
}

TEST(HeldOutMicros, EachSampleIsToldByTheOthersOfItsRatio) {
  std::vector<RatioSample> samples;
  for (int i = 40; i >= 1; --i) samples.push_back({1.0 * i * i, 1.5 * i * i, 100.0 * i, 0.02});
  const std::vector<double> told = HeldOutMicros(samples);
  for (std::size_t i = 0; i < samples.size(); ++i)
    EXPECT_NEAR(told[i] / samples[i].measured_us, 1, 1e-9) << i;
}

// A constant launch cost on top of the structural time: the ratio falls with size, (x + 10) / x.
TEST(FitRatioCurve, AFallingRatioIsFollowed) {
  std::vector<RatioSample> samples;
  for (int i = 0; i < 200; ++i) {
    const double x = std::pow(10.0, i / 40.0);
    samples.push_back({x, x + 10, x, 0});
  }
  const RatioCurve curve = FitRatioCurve(OpClass::kElementwise, samples);
  for (const double x : {2.0, 10.0, 100.0, 5e4})
    EXPECT_NEAR(EvaluateCurve(curve, x).us / (x + 10), 1, 0.1) << x;
  EXPECT_LT(curve.evidence.fit_error, 0.1);
}

// An outlier of a factor of 100 in one sample of 60 moves no knot by more than its group's median does.
TEST(FitRatioCurve, OneOutlierDoesNotMove) {
  std::vector<RatioSample> samples;
  for (int i = 1; i <= 60; ++i) samples.push_back({1.0 * i, 2.0 * i, 1, 0});
  samples[30].measured_us *= 100;
  const RatioCurve curve = FitRatioCurve(OpClass::kGemm, samples);
  EXPECT_NEAR(EvaluateCurve(curve, 31).us, 62, 1e-6);
}

// Ratios scattered by a factor of up to 1.3 either way: held-out samples of the same kind lie inside nine
// times in ten.
TEST(FitRatioCurve, TheIntervalCoversNineInTen) {
  const auto scatter = [](int i) {
    return std::exp(std::log(1.3) * (2 * std::fmod(i * 0.6180339887498949, 1.0) - 1));
  };
  std::vector<RatioSample> samples;
  for (int i = 0; i < 400; ++i) {
    const double x = 1 + i;
    samples.push_back({x, x * scatter(i), x, 0.01});
  }
  const RatioCurve curve = FitRatioCurve(OpClass::kGemm, samples);
  int inside = 0;
  for (int i = 0; i < 400; ++i) {
    const double x = 1.5 + i * 0.99;
    const double predicted = EvaluateCurve(curve, x).us;
    const double measured = x * scatter(i + 1000);
    inside += measured >= predicted * curve.low_ratio && measured <= predicted * curve.high_ratio;
  }
  EXPECT_GE(inside, 340);  // 85 %
  EXPECT_LE(inside, 380);  // 95 %: not wider than it must be
}

TEST(FitRatioCurve, TwoSamplesAreTheLeast) {
  EXPECT_THAT(InputErrorOf([] { FitRatioCurve(OpClass::kGemm, {}); }), HasSubstr("gemm"));
  EXPECT_THAT(InputErrorOf([] {
                FitRatioCurve(OpClass::kGemm, {{5, 6, 1, 0}, {5, 7, 1, 0}});
              }),
              HasSubstr("two"));
  const RatioCurve curve = FitRatioCurve(OpClass::kGemm, {{5, 10, 1, 0}, {50, 100, 1, 0}});
  EXPECT_NEAR(EvaluateCurve(curve, 20).us, 40, 1e-9);
}

RC_GTEST_PROP(FitRatioCurveProperties, NeverDecreasesAndReadsBack, ()) {
  std::vector<RatioSample> samples;
  const int count = *rc::gen::inRange(2, 80);
  for (int i = 0; i < count; ++i) {
    samples.push_back({static_cast<double>(*rc::gen::inRange(1, 1000)),
                       static_cast<double>(*rc::gen::inRange(1, 100000)), 1, 0});
  }
  samples.push_back({1001, 5, 1, 0});  // two sizes at least
  const RatioCurve curve = FitRatioCurve(OpClass::kReduction, samples, *rc::gen::inRange(2, 15));
  double last = 0;
  for (double x = 0.5; x < 2000; x *= 1.01) {
    const double us = EvaluateCurve(curve, x).us;
    RC_ASSERT(us >= last * (1 - 1e-12));
    last = us;
  }
  Parameters parameters;
  parameters.name = "p";
  parameters.provenance = testing::ExampleProvenance();
  KindParameters kind;
  kind.kind = "h200";
  kind.structural = "x";
  kind.curves.push_back(curve);
  parameters.kinds.push_back(kind);
  const std::string text = PrintParameters(parameters);
  RC_ASSERT(PrintParameters(ParseParameters(text, "p.json", BuiltinCatalogue())) == text);
}

}  // namespace
}  // namespace stowplan::cost_models
