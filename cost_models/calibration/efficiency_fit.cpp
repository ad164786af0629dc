#include "cost_models/calibration/efficiency_fit.h"

#include <cmath>

#include "cost_models/calibration/errors.h"
#include "cost_models/ops/portable_math.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

constexpr double kLeast = 1e-3, kMost = 2;
constexpr int kHalvings = 50;
constexpr double kLeastSensitivity = 0.5;  // |d ln t / d ln e|
constexpr double kStep = 1.05;

class ClassSolver {
 public:
  ClassSolver(OpClass op_class, const DeviceSheet& sheet, const ClassEfficiency& efficiency,
              const std::vector<Tile>& tiles, const RooflineOptions& options)
      : at_(static_cast<std::size_t>(op_class)),
        sheet_(sheet),
        efficiency_(efficiency),
        tiles_(tiles),
        options_(options) {}

  double Micros(const ProbedWork& op, double efficiency) {
    efficiency_[at_] = efficiency;
    return RooflineMicros(op.work, sheet_, efficiency_, tiles_, options_);
  }

  // The efficiency of the measured time, by halving in logarithms, and its weight; weight 0 where there is none.
  std::pair<double, double> Solve(const ProbedWork& op) {
    double low = kLeast, high = kMost;
    if (Micros(op, low) < op.measured_us || Micros(op, high) > op.measured_us) return {0, 0};
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = std::sqrt(low * high);
      (Micros(op, middle) > op.measured_us ? low : high) = middle;
    }
    const double found = std::sqrt(low * high);
    const double slope =
        PortableLog(Micros(op, found / kStep) / Micros(op, found * kStep)) / (2 * PortableLog(kStep));
    return {found, slope >= kLeastSensitivity ? slope : 0};
  }

 private:
  std::size_t at_;
  const DeviceSheet& sheet_;
  ClassEfficiency efficiency_;
  const std::vector<Tile>& tiles_;
  const RooflineOptions options_;
};

std::vector<OpClass> Order() {
  std::vector<OpClass> order = {OpClass::kElementwise};
  for (int i = 0; i < kOpClasses; ++i) {
    if (static_cast<OpClass>(i) != OpClass::kElementwise) order.push_back(static_cast<OpClass>(i));
  }
  return order;
}

}  // namespace

std::map<OpClass, FittedNumber> FitEfficiency(const std::vector<ProbedWork>& ops, const DeviceSheet& sheet,
                                              ClassEfficiency start, const std::vector<Tile>& tiles,
                                              const RooflineOptions& options) {
  std::map<OpClass, FittedNumber> fitted;
  for (const OpClass op_class : Order()) {
    ClassSolver solver(op_class, sheet, start, tiles, options);
    std::vector<std::pair<double, double>> solutions;
    std::vector<const ProbedWork*> members;
    for (const ProbedWork& op : ops) {
      if (op.work.op_class != op_class) continue;
      members.push_back(&op);
      if (const auto solution = solver.Solve(op); solution.second > 0) solutions.push_back(solution);
    }
    if (solutions.empty()) continue;
    FittedNumber number{.value = Rounded(WeightedMedian(solutions))};
    std::vector<std::pair<double, double>> pairs;
    std::pair<double, double> range = {INFINITY, 0};
    for (const ProbedWork* op : members) {
      pairs.emplace_back(op->measured_us, solver.Micros(*op, number.value));
      const double work = IsContraction(op_class) ? op->work.flops : op->work.bytes;
      range = {std::min(range.first, work), std::max(range.second, work)};
    }
    std::vector<double> distances;
    for (const auto& [value, weight] : solutions) distances.push_back(std::abs(value / number.value - 1));
    number.evidence = {.samples = static_cast<std::int64_t>(solutions.size()),
                       .spread = Rounded(Quantile(distances, 0.5)),
                       .fit_error = Rounded(RmsLog(pairs)),
                       .range = range};
    start[static_cast<std::size_t>(op_class)] = number.value;
    fitted.emplace(op_class, number);
  }
  return fitted;
}

}  // namespace stowplan::cost_models
