// A table of two rows and four columns that runs in milliseconds (its learner is none), and made-up records
// of it.
#pragma once

#include <optional>
#include <vector>

#include "tables/results.h"
#include "tables/table.h"

namespace stowplan::testing {

inline tables::TableDefinition TinyTable() {
  tables::TableDefinition table;
  table.name = "tiny";
  table.title = "A table for tests";
  table.quick = {10, 1, {}};
  table.standard = {50, 3, {}};
  table.paper = {70, 1, "stage"};
  tables::TableBlock block;
  block.key = "native";
  block.title = "Native";
  block.note = "Two chains.";
  block.rules = "native";
  block.columns = {
      {"cpu_only", "CPU only", "cpu_only", tables::CellKind::kPredicted, true, false, false, "",
       "colocation"},
      {"single_gpu", "GPU only", "single_gpu", tables::CellKind::kPredicted, true, false, false, "",
       "colocation"},
      {"random", "random", "random", tables::CellKind::kSearched, false, true, false, "", "colocation"},
      {"learner", "learner", "random(unit=block)", tables::CellKind::kSearched, true, true, true, "",
       "colocation"},
  };
  for (const char* key : {"rnnlm", "nmt_2"}) {
    tables::TableLine line;
    line.key = key;
    line.title = key;
    line.workload = "diamond(width=3)";
    line.cluster = "k40(gpus=2)";
    line.gpus = 2;
    line.model = key;
    line.grouper = "colocation";
    line.fitted = {"cpu_only"};
    block.lines.push_back(line);
  }
  const tables::PublishedCell oom{true, std::nullopt};
  const auto seconds = [](double value) { return tables::PublishedCell{false, value}; };
  block.lines[0].published = {{"cpu_only", seconds(6.89)},
                              {"single_gpu", seconds(1.57)},
                              {"learner", seconds(1.57)},
                              {"expert", seconds(1.57)},
                              {"scotch", seconds(5.62)}};
  block.lines[1].published = {{"cpu_only", seconds(6.46)},
                              {"single_gpu", oom},
                              {"learner", seconds(0.84)},
                              {"expert", seconds(2.13)},
                              {"scotch", seconds(3.21)}};
  table.blocks = {block};
  return table;
}

inline tables::CellRecord MakeRecord(const char* row, const char* column, const char* kind, int seed,
                                     std::optional<double> seconds) {
  tables::CellRecord record;
  record.block = "native";
  record.row = row;
  record.column = column;
  record.agent = column;
  record.seed = seed;
  record.budget = std::string(kind) == "searched" ? 50 : 1;
  record.scenario = "0123456789abcdef";
  record.kind = kind;
  record.status = seconds ? "ok" : "oom";
  if (seconds) record.runtime_us = *seconds * 1e6;
  record.unlimited_runtime_us = seconds.value_or(2.5) * 1e6;
  record.fullest_device = "gpu0";
  record.fullest_peak_bytes = 14'400'000'000;
  record.fullest_capacity_bytes = 11'680'000'000;
  record.samples = record.budget;
  record.lower_bound_us = 0.5e6;
  record.cost_model = "analytic";
  record.command = "stowplan table run tiny";
  record.revision = "0123456789ab";
  record.dirty = "no";
  record.machine = "a machine, 2 cores";
  record.date = "2026-11-21T00:00:00Z";
  record.wall_seconds = 0.25;
  if (record.budget > 1 && seconds)
    record.curve = "1:" + std::to_string(*seconds * 2e6) + " 7:" + std::to_string(*seconds * 1e6);
  return record;
}

// Published: rnnlm 6.89 and 1.57, nmt_2 6.46 and OOM.
inline std::vector<tables::CellRecord> TinyRecords() {
  return {
      MakeRecord("rnnlm", "cpu_only", "fitted", 1, 6.2),
      MakeRecord("rnnlm", "single_gpu", "predicted", 1, 1.6),
      MakeRecord("rnnlm", "random", "searched", 1, 1.4),
      MakeRecord("rnnlm", "random", "searched", 2, 1.0),
      MakeRecord("rnnlm", "random", "searched", 3, 1.2),
      MakeRecord("nmt_2", "cpu_only", "fitted", 1, 7.1),
      MakeRecord("nmt_2", "single_gpu", "predicted", 1, 2.0),
      MakeRecord("nmt_2", "random", "searched", 1, std::nullopt),
      MakeRecord("nmt_2", "random", "searched", 2, 1.9),
  };
}

}  // namespace stowplan::testing
