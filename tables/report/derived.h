// Tables that are made of the exported rows of the others: nothing is searched for them. The registry is in
// registry.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tables/report/rendered_table.h"
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
  // Evaluates what the table needs beyond the others' rows: the text of its own rows.csv. Null = it needs
  // nothing.
  std::string (*evaluate)(const std::vector<TableResults>& tables, const DerivedOptions& options);
  RenderedTable (*render)(const std::vector<TableResults>& tables, const std::string& rows);
};
const std::vector<DerivedRow>& DerivedTables();
const DerivedRow* FindDerived(const std::string& name);  // nullptr = there is none

// Where rows come from, for the foot of a rendering.
std::vector<std::pair<std::string, std::string>> DerivedProvenance(const std::string& name,
                                                                   const std::vector<TableResults>& tables);

// The instances, one file each.
RenderedTable RenderBounds(const std::vector<TableResults>& tables, const std::string& rows);
RenderedTable RenderBudget(const std::vector<TableResults>& tables, const std::string& rows);
std::string EvaluateRobustness(const std::vector<TableResults>& tables, const DerivedOptions& options);
RenderedTable RenderRobustness(const std::vector<TableResults>& tables, const std::string& rows);

}  // namespace stowplan::tables
