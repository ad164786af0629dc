#include "tables/cells.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "output/csv.h"
#include "tables/settings_before.h"

namespace stowplan::tables {
namespace {

std::string Number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string YesNo(bool value) {
  return value ? "yes" : "no";
}

const char* TextOf(CellSummary::State state) {
  switch (state) {
    case CellSummary::State::kNotRun:
      return "not run";
    case CellSummary::State::kOutOfMemory:
      return "oom";
    case CellSummary::State::kFits:
      return "fits";
    case CellSummary::State::kAbsent:
      break;
  }
  return "absent";
}

// Names and values, in the order of the columns.
std::vector<std::pair<const char*, std::string>> FieldsOf(const TableResults& results,
                                                          const TableBlock& block, const TableLine& line,
                                                          const TableColumn& column,
                                                          const std::set<const CellSummary*>& before) {
  const CellSummary& cell = results.At(block.key, line.key, column.key);
  const bool published = cell.published.has_value();
  return {{"block", block.key},
          {"block_title", block.title},
          {"rules", block.rules},
          {"memory_judged", YesNo(cell.judged)},
          {"more_graphs", YesNo(!block.training.workloads.empty())},
          {"row", line.key},
          {"row_title", line.title},
          {"gpus", std::to_string(line.gpus)},
          {"model", line.model},
          {"workload", line.workload},
          {"cluster", line.cluster},
          {"column", column.key},
          {"column_title", column.title},
          {"agent", line.AgentOf(column)},
          {"own_agent", YesNo(column.agent.empty())},
          {"devices", column.devices},
          {"own_grouper", column.grouper},
          {"column_kind", ToString(column.kind)},
          {"kind", ToString(cell.kind)},
          {"in_paper", YesNo(column.published)},
          {"sampled", YesNo(cell.sampled)},
          {"learner", YesNo(column.learner)},
          {"trained", YesNo(column.trained)},
          {"zero_shot", YesNo(column.zero_shot)},
          {"last", YesNo(column.last)},
          {"own_samples", column.samples > 0 ? std::to_string(column.samples) : ""},
          {"pass_every", column.pass_every > 0 ? std::to_string(column.pass_every) : ""},
          {"state", TextOf(cell.state)},
          {"note", cell.note},
          {"seeds", std::to_string(cell.seeds)},
          {"feasible", std::to_string(cell.feasible)},
          {"budget", std::to_string(cell.budget())},
          {"median_s", Number(cell.median)},
          {"low_s", cell.median ? Number(cell.low) : ""},
          {"high_s", cell.median ? Number(cell.high) : ""},
          {"bound_s", Number(cell.bound)},
          {"published_s", published && cell.published->out_of_memory ? "OOM"
                          : published                                ? Number(cell.published->value)
                                                                     : ""},
          {"published_samples", Number(cell.published_samples)},
          {"samples", Number(cell.samples)},
          {"samples_to_best", Number(cell.samples_to_best)},
          {"samples_to_1pct", Number(cell.samples_to_1pct)},
          {"proposals", Number(cell.proposals)},
          {"screens", Number(cell.screens)},
          {"settings_before", YesNo(before.contains(&cell))}};
}

}  // namespace

std::string PrintCells(const TableResults& results) {
  std::string text;
  const std::set<const CellSummary*> before = CellsBefore(results);
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        output::CsvLine names, values;
        for (auto& [name, value] : FieldsOf(results, block, line, column, before)) {
          names.emplace_back(name);
          values.push_back(std::move(value));
        }
        if (text.empty()) text = output::PrintCsvLine(names);
        text += output::PrintCsvLine(values);
      }
    }
  }
  return text;
}

}  // namespace stowplan::tables
