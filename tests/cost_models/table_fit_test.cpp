#include "cost_models/calibration/table_fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cost_models/calibration/small_linear.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::InputErrorOf;

// A step that is a sum: flops at an efficiency for each class, and ops at a dispatch cost.
struct ModelledStep {
  double conv_tflop;
  double gemm_tflop;
  double ops;
};

double Seconds(const ModelledStep& step, std::span<const double> values) {
  return step.conv_tflop / (4.29 * values[0]) + step.gemm_tflop / (4.29 * values[1]) +
         step.ops * values[2] * 1e-6;
}

const std::vector<FitParameter> kThree = {
    {"k40.convolution", 0.5, 0.01, 1}, {"k40.gemm", 0.7, 0.01, 1}, {"k40.dispatch_us", 5.7, 0.1, 1000}};

std::vector<FitCell> CellsOf(const std::vector<ModelledStep>& steps, const std::vector<double>& truth,
                             const std::vector<double>& noise = {}) {
  std::vector<FitCell> cells;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ModelledStep step = steps[i];
    const double factor = i < noise.size() ? noise[i] : 1;
    cells.push_back({"step" + std::to_string(i), Seconds(step, truth) * factor,
                     [step](std::span<const double> values) { return Seconds(step, values); }});
  }
  return cells;
}

