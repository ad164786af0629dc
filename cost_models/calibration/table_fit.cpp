#include "cost_models/calibration/table_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cost_models/calibration/small_linear.h"
#include "cost_models/ops/portable_math.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/base/spec.h"

namespace stowplan::cost_models {
namespace {

constexpr int kScanPoints = 9;          // of the coarse scan, evenly spaced in logarithms from bound to bound
constexpr double kDifference = 0.02;    // step of the central differences in ln(parameter)
constexpr double kFirstPattern = 0.16;  // first step of the pattern search in ln(parameter)
constexpr double kLargestStep = 1;      // of Gauss-Newton in ln(parameter)
constexpr double kMostDamping = 1e8;
constexpr int kRounds = 4;        // Gauss-Newton and pattern search in turn
constexpr double kSame = 1e-12;   // smaller changes of an objective or residual are rounding
constexpr double kExact = 1e-10;  // mean squared residual that is as good as none: 1e-5 in a published time
constexpr double kIllConditioned = 100;

using Vector = std::vector<double>;

struct Point {
  Vector u;          // ln(parameter)
  Vector residuals;  // ln(simulated / published) by cell
  double objective = 0;
};

class Fitter {
 public:
  Fitter(const std::vector<FitParameter>& parameters, const std::vector<FitCell>& cells,
         const FitOptions& options)
      : parameters_(parameters), cells_(cells), options_(options), identified_(parameters.size(), false) {
    for (const FitParameter& parameter : parameters) {
      low_.push_back(PortableLog(parameter.low));
      start_.push_back(PortableLog(parameter.start));
      high_.push_back(PortableLog(parameter.high));
    }
  }

  TableFit Run() {
    best_ = Evaluate(start_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) Scan(i);
    Descend();
    if (RescanUnidentified()) Descend();
    return Report();
  }

 private:
  // Exactly the given number at the start and at the bounds: ln and exp would move its last bits.
  double ValueOf(std::size_t i, double u) const {
    if (u == start_[i]) return parameters_[i].start;
    if (u <= low_[i]) return parameters_[i].low;
    if (u >= high_[i]) return parameters_[i].high;
    return PortableExp(u);
  }

  Vector ValuesOf(const Vector& u) const {
    Vector values;
    for (std::size_t i = 0; i < u.size(); ++i) values.push_back(ValueOf(i, u[i]));
    return values;
  }

  Point Evaluate(Vector u) {
    Point point;
    const Vector values = ValuesOf(u);
    point.u = std::move(u);
    point.residuals.resize(cells_.size());
    ParallelFor(cells_.size(), options_.threads, [&](std::size_t cell, int) {
      const double seconds = cells_[cell].simulate(values);
      if (!std::isfinite(seconds) || seconds <= 0) {
        throw RunError(
            fmt::format("the cell '{}' simulates to {} s, but must be positive", cells_[cell].name, seconds));
      }
      point.residuals[cell] = PortableLog(seconds / cells_[cell].published_seconds);
    });
    evaluations_ += static_cast<std::int64_t>(cells_.size());
    for (const double residual : point.residuals) point.objective += residual * residual;
    return point;
  }

  bool TakeIfBetter(Point point) {
    if (!(point.objective < best_.objective * (1 - kSame))) return false;
    best_ = std::move(point);
    return true;
  }

  // Looks along one parameter from bound to bound: finds whether any cell depends on it, and a start in the
  // right valley.
  void Scan(std::size_t i) {
    const Point from = best_;
    for (int k = 0; k < kScanPoints; ++k) {
      Vector u = from.u;
      u[i] = low_[i] + (high_[i] - low_[i]) * k / (kScanPoints - 1);
      Point point = Evaluate(std::move(u));
      for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
        if (std::abs(point.residuals[cell] - from.residuals[cell]) > kSame) identified_[i] = true;
      }
      TakeIfBetter(std::move(point));
    }
  }

  // What was hidden behind a larger cost at the start may show at the solution.
  bool RescanUnidentified() {
    bool found = false;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (identified_[i]) continue;
      Scan(i);
      found = found || identified_[i];
    }
    return found;
  }

