// What the outcome of a table and its discussion both count.
#pragma once

#include <optional>

#include "tables/results.h"

namespace stowplan::tables {

// How close the cells of one kind in the table's first block are to the published numbers. A measurement counts once;
// among predicted cells none whose number the fit has seen.
struct Closeness {
  std::size_t cells = 0;
  double median_error = 0;  // 0.05: half of them are within 5 %
  double largest_error = 0;
  std::size_t seen = 0;  // left out: their published number was fitted
  // Of these those whose number was fitted in another row, where our runtime is another.
  std::size_t seen_elsewhere = 0;
  double largest_error_elsewhere = 0;
};
std::optional<Closeness> ClosenessOf(const TableResults& results, CellKind kind);  // empty of no cells

// In how many cells of the first block whose placement a rule fixes ours and the paper say the same about memory.
struct MemoryAgreement {
  std::size_t cells = 0;
  std::size_t same = 0;
};
MemoryAgreement CompareMemory(const TableResults& results);

}  // namespace stowplan::tables
