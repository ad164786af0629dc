#include "cost_models/calibration/small_linear.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

constexpr int kMaxSweeps = 60;

double OffDiagonal(const Matrix& a) {
  double sum = 0;
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < i; ++j) sum += a.at(i, j) * a.at(i, j);
  }
  return sum;
}

// Rotates rows and columns p and q of `a` so that a(p, q) becomes 0, and the columns of `vectors` along.
void Rotate(int p, int q, Matrix* a, Matrix* vectors) {
  if (a->at(p, q) == 0) return;
  const double theta = (a->at(q, q) - a->at(p, p)) / (2 * a->at(p, q));
  const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1);
  const double s = t * c;
  for (int k = 0; k < a->rows; ++k) {
    const double left = a->at(k, p);
    const double right = a->at(k, q);
    a->at(k, p) = c * left - s * right;
    a->at(k, q) = s * left + c * right;
  }
  for (int k = 0; k < a->rows; ++k) {
    const double upper = a->at(p, k);
    const double lower = a->at(q, k);
    a->at(p, k) = c * upper - s * lower;
    a->at(q, k) = s * upper + c * lower;
    const double left = vectors->at(k, p);
    const double right = vectors->at(k, q);
    vectors->at(k, p) = c * left - s * right;
    vectors->at(k, q) = s * left + c * right;
  }
}

}  // namespace

std::vector<double> SolvePositiveDefinite(const Matrix& a, const std::vector<double>& b) {
  STOWPLAN_CHECK_EQ(a.rows, a.columns);
  const int n = a.rows;
  Matrix lower(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      double rest = a.at(i, j);
      for (int k = 0; k < j; ++k) rest -= lower.at(i, k) * lower.at(j, k);
      if (i != j) {
        lower.at(i, j) = rest / lower.at(j, j);
      } else if (rest > 0) {
        lower.at(i, i) = std::sqrt(rest);
      } else {
        return {};
      }
    }
  }
  std::vector<double> x = b;
  const auto at = [&](int i) -> double& { return x[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) at(i) -= lower.at(i, k) * at(k);
    at(i) /= lower.at(i, i);
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) at(i) -= lower.at(k, i) * at(k);
    at(i) /= lower.at(i, i);
  }
  return x;
}

Eigen SymmetricEigen(const Matrix& a) {
  STOWPLAN_CHECK_EQ(a.rows, a.columns);
  const int n = a.rows;
  Matrix rotated = a;
  Matrix vectors(n, n);
  for (int i = 0; i < n; ++i) vectors.at(i, i) = 1;
  for (int sweep = 0; sweep < kMaxSweeps && OffDiagonal(rotated) > 0; ++sweep) {
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) Rotate(p, q, &rotated, &vectors);
    }
  }
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return rotated.at(i, i); });
  Eigen eigen{{}, Matrix(n, n)};
  for (int to = 0; to < n; ++to) {
    const int from = order[static_cast<std::size_t>(to)];
    eigen.values.push_back(rotated.at(from, from));
    for (int k = 0; k < n; ++k) eigen.vectors.at(k, to) = vectors.at(k, from);
  }
  return eigen;
}

}  // namespace stowplan::cost_models
