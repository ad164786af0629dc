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
    if (std::getenv("STOWPLAN_UPDATE_GOLDEN") == nullptr) {
      EXPECT_EQ(line, totals);
    }
  }
  EXPECT_GE(lines, 40);
  if (std::getenv("STOWPLAN_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << fresh;
}

// Counted by hand from the papers, op by op: L layers of 40 steps and what stands around them.
struct ByHand {
  const char* workload;
  std::int64_t forward, backward, variables;
};

TEST(WorkloadTotals, OpsAreThoseCountedByHand) {
  for (const auto& [workload, forward, backward, variables] : {
           ByHand{"resnet_152(batch=1)", 516, 671, 467},
           {"nasnet_a(batch=1)", 55 * 12 + 4 * 62 - 3 + 8, 75 * 12 + 4 * 86 - 4 + 9 - 2, 742},
           {"nasnet_a(batch=1,size=large)", 55 * 18 + 4 * 62 - 3 + 8, 75 * 18 + 4 * 86 - 4 + 9 - 4, 1018},
           {"amoebanet_d", 18 * 48 + 4 * 47 - 3 + 10, 18 * 60 + 4 * 59 - 5 + 3 - 2 + 10, 831},
           {"wavenet(stacks=4)", 13 * 36 - 3 + 35 + 9, 20 * 36 - 5 + 11, 8 * 36 - 2 + 5},
           {"rnnlm(steps=40,layers=4)", 13 * 4 * 40 + 6, 4 * (18 * 40 - 3) + 2 * 4 + 7, 2 * 4 + 3},
           {"rnnlm(steps=40,layers=8)", 13 * 8 * 40 + 6, 8 * (18 * 40 - 3) + 2 * 8 + 7, 2 * 8 + 3},
           {"nmt(layers=4)", 26 * 4 * 40 + 13 * 40 + 7, 36 * 4 * 40 + 18 * 40 + 4 + 15, 4 * 4 + 8},
           {"nmt(layers=8)", 26 * 8 * 40 + 13 * 40 + 7, 36 * 8 * 40 + 18 * 40 + 8 + 15, 4 * 8 + 8},
           {"gnmt(layers=8)", 40 * (29 * 8 + 17) + 9, 13504, 4 * 8 + 8},
           {"bert(gelu=one_op)", 33 * 12 + 15, 40 * 12 + 15, 201 - 2},
           {"transformer_xl(layers=8)", 44 * 8 + 9, 49 * 8 + 10, 13 * 8 + 2},
       }) {
    const Counts counts = CountOps(LoadGraph(workload));
    EXPECT_EQ(counts.forward, forward) << workload;
    EXPECT_EQ(counts.backward, backward) << workload;
    EXPECT_EQ(counts.variables, variables) << workload;
  }
}

}  // namespace
}  // namespace stowplan::scenarios
