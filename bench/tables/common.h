// What the tables have in common: the baseline columns and the helpers of claims.
#pragma once

#include <string>
#include <vector>

#include "bench/tables/results.h"
#include "bench/tables/table.h"

namespace berth::bench {

// List schedulers, round_robin, random search at three units, local search from the shared random start and
// from the best of the trivial ones: columns that no paper has but every table shows. `devices`: what they may
// choose from. The groups of random_group and of the local searches are the row's.
std::vector<TableColumn> ExtraColumns(const std::string& devices);

// The cells of a row that were run; `except`: a column that does not count.
std::vector<const CellSummary*> CellsThatRan(const TableResults& results, const std::string& block,
                                             const std::string& line, const std::string& except = {});

// "12.3 % below": how far `to` is from `from`.
std::string ReductionText(double from, double to);

// A claim that a placement `claimed` (0 to 1) below the baseline exists. Found = holds; excluded by the
// proven bound = does not hold; else undecided: not finding it is no proof.
ClaimReading ReductionClaim(const TableResults& results, const std::string& block, const std::string& line,
                            const std::string& baseline, double claimed, const std::string& text);

// A claim that no column of the row is faster than the baseline; what is within 1 % is not faster.
ClaimReading NothingFasterClaim(const TableResults& results, const std::string& block,
                                const std::string& line, const std::string& baseline,
                                const std::string& text);

}  // namespace berth::bench
