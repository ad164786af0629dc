#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "TableData.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "tables/derive/derived.h"
#include "tables/derive/gate.h"
#include "tables/files/table_file.h"
#include "tables/table.h"

namespace stowplan::tables {

const std::vector<TableRow>& Tables() {
  static const std::vector<TableRow> rows = {
      {"hierarchical", "A Hierarchical Model for Device Placement (ICLR 2018): CPU and 2, 4, 8 K40"},
      {"placeto", "Placeto (NeurIPS 2019): 2 and 4 K80 dies, native and in the published simulator's rules"},
      {"placeto-generalization",
       "Placeto (NeurIPS 2019): policies trained on half of a family, applied to the other half"},
      {"sgdp", "SGDP (IEEE Micro 2020): 2, 4 and 8 P100 of 16 GB, 14 rows"},
      {"sgdp-transfer",
       "SGDP (IEEE Micro 2020): trained on half of a family, then 49 updates on each unseen graph", false},
      {"mars", "Mars (ICPP 2021): CPU and 4 P100 of 12 GB"},
      {"mars-pretraining", "Mars (ICPP 2021): with and without pre-training, ten seeds, on three clocks"},
      {"agents", "all agents at equal samples on four graphs: whether networks keep up with local search",
       false},
      {"ablations", "what each change that lets networks learn costs when it alone is left out", false},
      {"baechi", "Baechi in PyTorch (SoCC 2020): Inception-V3 on four GPUs of 8 GB, as its log has it",
       false},
      {"doppler", "DOPPLER's graphs under its simulator's rules (ICLR 2026), from a data folder", false},
      {"latency", "one sample under memory limits: inputs of msr-fiddle/dnn-partitioning, from a data folder",
       false},
      {"modern", "language models of today on machines of today: what search gains over stages by hand",
       false},
      {"search", "the default search beside its members, on machines of the papers and of today", false},
      {"units", "the 14 rows of sgdp with five units of placement: what the unit gives, and what the agent",
       false},
  };
  return rows;
}

const TableDefinition& TableRow::definition() const {
  static std::mutex reading;
  static std::map<std::string, TableDefinition> read;
  const std::lock_guard<std::mutex> lock(reading);
  const auto known = read.find(name);
  if (known != read.end()) return known->second;
  const std::string file = name + std::string(".yaml");
  return read.emplace(name, ParseTable(TableData(file), file)).first->second;
}

const std::vector<DerivedRow>& DerivedTables() {
  static const std::vector<DerivedRow> rows = {
      {"robustness", "what final placements lose under sharing, queues and costs that their agents never saw",
       EvaluateRobustness},
      {"gate",
       "does an agent learn at all: balance, chains, tiny graphs, and itself without learning on real ones",
       EvaluateGate},
  };
  return rows;
}

const std::vector<TableName>& TableNames() {
  static const std::vector<TableName> names = [] {
    std::vector<TableName> all;
    for (const TableRow& row : Tables()) all.push_back({row.name, row.what});
    for (const DerivedRow& row : DerivedTables()) all.push_back({row.name, row.what});
    all.push_back({kAccuracyTable, "simulated against measured: the recordings in results/accuracy, scored"});
    return all;
  }();
  return names;
}

const TableDefinition& FindTable(const std::string& name) {
  for (const TableRow& row : Tables()) {
    if (row.name == name) return row.definition();
  }
  std::vector<std::string> names;
  for (const TableName& known : TableNames()) names.emplace_back(known.name);
  throw InputError(fmt::format("there is no table \"{}\"{}; there are {}.", name, DidYouMean(name, names),
                               JoinNames(names)));
}

}  // namespace stowplan::tables
