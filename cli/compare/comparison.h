// What `stowplan compare` shows: one scenario, a row for each agent with its seeds put together, and the curves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "output/report_page.h"
#include "tables/results.h"

namespace stowplan::cli {

// `results`: of a table with one block and one row, its columns the agents. Ratios are to the first of them.
output::ReportPage MakeComparison(const tables::TableResults& results,
                                  std::vector<std::pair<std::string, std::string>> facts);

}  // namespace stowplan::cli
