// What a cell of a table will take, from what others took: cells differ by factors of thousands, by their column (the
// agent) and their row (the graph).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace stowplan::tables {

// One thread at a time.
class CellTimes {
 public:
  // A finished cell. `row`: with its block. Seconds grow with the budget in proportion.
  void Add(const std::string& row, const std::string& column, std::int64_t budget, double seconds);

  // Seconds: the mean of the cells of this row and column. Else from the column's other rows, each times how much longer
  // other columns take in this row than in that one, geometric means. Nothing where neither was measured.
  std::optional<double> Predict(const std::string& row, const std::string& column, std::int64_t budget) const;

 private:
  struct Measured {
    double sum = 0;  // seconds a sample
    int count = 0;
    double mean() const { return sum / count; }
  };
  // How many times longer this row takes than another, by the columns that were measured in both.
  std::optional<double> LogRatio(const std::string& row, const std::string& other) const;

  std::map<std::string, std::map<std::string, Measured>> by_row_;  // then by column
};

}  // namespace stowplan::tables
