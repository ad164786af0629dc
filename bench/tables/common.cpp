#include "bench/tables/common.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace berth::bench {

std::vector<TableColumn> ExtraColumns(const std::string& devices) {
  const auto list_scheduler = [&](const char* agent, const char* title) {
    TableColumn column;
    column.key = agent;
    column.title = title;
    column.agent = agent;
    column.devices = devices;
    column.grouper = "colocation";
    return column;
  };
  const auto sampled = [&](const char* key, const char* title, const char* agent, const char* grouper) {
    TableColumn column;
    column.key = key;
    column.title = title;
    column.agent = agent;
    column.sampled = true;
    column.devices = devices;
    column.grouper = grouper;
    return column;
  };
  TableColumn round_robin;
  round_robin.key = "round_robin";
  round_robin.title = "round robin";
  round_robin.agent = "round_robin";
  round_robin.kind = CellKind::kPredicted;
  round_robin.devices = devices;
  round_robin.grouper = "colocation";
  return {list_scheduler("heft", "HEFT"),
          list_scheduler("m_topo", "m-TOPO"),
          list_scheduler("m_etf", "m-ETF"),
          list_scheduler("m_sct", "m-SCT"),
          round_robin,
          sampled("random_op", "random, ops", "random", "colocation"),
          sampled("random_group", "random, groups", "random", ""),
          sampled("random_block", "random, blocks", "random(unit=block)", "colocation"),
          sampled("local_search", "local search", "local_search", ""),
          sampled("local_search_trivial", "local search, trivial start", "local_search(start=trivial)", ""),
          sampled("annealing", "annealing", "annealing", ""),
          sampled("genetic", "genetic", "genetic", ""),
          sampled("cross_entropy", "cross-entropy", "cross_entropy", ""),
          sampled("pilot", "pilot", "pilot", "")};
}

std::vector<TableColumn> ControlColumns(const std::string& devices) {
  return {{"factored", "control learner", "factored", CellKind::kSearched, "", true, false, devices, ""},
          {"factored_copy", "control learner, copying", "factored(action=copy)", CellKind::kSearched, "",
           true, false, devices, ""}};
}

void Append(const std::vector<TableColumn>& more, std::vector<TableColumn>* columns) {
  columns->insert(columns->end(), more.begin(), more.end());
}

std::vector<TableColumn> VariantColumns(std::vector<TableColumn> columns) {
  const std::set<std::string> kept = {"cpu_only", "single_gpu", "expert",       "scotch",
                                      "mincut",   "metis",      "heft",         "m_topo",
                                      "m_etf",    "m_sct",      "local_search", "local_search_trivial"};
  std::erase_if(columns, [&](const TableColumn& column) { return !kept.contains(column.key); });
  return columns;
}

bool HasSearch(const TableBlock& block) {
  return std::any_of(block.columns.begin(), block.columns.end(),
                     [](const TableColumn& column) { return column.sampled; });
}

std::string SharedKey(const TableBlock& block, const TableLine& line, const TableColumn& column) {
  return fmt::format("{} on {}, {}: {}", line.workload, line.cluster, block.rules, column.title);
}

std::vector<const CellSummary*> CellsThatRan(const TableResults& results, const std::string& block,
                                             const std::string& line, const std::string& except) {
  std::vector<const CellSummary*> cells;
  for (const TableBlock& b : results.table().blocks) {
    if (b.key != block) continue;
    for (const TableColumn& column : b.columns) {
      const CellSummary& cell = results.At(block, line, column.key);
      if (column.key != except && cell.was_run()) cells.push_back(&cell);
    }
  }
  return cells;
}

}  // namespace berth::bench
