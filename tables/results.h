// The cells of a table with seeds put together and the published numbers beside them. What cells.csv and the terminal show.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agents/comparison/estimate.h"
#include "sim/base/statistics.h"
#include "tables/record.h"
#include "tables/table.h"

namespace stowplan::tables {

struct CellSummary {
  enum class State : std::uint8_t { kAbsent, kNotRun, kOutOfMemory, kFits };

  State state = State::kAbsent;
  CellKind kind = CellKind::kSearched;
  bool judged = true;    // whether its block knows memory limits
  bool sampled = false;  // an outcome of search, one for each seed; else one placement
  std::string note;      // why it was not run
  int seeds = 0;
  int feasible = 0;              // seeds that found a feasible placement
  std::optional<double> median;  // seconds, over the feasible seeds
  double low = 0;                // smallest and largest of them
  double high = 0;
  std::optional<double> bound;    // proven lower bound [s]
  std::optional<double> samples;  // medians over seeds
  std::optional<double> samples_to_best;
  std::optional<double> samples_to_1pct;
  std::optional<double> proposals;
  std::optional<double> screens;
  double wall_seconds = 0;                  // sum over seeds
  std::optional<PublishedCell> published;   // runtime [s] or OOM
  std::optional<double> published_samples;  // placements sampled, as the paper counts them
  std::vector<CellRecord> records;          // by seed

  bool was_run() const { return state == State::kOutOfMemory || state == State::kFits; }
  std::int64_t budget() const { return records.empty() ? 0 : records.front().budget; }
  // By seed, for comparisons; of a cell that was run.
  agents::SeededTimes times() const;
  // ours / published where both are numbers.
  std::optional<double> ratio() const;
  // Whether both say the same about memory; empty where one says nothing.
  std::optional<bool> same_verdict() const;
};

class TableResults {
 public:
  // Of several budgets of one cell the largest counts. Throws InputError for a record of a cell the table
  // does not have.
  TableResults(const TableDefinition& table, const std::vector<CellRecord>& records);

  const TableDefinition& table() const { return table_; }
  const CellSummary& At(const std::string& block, const std::string& line, const std::string& column) const;
  // What holds for all that search in this line: the smallest bound of its sampled cells, which holds on all
  // devices that any of them may use (a rule such as CPU only may use others). Where nothing was sampled, of all
  // its cells.
  std::optional<double> Bound(const std::string& block, const std::string& line) const;
  // Every record that counts, in the table's order.
  std::vector<const CellRecord*> records() const;

 private:
  const TableDefinition& table_;
  std::map<std::string, CellSummary> cells_;  // "block:line/column"
};

// The curve of a record: samples and best seconds per step, and a last point where the budget was spent.
std::vector<std::pair<double, double>> CurvePoints(const CellRecord& record);

}  // namespace stowplan::tables
