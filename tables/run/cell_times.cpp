#include "tables/run/cell_times.h"

#include <algorithm>
#include <cmath>

namespace stowplan::tables {

void CellTimes::Add(const std::string& row, const std::string& column, std::int64_t budget, double seconds) {
  constexpr double kLeast = 1e-9;  // logarithms are taken
  Measured& measured = by_row_[row][column];
  measured.sum += std::max(seconds, kLeast) / static_cast<double>(std::max<std::int64_t>(budget, 1));
  ++measured.count;
}

std::optional<double> CellTimes::LogRatio(const std::string& row, const std::string& other) const {
  const auto here = by_row_.find(row);
  if (here == by_row_.end()) return std::nullopt;
  const auto& there = by_row_.at(other);
  double sum = 0;
  int count = 0;
  for (const auto& [column, measured] : here->second) {
    const auto same = there.find(column);
    if (same == there.end()) continue;
    sum += std::log(measured.mean() / same->second.mean());
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> CellTimes::Predict(const std::string& row, const std::string& column,
                                         std::int64_t budget) const {
  double sum = 0;
  int count = 0;
  for (const auto& [other, columns] : by_row_) {
    const auto measured = columns.find(column);
    if (measured == columns.end()) continue;
    if (other == row) return measured->second.mean() * static_cast<double>(budget);
    const std::optional<double> ratio = LogRatio(row, other);
    if (!ratio) continue;
    sum += std::log(measured->second.mean()) + *ratio;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count) * static_cast<double>(budget);
}

}  // namespace stowplan::tables
