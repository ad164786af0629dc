// Dense linear algebra for matrices of a handful of rows: what a fit of few parameters needs.
#pragma once

#include <vector>

namespace stowplan::cost_models {

// Row-major, rows x columns.
struct Matrix {
  Matrix(int row_count, int column_count)
      : rows(row_count),
        columns(column_count),
        data(static_cast<std::size_t>(row_count * column_count), 0.0) {}
  double& at(int row, int column) { return data[static_cast<std::size_t>(row * columns + column)]; }
  double at(int row, int column) const { return data[static_cast<std::size_t>(row * columns + column)]; }

  int rows;
  int columns;
  std::vector<double> data;
};

// Solves a x = b for a symmetric positive definite matrix by Cholesky's decomposition; empty if it is not.
std::vector<double> SolvePositiveDefinite(const Matrix& a, const std::vector<double>& b);

// Eigenvalues of a symmetric matrix, ascending, with unit eigenvectors in the columns (Jacobi rotations).
struct Eigen {
  std::vector<double> values;
  Matrix vectors;
};
Eigen SymmetricEigen(const Matrix& a);

}  // namespace stowplan::cost_models
