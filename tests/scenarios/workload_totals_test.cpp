// What the workloads are in numbers, held against tests/golden/workload_totals.csv: one line for each graph whose name stands
// there. Weights, multiply-adds and outputs of published models are compared with tables/papers/workloads.csv in
// tests/cli/workload_sizes_test.cpp; ops were counted by hand from the papers (the derivations: git show fe6d487f:tests/scenarios/model_sizes_test.cpp).
#include <fmt/format.h>

#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "tests/scenarios/graph_counts.h"
#include "tests/scenarios/serial_memory.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

std::string Totals(const std::string& workload) {
  const sim::OpGraph graph = LoadGraph(workload);
  const sim::OpGraph::Totals totals = graph.totals();
  const Counts counts = CountOps(graph);
  double framework_ops = 0;
  for (const sim::Op& op : graph.ops) framework_ops += op.framework_ops;
  return fmt::format("{};{};{};{};{};{};{};{};{};{};{};{:.6g};{:.6g}", workload, graph.size(), counts.forward,
                     counts.backward, counts.variables, counts.updates, totals.parameters,
                     totals.persistent_bytes, totals.output_bytes, SumOfForwardOutputs(graph),
                     SerialPeak(graph).peak, totals.flops, framework_ops);
}

TEST(WorkloadTotals, AreAsInTheGoldenFile) {
  const std::string path = STOWPLAN_SOURCE_DIR "/tests/golden/workload_totals.csv";
  std::ifstream golden(path);
  std::string line, fresh;
  std::getline(golden, line);
  fresh = line + "\n";
  int lines = 0;
  for (; std::getline(golden, line); ++lines) {
    const std::string totals = Totals(line.substr(0, line.find(';')));
    fresh += totals + "\n";
    if (std::getenv("STOWPLAN_UPDATE_GOLDEN") == nullptr) EXPECT_EQ(line, totals);
  }
  EXPECT_GE(lines, 40);
  if (std::getenv("STOWPLAN_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << fresh;
}

}  // namespace
}  // namespace stowplan::scenarios
