// What `stowplan compare` shows: one scenario, a row for each agent with its seeds put together, and the curves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/report_page.h"
#include "bench/tables/results.h"

namespace stowplan::bench {

// `results`: of a table with one block and one row, its columns the agents. Ratios are to the first of them.
ReportPage MakeComparison(const TableResults& results,
                          std::vector<std::pair<std::string, std::string>> facts);

// Best so far against samples: the median seed of each agent that samples.
std::string ComparisonCurvesHtml(const TableResults& results);

}  // namespace stowplan::bench
