// A linear program in rows, and the packaged solver for it.
#pragma once

#include <cstdint>
#include <vector>

namespace stowplan::agents {

// Minimise the sum of cost * x, where lower <= x <= upper and each row's sum of value * x is at least its
// at_least.
struct LinearProgram {
  struct Entry {
    std::int32_t row;
    std::int32_t column;
    double value;
  };

  // Both return the number of what they add; kInfinity in `upper` = no bound.
  std::int32_t AddColumn(double lower_bound, double upper_bound, double cost_of_one);
  std::int32_t AddRow(double at_least_this);
  void AddEntry(std::int32_t row, std::int32_t column, double value) {
    entries.push_back({row, column, value});
  }

  static constexpr double kInfinity = 1e30;
  std::vector<double> lower, upper, cost;  // by column
  std::vector<double> at_least;            // by row
  std::vector<Entry> entries;              // each place at most once
};

// An optimal x, by COIN-OR's Clp (dual simplex, one thread); of several the same one each time, on CPUs for
// which LAPACK computes alike. Throws RunError where there is none, or where the solver is missing or gives up.
std::vector<double> Minimise(const LinearProgram& program);

// Opens the solver. Throws RunError where it is missing, or where this process may not have the memory that it starts with.
void RequireSolver();

}  // namespace stowplan::agents
