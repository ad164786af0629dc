#include "cost_models/calibration/copy_fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

// 4 B to 1 GiB in powers of two.
std::vector<CopySample> Line(double alpha_us, double us_per_byte) {
  std::vector<CopySample> samples;
  for (int power = 2; power <= 30; ++power) {
    const sim::Bytes bytes = sim::Bytes{1} << power;
    samples.push_back({bytes, alpha_us + us_per_byte * static_cast<double>(bytes), 0.01});
  }
  return samples;
}

RC_GTEST_PROP(FitCopies, LatencyAndBandwidthAreFoundAgain, ()) {
  const double alpha = *rc::gen::inRange(5, 500) / 10.0;       // 0.5 to 50 us
  const double gigabytes = *rc::gen::inRange(5, 4000) / 10.0;  // 0.5 to 400 GB/s
  std::vector<CopySample> samples = Line(alpha, 1 / (gigabytes * 1e3));
  const CopyFit fit = FitCopies("link", samples);
  RC_ASSERT(std::abs(fit.alpha_beta.alpha_us / alpha - 1) < 1e-3);
  RC_ASSERT(std::abs(fit.alpha_beta.us_per_byte * gigabytes * 1e3 - 1) < 1e-3);
  RC_ASSERT(std::abs(fit.link.knots.front().us / alpha - 1) < 0.02);
  RC_ASSERT(std::abs(static_cast<double>(fit.link.bandwidth) / (gigabytes * 1e9) - 1) < 0.02);
  // Whatever order they come in.
  std::ranges::reverse(samples);
  const CopyFit other = FitCopies("link", samples);
  RC_ASSERT(other.link.knots.size() == fit.link.knots.size());
  for (std::size_t i = 0; i < fit.link.knots.size(); ++i) {
    RC_ASSERT(other.link.knots[i].bytes == fit.link.knots[i].bytes);
    RC_ASSERT(other.link.knots[i].us == fit.link.knots[i].us);
  }
}

RC_GTEST_PROP(FitCopies, TheCurveStartsAtZeroAndNeverFalls, ()) {
  std::vector<CopySample> samples;
  const int sizes = *rc::gen::inRange(2, 40);
  for (int i = 0; i < sizes; ++i)
    samples.push_back({i * 1000 + *rc::gen::inRange(0, 2), *rc::gen::inRange(1, 10000) / 7.0, 0});
  const CopyFit fit = FitCopies("link", samples);
  const auto& knots = fit.link.knots;
  RC_ASSERT(knots.front().bytes == 0);
  RC_ASSERT(knots.size() >= 2u);
  RC_ASSERT(knots.size() <= 16u);
  for (std::size_t i = 1; i < knots.size(); ++i) {
    RC_ASSERT(knots[i].bytes > knots[i - 1].bytes);
    RC_ASSERT(knots[i].us >= knots[i - 1].us);
  }
  RC_ASSERT(knots.back().us > knots[knots.size() - 2].us);  // more bytes take longer
  RC_ASSERT(fit.link.bandwidth >= 1);
}

TEST(FitCopies, SizesThatMakeNoDifferenceStillHaveAnEnd) {
  for (const double us : {0.5, 12.3456, 54321.0}) {
    const CopyFit fit = FitCopies("link", {{1000, us, 0}, {1'000'000, us, 0}});
    EXPECT_EQ(fit.link.knots.size(), 2u);
    EXPECT_GT(fit.link.knots.back().us, fit.link.knots.front().us);
    EXPECT_NEAR(fit.link.knots.back().us / us, 1, 3e-3);
  }
}

// A plateau, a jump at 64 KiB and another bandwidth behind it: what latency and bandwidth alone cannot say.
double WithAStep(sim::Bytes bytes) {
  const auto b = static_cast<double>(bytes);
  return b <= 65536 ? 3 + b / 9e3 : 16 + b / 5e4;
}

TEST(FitCopies, FollowsAStepWhereLatencyAndBandwidthDoNot) {
  std::vector<CopySample> samples;
  for (int power = 2; power <= 30; ++power)
    samples.push_back({sim::Bytes{1} << power, WithAStep(sim::Bytes{1} << power), 0.01});
  const CopyFit fit = FitCopies("link", samples);
  EXPECT_GE(fit.link.knots.size(), 8u);
  double worst = 0, worst_line = 0;
  for (const CopyPoint& point : fit.points) {
    EXPECT_FALSE(point.outlier) << point.sample.bytes;
    worst = std::max(worst, std::abs(point.fitted_us / point.sample.us - 1));
    worst_line =
        std::max(worst_line, std::abs(fit.alpha_beta.Micros(point.sample.bytes) / point.sample.us - 1));
  }
  EXPECT_LT(worst, 0.03);
  EXPECT_GT(worst_line, 0.2);
}

TEST(FitCopies, ASpikeMovesNothingAndIsNamed) {
  for (const std::size_t at : {3u, 12u, 20u, 27u}) {
    for (const double factor : {5.0, 0.3}) {
      std::vector<CopySample> samples = Line(2.5, 1 / 5e4);
      samples[at].us *= factor;
      const CopyFit fit = FitCopies("link", samples);
      for (std::size_t i = 0; i < samples.size(); ++i)
        EXPECT_EQ(fit.points[i].outlier, i == at) << i << " of " << at;
      for (const CopySample& clean : Line(2.5, 1 / 5e4))
        EXPECT_NEAR(CopyMicros(fit.link.knots, clean.bytes) / clean.us, 1, 0.05)
            << clean.bytes << " with " << at;
    }
  }
}

TEST(FitCopies, EverySizeButTheOutermostIsHeldOutOnce) {
  const CopyFit fit = FitCopies("link", Line(2.5, 1 / 5e4));
  for (std::size_t i = 0; i < fit.points.size(); ++i) {
    const bool outermost = i == 0 || i + 1 == fit.points.size();
    EXPECT_EQ(fit.points[i].held_out_us > 0, !outermost) << i;
    if (!outermost) {
      EXPECT_NEAR(fit.points[i].held_out_us / fit.points[i].sample.us, 1, 0.1) << i;
    }
  }
}

// Choosing knots takes the cube of the number of sizes, of 4,000 more than an hour.
TEST(FitCopies, VeryManySizesStillMakeACurveInTime) {
  std::vector<CopySample> samples;
  for (int i = 1; i <= 4'000; ++i) samples.push_back({i * 4096, 2.5 + i / 12.5, 0.01});
  const CopyFit fit = FitCopies("link", samples);
  EXPECT_EQ(fit.points.size(), samples.size());
  for (const CopyPoint& point : fit.points)
    ASSERT_NEAR(point.fitted_us / point.sample.us, 1, 0.02) << point.sample.bytes;
  for (CopySample& sample : samples) sample.us = 1e6 / static_cast<double>(sample.bytes);
  EXPECT_EQ(FitCopies("falling", samples).points.size(), samples.size());
}

TEST(FitCopies, RefusesWhatMakesNoCurve) {
  EXPECT_THAT(testing::InputErrorOf([] {
                FitCopies("h200-pinned", {{4, 1, 0}, {4, 2, 0}});
              }),
              HasSubstr("h200-pinned: copies were measured at fewer than two sizes"));
  EXPECT_THAT(testing::InputErrorOf([] {
                FitCopies("h200-pinned", {{4, 1, 0}, {8, 0, 0}});
              }),
              HasSubstr("a copy of 8 bytes took no time"));
}

}  // namespace
}  // namespace stowplan::cost_models
