// What graph learners see of the tables' rows: an order, depths, and units before, after and beside others.
#include "agents/classical/unit_graph.h"
#include "problem/loaded_problem.h"
#include "sim/base/spec.h"
#include "tables/table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

struct Row {
  std::string workload, cluster, grouper;
};

// One row of each workload and grouper in the papers' tables: the first, which is the smallest.
std::vector<Row> Rows() {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<Row> rows;
  for (const TableRow& table : Tables()) {
    if (!table.compared) continue;
    for (const TableBlock& block : table.definition().blocks) {
      for (const TableLine& line : block.lines) {
        if (seen.emplace(Spec::Parse(line.workload).name, line.grouper).second)
          rows.push_back({line.workload, line.cluster, line.grouper});
      }
    }
  }
  return rows;
}

struct Shares {
  double before = 0, after = 0, beside = 0;  // of the pairs of units
};

Shares SharesOf(const agents::UnitGraph& graph) {
  Shares shares;
  const double pairs = static_cast<double>(graph.size()) * (graph.size() - 1);
  for (agents::UnitIndex a = 0; a < graph.size(); ++a) {
    for (agents::UnitIndex b = 0; b < graph.size(); ++b) {
      if (a == b) continue;
      const bool on = graph.Reaches(a, b), back = graph.Reaches(b, a);
      EXPECT_FALSE(on && back);
      (on ? shares.after : back ? shares.before : shares.beside) += 1 / pairs;
    }
  }
  return shares;
}

TEST(UnitGraphs, OfTheTablesHaveDepthAndAllThreePools) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.workload + " by " + row.grouper);
    const problem::LoadedProblem loaded({.graph = row.workload, .cluster = row.cluster});
    agents::Task task;
    task.problem = &loaded.problem();
    task.units = agents::MakeUnits(row.grouper, loaded.problem());
    task.edges = agents::CollectEdges(loaded.graph(), task.units.unit_of_op);
    const agents::UnitGraph graph(task);
    const std::int32_t deepest = *std::max_element(graph.depth().begin(), graph.depth().end());
    EXPECT_GT(deepest, 9);
    const Shares shares = SharesOf(graph);
    EXPECT_GT(shares.before, 0.1);
    EXPECT_GT(shares.after, 0.1);
    EXPECT_GT(shares.beside, 0);  // ResNet is nearly a chain
  }
}

}  // namespace
}  // namespace stowplan::tables
