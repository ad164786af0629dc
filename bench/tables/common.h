// What the tables have in common: the baseline columns.
#pragma once

#include <string>
#include <vector>

#include "bench/tables/results.h"
#include "bench/tables/table.h"

namespace berth::bench {

// List schedulers, round_robin, random search at three units, local search from the shared random start and
// from the best of the trivial ones, annealing, genetic and cross-entropy search, and berth's own (docs/protocol.md#pilot): columns that no paper has
// but every table shows. `devices`: what they may choose from. The groups of random_group and of the searches
// are the row's.
std::vector<TableColumn> ExtraColumns(const std::string& devices);

// Learning without a network (docs/protocol.md#controls), on the devices and groups of the table's learners: what a
// learner has to reach before anything is said of its method.
std::vector<TableColumn> ControlColumns(const std::string& devices);

void Append(const std::vector<TableColumn>& more, std::vector<TableColumn>* columns);

// Of a table's columns those of a block that changes the machine's rules: what is fixed by a rule, partitioners, list
// schedulers and local search.
std::vector<TableColumn> VariantColumns(std::vector<TableColumn> columns);

// False of a block of rules alone: no field in which placements compete, so table robustness has none of its
// rows and the means of table bounds do not either.
bool HasSearch(const TableBlock& block);

// Equal for cells that two tables share (those of mars stand in mars-pretraining too): means over tables
// count them once.
std::string SharedKey(const TableBlock& block, const TableLine& line, const TableColumn& column);

// The cells of a row that were run; `except`: a column that does not count.
std::vector<const CellSummary*> CellsThatRan(const TableResults& results, const std::string& block,
                                             const std::string& line, const std::string& except = {});

}  // namespace berth::bench