const std::vector<ModelledStep> kSteps = {{0.034, 0, 25'000}, {2.17, 0.01, 40'000}, {0.01, 1.18, 9'000}};

TEST(FitTable, RecoversPlantedParameters) {
  const std::vector<double> truth = {0.43, 0.17, 6.2};
  const TableFit fit = FitTable(kThree, CellsOf(kSteps, truth));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(fit.parameters[i].value / truth[i], 1, 1e-3) << i;
  EXPECT_LT(fit.rms_log_ratio, 1e-4);
  EXPECT_TRUE(fit.converged);
  EXPECT_THAT(fit.notes, IsEmpty());
  EXPECT_GT(fit.evaluations, 0);
}

// d ln t / d ln p of a cost that is all of the step is -1 for an efficiency: t = work / p.
TEST(FitTable, TellsSensitivities) {
  const TableFit fit =
      FitTable({kThree[0]}, {{"conv", 1, [](std::span<const double> v) { return 0.3 / v[0]; }}});
  EXPECT_NEAR(fit.parameters[0].value, 0.3, 1e-4);
  EXPECT_NEAR(fit.parameters[0].sensitivity, 1, 1e-9);
  EXPECT_EQ(fit.condition, 1);
}

// One parameter, three cells that want 0.2, 0.4 and 0.8: least squares in logarithms is the geometric mean,
// and the residuals are ln 2, 0 and -ln 2 (a step that wants 0.2 is simulated too fast).
TEST(FitTable, OverdeterminedCellsLeaveResiduals) {
  std::vector<FitCell> cells;
  for (const double share : {0.2, 0.4, 0.8}) {
    cells.push_back({"cell", 1 / share, [](std::span<const double> v) { return 1 / v[0]; }});
  }
  const TableFit fit = FitTable({{"p", 0.5, 0.01, 1}}, cells);
  EXPECT_NEAR(fit.parameters[0].value, 0.4, 1e-4);
  EXPECT_NEAR(fit.cells[0].log_ratio, -std::log(2), 1e-3);
  EXPECT_NEAR(fit.cells[1].log_ratio, 0, 1e-3);
  EXPECT_NEAR(fit.cells[2].log_ratio, std::log(2), 1e-3);
  EXPECT_NEAR(fit.rms_log_ratio, std::log(2) * std::sqrt(2.0 / 3), 1e-3);
  EXPECT_NEAR(fit.median_relative_error, 0.5, 1e-3);  // of 0.5, 0 and 1
  EXPECT_NEAR(fit.cells[0].simulated_seconds, 2.5, 1e-3);
}

TEST(FitTable, AParameterWithoutCellsKeepsItsStart) {
  auto parameters = kThree;
  parameters.push_back({"k40.depthwise", 0.0531, 0.001, 1});
  const TableFit fit = FitTable(parameters, CellsOf(kSteps, {0.43, 0.17, 6.2}));
  EXPECT_EQ(fit.parameters[3].value, 0.0531);  // to the last bit
  EXPECT_FALSE(fit.parameters[3].identified);
  EXPECT_EQ(fit.parameters[3].sensitivity, 0);
  EXPECT_THAT(fit.notes, ElementsAre(HasSubstr("no cell depends on 'k40.depthwise'")));
  EXPECT_NEAR(fit.parameters[0].value, 0.43, 1e-3);
}

// Hidden behind a maximum at the start, but not at the solution: t = max(1 / p, 1 / q).
TEST(FitTable, KinksAreCrossed) {
  const auto slower = [](double a, double b) {
    return [a, b](std::span<const double> v) { return std::max(a / v[0], b / v[1]); };
  };
  const std::vector<FitCell> cells = {{"a", 1 / 0.2, slower(1, 0.1)}, {"b", 1 / 0.05, slower(0.1, 1)}};
  const TableFit fit = FitTable({{"p", 0.01, 0.001, 1}, {"q", 0.9, 0.001, 1}}, cells);
  EXPECT_NEAR(fit.parameters[0].value, 0.2, 1e-3);
  EXPECT_NEAR(fit.parameters[1].value, 0.05, 1e-3);
  EXPECT_LT(fit.rms_log_ratio, 1e-3);
}

TEST(FitTable, ParametersThatActAlikeAreNamed) {
  const auto product = [](std::span<const double> v) { return 1 / (v[0] * v[1]); };
  const TableFit fit =
      FitTable({{"p", 0.5, 0.01, 1}, {"q", 0.5, 0.01, 1}, {"r", 0.5, 0.01, 1}},
               {{"a", 20, product}, {"b", 3, [](std::span<const double> v) { return 1 / v[2]; }}});
  EXPECT_NEAR(fit.parameters[0].value * fit.parameters[1].value, 0.05, 1e-4);
  EXPECT_GT(fit.condition, 100);
  ASSERT_FALSE(fit.notes.empty());
  EXPECT_THAT(fit.notes.back(), HasSubstr("'p' and 'q' act almost alike"));
  EXPECT_THAT(fit.notes.back(), ::testing::Not(HasSubstr("'r'")));
}

TEST(FitTable, BoundsHoldAndAreTold) {
  const TableFit fit =
      FitTable({{"p", 0.5, 0.1, 1}}, {{"a", 0.5, [](std::span<const double> v) { return 1 / v[0]; }}});
  EXPECT_EQ(fit.parameters[0].value, 1);
  EXPECT_TRUE(fit.parameters[0].at_bound);
  EXPECT_THAT(fit.notes, ElementsAre(HasSubstr("ends at its bound 1")));
  EXPECT_NEAR(fit.cells[0].log_ratio, std::log(2), 1e-9);
}

TEST(FitTable, AFixedParameterStays) {
  const TableFit fit = FitTable({{"p", 0.5, 0.5, 0.5}, {"q", 0.5, 0.1, 1}},
                                {{"a", 4, [](std::span<const double> v) { return 1 / (v[0] * v[1]); }}});
  EXPECT_EQ(fit.parameters[0].value, 0.5);
  EXPECT_NEAR(fit.parameters[1].value, 0.5, 1e-4);
}

TEST(FitTable, SameBitsForAnyNumberOfThreads) {
  const std::vector<double> noise = {1.1, 0.9, 1.05};
  const auto cells = CellsOf(kSteps, {0.43, 0.17, 6.2}, noise);
  const TableFit one = FitTable(kThree, cells);
  for (const int threads : {1, 2, 4}) {
    FitOptions options;
    options.threads = threads;
    const TableFit other = FitTable(kThree, cells, options);
    EXPECT_EQ(other.evaluations, one.evaluations);
    EXPECT_EQ(other.rms_log_ratio, one.rms_log_ratio);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(other.parameters[i].value, one.parameters[i].value);
  }
}

TEST(FitTable, ACheapFitIsCheap) {
  const TableFit fit = FitTable(kThree, CellsOf(kSteps, {0.43, 0.17, 6.2}));
  EXPECT_LT(fit.evaluations, 3 * 1000);  // a simulation of all cells costs; a thousand of them is minutes
}

TEST(FitTable, BadInputIsRefused) {
  const auto one = [](std::span<const double>) { return 1.0; };
  EXPECT_THAT(InputErrorOf([&] { FitTable({}, {}); }), HasSubstr("cell"));
  EXPECT_THAT(InputErrorOf([&] { FitTable({{"p", 2, 0.1, 1}}, {{"a", 1, one}}); }), HasSubstr("'p'"));
  EXPECT_THAT(InputErrorOf([&] { FitTable({{"p", 0.5, 0, 1}}, {{"a", 1, one}}); }), HasSubstr("'p'"));
  EXPECT_THAT(InputErrorOf([&] { FitTable({{"p", 0.5, 0.1, 1}}, {{"a", 0, one}}); }), HasSubstr("'a'"));
  try {
    FitTable({}, {{"a", 1, [](std::span<const double>) { return NAN; }}});
    ADD_FAILURE();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'a'"));
  }
}

TEST(FitTable, WithoutParametersItOnlyMeasures) {
  const TableFit fit = FitTable({}, {{"a", 2, [](std::span<const double>) { return 1.0; }}});
  EXPECT_NEAR(fit.cells[0].log_ratio, -std::log(2), 1e-12);
  EXPECT_TRUE(fit.converged);
}

// Planted parameters of random magnitude are found whatever the start.
RC_GTEST_PROP(FitTableProperties, RecoversFromAnyStart, ()) {
  const auto share = [] { return std::pow(10.0, -*rc::gen::inRange(10, 150) / 100.0); };
  const std::vector<double> truth = {share(), share(), *rc::gen::inRange(10, 2000) / 10.0};
  auto parameters = kThree;
  parameters[0].start = share();
  parameters[1].start = share();
  const TableFit fit = FitTable(parameters, CellsOf(kSteps, truth));
  RC_ASSERT(fit.rms_log_ratio < 1e-3);
}

// ---- the linear algebra below it --------------------------------------------------------------------------

TEST(SmallLinear, SolvesAndRefuses) {
  Matrix a(2, 2);
  a.at(0, 0) = 4;
  a.at(0, 1) = a.at(1, 0) = 2;
  a.at(1, 1) = 3;
  // [4 2; 2 3] [1; 2] = [8; 8].
  EXPECT_THAT(SolvePositiveDefinite(a, {8, 8}), ElementsAre(::testing::DoubleEq(1), ::testing::DoubleEq(2)));
  a.at(1, 1) = 1;  // [4 2; 2 1] is singular
  EXPECT_THAT(SolvePositiveDefinite(a, {8, 8}), IsEmpty());
}

// [2 1; 1 2] has eigenvalues 1 and 3 with vectors (1, -1) and (1, 1).
TEST(SmallLinear, Eigenvalues) {
  Matrix a(2, 2);
  a.at(0, 0) = a.at(1, 1) = 2;
  a.at(0, 1) = a.at(1, 0) = 1;
  const Eigen eigen = SymmetricEigen(a);
  EXPECT_NEAR(eigen.values[0], 1, 1e-14);
  EXPECT_NEAR(eigen.values[1], 3, 1e-14);
  EXPECT_NEAR(eigen.vectors.at(0, 0) + eigen.vectors.at(1, 0), 0, 1e-14);
  EXPECT_NEAR(std::abs(eigen.vectors.at(0, 1)), std::sqrt(0.5), 1e-14);
}

RC_GTEST_PROP(SmallLinearProperties, EigenvectorsDiagonalise, ()) {
  const int n = *rc::gen::inRange(1, 7);
  Matrix a(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) a.at(i, j) = a.at(j, i) = *rc::gen::inRange(-50, 50);
  }
  const Eigen eigen = SymmetricEigen(a);
  for (int column = 0; column < n; ++column) {
    for (int row = 0; row < n; ++row) {
      double image = 0;
      for (int k = 0; k < n; ++k) image += a.at(row, k) * eigen.vectors.at(k, column);
      RC_ASSERT(std::abs(image - eigen.values[static_cast<std::size_t>(column)] *
                                     eigen.vectors.at(row, column)) < 1e-10);
    }
  }
}

}  // namespace
}  // namespace stowplan::cost_models
