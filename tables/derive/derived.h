// Rows that are made of the exported rows of the tables, or beside them: nothing of a paper is searched for them. The registry is
// in registry.cpp; python/stowplan/report makes pages of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tables/results.h"

namespace stowplan::tables {

// `folder`/NAME/rows.csv of every table that has one, in the order of the registry. Throws InputError where
// none has.
std::vector<TableResults> ReadExported(const std::string& folder);

struct DerivedOptions {
  int threads = 0;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::int64_t done, std::int64_t total)> on_part;  // one at a time; may be empty
  // rows.csv to be: what takes long adds each row as it is finished. Empty = it keeps nothing.
  std::string rows_path;
  bool resume = false;             // keep the rows that are there
  std::vector<std::string> cells;  // patterns CASE/AGENT of what is run; empty = all. The gate's alone
};

struct DerivedRow {
  const char* name;
  const char* what;
  std::string (*evaluate)(const std::vector<TableResults>& tables,
                          const DerivedOptions& options);  // the text of rows.csv
};
const std::vector<DerivedRow>& DerivedTables();
const DerivedRow* FindDerived(const std::string& name);  // nullptr = there is none

// The instances, one file each.
std::string EvaluateRobustness(const std::vector<TableResults>& tables, const DerivedOptions& options);
std::string EvaluateGate(const std::vector<TableResults>& tables, const DerivedOptions& options);

}  // namespace stowplan::tables
