#include "tables/derive/derived.h"

#include <filesystem>

#include <fmt/format.h>

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

}  // namespace stowplan::tables