  void Descend() {
    for (int round = 0; round < kRounds; ++round) {
      const double before = best_.objective;
      GaussNewton();
      if (IsExact()) {
        converged_ = true;
        return;
      }
      PatternSearch();
      if (before - best_.objective <= 1e-3 * before) return;
    }
  }

  bool IsExact() const { return best_.objective <= kExact * static_cast<double>(cells_.size()); }

  std::vector<std::size_t> Identified() const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < identified_.size(); ++i) {
      if (identified_[i]) indices.push_back(i);
    }
    return indices;
  }

  // d residual / d ln(parameter) at the best point, cells x the given parameters. One-sided at a bound.
  Matrix Jacobian(const std::vector<std::size_t>& indices) {
    Matrix jacobian(static_cast<int>(cells_.size()), static_cast<int>(indices.size()));
    for (std::size_t column = 0; column < indices.size(); ++column) {
      const std::size_t i = indices[column];
      Vector up = best_.u;
      Vector down = best_.u;
      up[i] = std::min(up[i] + kDifference, high_[i]);
      down[i] = std::max(down[i] - kDifference, low_[i]);
      const double width = up[i] - down[i];
      if (width <= 0) continue;  // low = high: nothing to fit
      const Point above = Evaluate(std::move(up));
      const Point below = Evaluate(std::move(down));
      for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
        jacobian.at(static_cast<int>(cell), static_cast<int>(column)) =
            (above.residuals[cell] - below.residuals[cell]) / width;
      }
    }
    return jacobian;
  }

  // At a bound and pushed against it by the gradient.
  bool Pinned(std::size_t i, double gradient) const {
    return (best_.u[i] <= low_[i] && gradient >= 0) || (best_.u[i] >= high_[i] && gradient <= 0);
  }

  void GaussNewton() {
    double damping = 1e-3;
    for (int step = 0; step < options_.max_iterations; ++step) {
      ++iterations_;
      const std::vector<std::size_t> indices = Identified();
      const Matrix jacobian = Jacobian(indices);
      double moved = 0;
      while (damping <= kMostDamping) {
        const Vector delta = DampedStep(jacobian, indices, damping);
        moved = 0;
        for (const double component : delta) moved = std::max(moved, std::abs(component));
        if (moved < options_.tolerance || Move(indices, delta)) break;
        damping *= 10;
      }
      damping = std::max(damping / 10, 1e-9);
      if (moved < options_.tolerance || damping > kMostDamping / 10) return;
    }
  }

  Vector DampedStep(const Matrix& jacobian, const std::vector<std::size_t>& indices, double damping) const {
    const int n = jacobian.columns;
    Vector gradient(static_cast<std::size_t>(n), 0);
    Matrix normal(n, n);
    for (int a = 0; a < n; ++a) {
      for (int cell = 0; cell < jacobian.rows; ++cell) {
        gradient[static_cast<std::size_t>(a)] +=
            jacobian.at(cell, a) * best_.residuals[static_cast<std::size_t>(cell)];
        for (int b = 0; b < n; ++b) normal.at(a, b) += jacobian.at(cell, a) * jacobian.at(cell, b);
      }
    }
    for (int a = 0; a < n; ++a) {
      const auto at = static_cast<std::size_t>(a);
      if (normal.at(a, a) == 0 || Pinned(indices[at], gradient[at])) {
        for (int b = 0; b < n; ++b) normal.at(a, b) = normal.at(b, a) = 0;
        normal.at(a, a) = 1;
        gradient[at] = 0;
      }
      normal.at(a, a) *= 1 + damping;
      gradient[at] = -gradient[at];
    }
    Vector delta = SolvePositiveDefinite(normal, gradient);
    delta.resize(static_cast<std::size_t>(n), 0);
    for (double& component : delta) component = std::clamp(component, -kLargestStep, kLargestStep);
    return delta;
  }

  bool Move(const std::vector<std::size_t>& indices, const Vector& delta) {
    Vector u = best_.u;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const std::size_t i = indices[k];
      u[i] = std::clamp(u[i] + delta[k], low_[i], high_[i]);
    }
    return u != best_.u && TakeIfBetter(Evaluate(std::move(u)));
  }

  // Both ways along each parameter and along each principal direction of the sensitivities: kinks make
  // valleys that single parameters cannot follow.
  void PatternSearch() {
    const std::vector<std::size_t> indices = Identified();
    std::vector<Vector> directions = Directions(indices);
    for (double step = kFirstPattern; step >= options_.tolerance; step /= 2) {
      bool improved = true;
      for (int sweep = 0; improved && sweep < options_.max_iterations; ++sweep) {
        improved = false;
        for (const Vector& direction : directions)
          improved = TryBothWays(indices, direction, step) || improved;
      }
      converged_ = !improved;
    }
  }

  bool TryBothWays(const std::vector<std::size_t>& indices, const Vector& direction, double step) {
    for (const double signed_step : {step, -step}) {
      Vector delta = direction;
      for (double& component : delta) component *= signed_step;
      if (Move(indices, delta)) return true;
    }
    return false;
  }

  std::vector<Vector> Directions(const std::vector<std::size_t>& indices) {
    std::vector<Vector> directions;
    const std::size_t n = indices.size();
    for (std::size_t k = 0; k < n; ++k) {
      directions.emplace_back(n, 0.0);
      directions.back()[k] = 1;
    }
    if (n < 2) return directions;
    const Matrix jacobian = Jacobian(indices);
    Matrix normal(jacobian.columns, jacobian.columns);
    for (int a = 0; a < normal.rows; ++a) {
      for (int b = 0; b < normal.rows; ++b) {
        for (int cell = 0; cell < jacobian.rows; ++cell)
          normal.at(a, b) += jacobian.at(cell, a) * jacobian.at(cell, b);
      }
    }
    const Eigen eigen = SymmetricEigen(normal);
    for (int column = 0; column < normal.rows; ++column) {
      Vector direction;
      for (int row = 0; row < normal.rows; ++row) direction.push_back(eigen.vectors.at(row, column));
      directions.push_back(std::move(direction));
    }
    return directions;
  }

  // ---- what is told ---------------------------------------------------------------------------------------

  TableFit Report() {
    TableFit fit;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) all.push_back(i);
    const Matrix jacobian = Jacobian(all);
    for (std::size_t i = 0; i < parameters_.size(); ++i) fit.parameters.push_back(Describe(i, jacobian));
    DescribeCells(&fit);
    DescribeCondition(jacobian, &fit);
    fit.iterations = iterations_;
    fit.evaluations = evaluations_;
    fit.converged = converged_;
    AddNotes(&fit);
    return fit;
  }

  FittedParameter Describe(std::size_t i, const Matrix& jacobian) const {
    FittedParameter parameter{parameters_[i].name, ValueOf(i, best_.u[i])};
    double gradient = 0;
    double squares = 0;
    for (int cell = 0; cell < jacobian.rows; ++cell) {
      const double slope = jacobian.at(cell, static_cast<int>(i));
      squares += slope * slope;
      gradient += slope * best_.residuals[static_cast<std::size_t>(cell)];
    }
    parameter.sensitivity = std::sqrt(squares);
    parameter.identified = identified_[i];
    parameter.at_bound = identified_[i] && std::abs(gradient) > kSame && Pinned(i, gradient);
    return parameter;
  }

  void DescribeCells(TableFit* fit) const {
    Vector errors;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      const double ratio = PortableExp(best_.residuals[cell]);
      const double published = cells_[cell].published_seconds;
      fit->cells.push_back({cells_[cell].name, published, published * ratio, best_.residuals[cell]});
      errors.push_back(std::abs(ratio - 1));
    }
    std::ranges::sort(errors);
    const std::size_t middle = errors.size() / 2;
    fit->median_relative_error =
        errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
    fit->rms_log_ratio = std::sqrt(best_.objective / static_cast<double>(cells_.size()));
  }

  void DescribeCondition(const Matrix& jacobian, TableFit* fit) {
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < fit->parameters.size(); ++i) {
      if (fit->parameters[i].sensitivity > 0) active.push_back(i);
    }
    if (active.size() < 2) return;
    const int n = static_cast<int>(active.size());
    Matrix correlation(n, n);
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b < n; ++b) {
        const std::size_t i = active[static_cast<std::size_t>(a)];
        const std::size_t j = active[static_cast<std::size_t>(b)];
        double sum = 0;
        for (int cell = 0; cell < jacobian.rows; ++cell) {
          sum += jacobian.at(cell, static_cast<int>(i)) * jacobian.at(cell, static_cast<int>(j));
        }
        correlation.at(a, b) = sum / (fit->parameters[i].sensitivity * fit->parameters[j].sensitivity);
      }
    }
    const Eigen eigen = SymmetricEigen(correlation);
    const double least = std::max(eigen.values.front(), 1e-24);  // more parameters than cells: exactly 0
    fit->condition = std::sqrt(eigen.values.back() / least);
    if (fit->condition <= kIllConditioned) return;
    for (int k = 0; k < n; ++k) {
      if (std::abs(eigen.vectors.at(k, 0)) > 0.3) {
        confounded_.push_back("'" + parameters_[active[static_cast<std::size_t>(k)]].name + "'");
      }
    }
  }

  void AddNotes(TableFit* fit) const {
    for (const FittedParameter& parameter : fit->parameters) {
      if (!parameter.identified) {
        fit->notes.push_back(fmt::format("no cell depends on '{}': it keeps its start value {}",
                                         parameter.name, parameter.value));
      } else if (parameter.sensitivity == 0) {
        fit->notes.push_back(
            fmt::format("'{}' has no effect near the solution: its value {} only says that it does not "
                        "limit any cell",
                        parameter.name, parameter.value));
      }
      if (parameter.at_bound) {
        fit->notes.push_back(fmt::format("'{}' ends at its bound {}: the cells ask for more than is allowed",
                                         parameter.name, parameter.value));
      }
    }
    if (!confounded_.empty()) {
      fit->notes.push_back(
          fmt::format("{} act almost alike (condition {:.3g}): the cells determine only their combination",
                      JoinNames(confounded_), fit->condition));
    }
    if (!converged_)
      fit->notes.push_back("the search ended before its steps became small: the values may still move");
  }

  const std::vector<FitParameter>& parameters_;
  const std::vector<FitCell>& cells_;
  const FitOptions& options_;
  Vector low_;
  Vector start_;
  Vector high_;
  std::vector<bool> identified_;
  Point best_;
  std::vector<std::string> confounded_;
  int iterations_ = 0;
  std::int64_t evaluations_ = 0;
  bool converged_ = false;
};

void Check(const std::vector<FitParameter>& parameters, const std::vector<FitCell>& cells) {
  if (cells.empty()) throw InputError("a fit needs at least one published cell");
  for (const FitParameter& parameter : parameters) {
    const bool ordered =
        parameter.low > 0 && parameter.low <= parameter.start && parameter.start <= parameter.high;
    if (!ordered || !std::isfinite(parameter.high)) {
      throw InputError(
          fmt::format("the fit's parameter '{}' has bounds {} and {} and starts at {}, but must have "
                      "0 < low <= start <= high",
                      parameter.name, parameter.low, parameter.high, parameter.start));
    }
  }
  for (const FitCell& cell : cells) {
    if (!std::isfinite(cell.published_seconds) || cell.published_seconds <= 0) {
      throw InputError(fmt::format("the cell '{}' has the published time {} s, but must have a positive one",
                                   cell.name, cell.published_seconds));
    }
  }
}

}  // namespace

TableFit FitTable(const std::vector<FitParameter>& parameters, const std::vector<FitCell>& cells,
                  const FitOptions& options) {
  Check(parameters, cells);
  return Fitter(parameters, cells, options).Run();
}

}  // namespace stowplan::cost_models
