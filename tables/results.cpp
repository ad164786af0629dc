#include "tables/results.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "tables/curve.h"

namespace stowplan::tables {
namespace {

std::string Key(const std::string& block, const std::string& line, const std::string& column) {
  return block + ":" + line + "/" + column;
}

constexpr double kMicrosPerSecond = 1e6;

// Medians of what the records have.
template <typename Number>
std::optional<double> MedianOf(const std::vector<CellRecord>& records,
                               std::optional<Number> CellRecord::*field, double scale) {
  std::vector<double> values;
  for (const CellRecord& record : records) {
    if (record.*field) values.push_back(static_cast<double>(*(record.*field)) / scale);
  }
  if (values.empty()) return std::nullopt;
  return Median(values);
}

CellKind ParseKind(const std::string& text) {
  for (const CellKind kind : {CellKind::kFitted, CellKind::kPredicted, CellKind::kSearched}) {
    if (text == ToString(kind)) return kind;
  }
  throw InputError(fmt::format("rows.csv: kind \"{}\" is none of fitted, predicted and searched.", text));
}

void Summarise(CellSummary& cell) {
  auto& records = cell.records;
  std::int64_t budget = 0;
  for (const CellRecord& record : records) budget = std::max(budget, record.budget);
  std::erase_if(records, [&](const CellRecord& record) { return record.budget != budget; });
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.seed < b.seed; });
  if (records.empty()) return;
  cell.kind = ParseKind(records.front().kind);
  cell.note = records.front().note;
  cell.state = CellSummary::State::kNotRun;
  if (!cell.note.empty()) return;
  cell.seeds = static_cast<int>(records.size());
  std::vector<double> runtimes;
  for (const CellRecord& record : records) {
    if (record.runtime_us) runtimes.push_back(*record.runtime_us / kMicrosPerSecond);
    cell.wall_seconds += record.wall_seconds.value_or(0);
  }
  cell.feasible = static_cast<int>(runtimes.size());
  cell.state = runtimes.empty() ? CellSummary::State::kOutOfMemory : CellSummary::State::kFits;
  if (!runtimes.empty()) {
    cell.median = Median(runtimes);
    cell.low = *std::min_element(runtimes.begin(), runtimes.end());
    cell.high = *std::max_element(runtimes.begin(), runtimes.end());
  }
  cell.bound = MedianOf(records, &CellRecord::lower_bound_us, kMicrosPerSecond);
  cell.samples = MedianOf(records, &CellRecord::samples, 1);
  cell.samples_to_best = MedianOf(records, &CellRecord::samples_to_best, 1);
  cell.samples_to_1pct = MedianOf(records, &CellRecord::samples_to_1pct, 1);
  cell.proposals = MedianOf(records, &CellRecord::proposals, 1);
  cell.screens = MedianOf(records, &CellRecord::screens, 1);
}

}  // namespace

std::optional<double> CellSummary::ratio() const {
  if (!median || !published || !published->value) return std::nullopt;
  return *median / *published->value;
}

std::optional<bool> CellSummary::same_verdict() const {
  if (!judged || !published || !was_run()) return std::nullopt;
  return published->out_of_memory == (state == State::kOutOfMemory);
}

agents::SeededTimes CellSummary::times() const {
  agents::SeededTimes times{.sampled = sampled};
  for (const CellRecord& record : records) {
    times.by_seed[record.seed] =
        record.runtime_us ? *record.runtime_us / kMicrosPerSecond : std::numeric_limits<double>::infinity();
  }
  return times;
}

TableResults::TableResults(const TableDefinition& table, const std::vector<CellRecord>& records)
    : table_(table) {
  for (const TableBlock& block : table.blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        CellSummary& cell = cells_[Key(block.key, line.key, column.key)];
        cell.kind = column.kind;
        cell.judged = block.memory_limits;
        cell.sampled = column.sampled;
        if (const auto found = line.published.find(column.key); found != line.published.end())
          cell.published = found->second;
        if (const auto found = line.published_samples.find(column.key); found != line.published_samples.end())
          cell.published_samples = found->second;
      }
    }
  }
  for (const CellRecord& record : records) {
    const auto found = cells_.find(Key(record.block, record.row, record.column));
    if (found == cells_.end()) {
      throw InputError(fmt::format(
          "rows.csv: has a row of {}, which is no cell of table {}; `stowplan table run {}{}` writes "
          "the rows anew.",
          Key(record.block, record.row, record.column), table.name, table.called(),
          table.path.empty() ? " --export" : ""));
    }
    found->second.records.push_back(record);
  }
  for (auto& [key, cell] : cells_) Summarise(cell);
}

const CellSummary& TableResults::At(const std::string& block, const std::string& line,
                                    const std::string& column) const {
  const auto found = cells_.find(Key(block, line, column));
  STOWPLAN_CHECK(found != cells_.end());
  return found->second;
}

std::optional<double> TableResults::Bound(const std::string& block, const std::string& line) const {
  std::optional<double> of_sampled;
  std::optional<double> of_all;
  const auto lower = [](std::optional<double>& least, const std::optional<double>& bound) {
    if (bound && (!least || *bound < *least)) least = bound;
  };
  for (const TableBlock& b : table_.blocks) {
    if (b.key != block) continue;
    for (const TableColumn& column : b.columns) {
      const CellSummary& cell = At(block, line, column.key);
      lower(of_all, cell.bound);
      if (column.sampled) lower(of_sampled, cell.bound);
    }
  }
  return of_sampled ? of_sampled : of_all;
}

std::vector<const CellRecord*> TableResults::records() const {
  std::vector<const CellRecord*> all;
  for (const TableBlock& block : table_.blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        for (const CellRecord& record : At(block.key, line.key, column.key).records) all.push_back(&record);
      }
    }
  }
  return all;
}

std::vector<std::pair<double, double>> CurvePoints(const CellRecord& record) {
  std::vector<std::pair<double, double>> points = ParseCurve(record.curve, record.column);
  for (auto& [sample, best] : points) best /= 1e6;
  // The best stays the best until the budget is spent.
  if (!points.empty() && record.samples)
    points.emplace_back(static_cast<double>(*record.samples), points.back().second);
  return points;
}

}  // namespace stowplan::tables
