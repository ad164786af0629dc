// Tables by shape from rows that are made up.
#include "cost_models/calibration/ratio_tables_fit.h"

#include <gtest/gtest.h>

namespace stowplan::cost_models {
namespace {

// Of two features, the second of which says nothing.
std::vector<RatioRow> RatioRowsOf(double (*ratio)(double)) {
  std::vector<RatioRow> rows;
  for (int i = 0; i < 400; ++i) {
    const double x = i / 100.0;
    rows.push_back({{x, static_cast<double>(i * 7 % 13)}, ratio(x)});
  }
  return rows;
}

double At(const RatioTables& tables, double x) {
  const double features[] = {x, 6};
  return LogRatio(tables, features);
}

TEST(RatioTablesFit, OneRatioAsksNothing) {
  const RatioTables tables = FitRatioTables(RatioRowsOf([](double) { return 0.25; }));
  EXPECT_EQ(tables.log_ratio, 0.25);
  EXPECT_EQ(tables.steps.size(), static_cast<std::size_t>(kRatioSteps));
  for (const double x : {-10.0, 0.5, 3.0, 99.0}) EXPECT_DOUBLE_EQ(At(tables, x), 0.25);
}

TEST(RatioTablesFit, FindsAStepAndASlope) {
  const RatioTables step = FitRatioTables(RatioRowsOf([](double x) { return x > 2 ? 1.0 : -0.5; }));
  EXPECT_NEAR(At(step, 1.5), -0.5, 0.02);
  EXPECT_NEAR(At(step, 2.5), 1.0, 0.02);
  EXPECT_NEAR(At(step, 1.9), -0.5, 0.1);
  const RatioTables slope = FitRatioTables(RatioRowsOf([](double x) { return 0.5 * x; }));
  for (const double x : {0.3, 1.1, 2.7, 3.6}) EXPECT_NEAR(At(slope, x), 0.5 * x, 0.06) << x;
}

// Beyond the rows the answers, and so the ratio, stay as they are.
TEST(RatioTablesFit, StaysAtTheRatioOfTheLastRowsBeyondThem) {
  const RatioTables slope = FitRatioTables(RatioRowsOf([](double x) { return 0.5 * x; }));
  EXPECT_EQ(At(slope, 4), At(slope, 1000));
  EXPECT_EQ(At(slope, -1), At(slope, -1000));
}

TEST(RatioTablesFit, FewRowsArePulledToTheMedian) {
  std::vector<RatioRow> rows = RatioRowsOf([](double) { return 0.0; });
  rows.push_back({{50.0, 6}, 2.0});
  const double pulled = At(FitRatioTables(rows), 50);
  EXPECT_GT(pulled, 0.5);
  EXPECT_LT(pulled, 2.0);
}

}  // namespace
}  // namespace stowplan::cost_models
