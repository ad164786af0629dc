#include "tables/report/derived.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "output/console.h"
#include "sim/base/error.h"
#include "sim/base/rows.h"
#include "sim/formats/formats.h"

namespace stowplan::tables {

std::vector<TableResults> ReadExported(const std::string& folder) {
  std::vector<TableResults> tables;
  for (const TableRow& row : Tables()) {
    const std::filesystem::path path = std::filesystem::path(folder) / row.name / "rows.csv";
    if (!row.compared || !std::filesystem::exists(path)) continue;
    tables.emplace_back(row.definition(), ParseRows(formats::ReadFile(path.string()), path.string()));
  }
  if (tables.empty()) {
    throw InputError(fmt::format(
        "{}: holds rows.csv of no table; `stowplan table run NAME --export` writes results/NAME, --from "
        "names another folder.",
        folder));
  }
  return tables;
}

const DerivedRow* FindDerived(const std::string& name) {
  return FindRow(DerivedTables(), name);
}

std::vector<std::pair<std::string, std::string>> DerivedProvenance(const std::string& name,
                                                                   const std::vector<TableResults>& tables) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"command", fmt::format("stowplan table derive {} --export", name)}};
  for (const TableResults& table : tables) {
    std::set<std::string> revisions;
    for (const CellRecord* record : table.records()) {
      if (record->note.empty()) revisions.insert(RevisionText(*record));
    }
    lines.emplace_back("rows of " + table.table().name,
                       fmt::format("{} cells, revision {}",
                                   output::CountText(static_cast<std::int64_t>(table.records().size())),
                                   fmt::join(revisions, "; ")));
  }
  return lines;
}

}  // namespace stowplan::tables
