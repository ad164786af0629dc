// The rows of table robustness: every final placement of the other tables, simulated under rules that its
// agent never saw (docs/protocol_rules.md#robustness).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/derive/derived.h"

namespace stowplan::tables {

inline constexpr int kCostDraws = 20;
inline constexpr double kCostSpread = 0.1;  // factors are uniform in 1 - this to 1 + this

// Rules that differ in one thing from those of the cell. A placement's runtime is empty where it does not
// fit, or where the variant is the rule of the cell itself.
struct RobustVariant {
  const char* key;   // its field in rows.csv
  const char* what;  // "links serve one transfer at a time"
};
const std::vector<RobustVariant>& RobustVariants();  // all but the costs

struct RobustRecord {
  std::string table, block, row, column, agent;
  std::int64_t seed = 0;
  std::string scenario;
  double runtime_us = 0;  // under the cell's own rules
  std::vector<std::string>
      variant_us;  // by RobustVariants(): a number, "oom", or "same" for the cell's own rules
  std::vector<std::optional<double>> costs_us;  // under each draw of costs; empty = does not fit
};

std::string PrintRobustRows(const std::vector<RobustRecord>& records);
std::vector<RobustRecord> ParseRobustRows(const std::string& text);

}  // namespace stowplan::tables
