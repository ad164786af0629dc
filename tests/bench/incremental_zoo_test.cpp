// Incremental = from scratch on the graphs of the zoo, and on real ones where BERTH_DATA names them.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agents/placements.h"
#include "agents/task.h"
#include "bench/loaded_problem.h"
#include "scenarios/scenarios.h"
#include "sim/incremental.h"

namespace berth::bench {
namespace {

// Trials of one unit moved, from blocks and from random placements, and now and then a commit.
void ExpectEqual(const std::string& graph, const std::string& rules) {
  ProblemSource source;
  source.graph = graph;
  source.cluster = "k80(gpus=4,interconnect=fifo)";
  source.rules = rules;
  const LoadedProblem loaded(source);
  const agents::Task task = agents::MakeTask(loaded.problem(), "colocation");
  const auto simulator = sim::MakeSimulator(loaded.problem());
  const auto incremental = sim::MakeIncrementalSimulator(loaded.problem());
  agents::Rng rng(1, graph);
  for (int b = 0; b < 2; ++b) {
    sim::Placement base = agents::Expand(
        task, b == 0 ? agents::BlockPlacement(task, rng) : agents::UniformPlacement(task, rng));
    incremental->Base(base);
    for (int i = 0; i < 12; ++i) {
      const sim::DeviceIndex device = rng.Pick(task.devices);
      std::vector<sim::Move> moves;
      sim::Placement moved = base;
      for (const sim::OpIndex op : task.units.ops[rng.Below(task.units.ops.size())]) {
        moves.push_back({op, device});
        moved.device[static_cast<std::size_t>(op)] = device;
      }
      const sim::Outcome& expected = simulator->Run(moved);
      const sim::Outcome& actual = incremental->RunTrial(moves);
      ASSERT_EQ(expected.runtime, actual.runtime) << "trial " << i;
      ASSERT_EQ(expected.feasible(), actual.feasible()) << "trial " << i;
      for (std::size_t d = 0; d < expected.devices.size(); ++d) {
        ASSERT_EQ(expected.devices[d].busy, actual.devices[d].busy) << "trial " << i << ", device " << d;
        ASSERT_EQ(expected.devices[d].peak, actual.devices[d].peak) << "trial " << i << ", device " << d;
      }
      if (i % 4 != 3) continue;
      incremental->Commit();
      base = moved;
    }
  }
}

class IncrementalZoo : public testing::TestWithParam<std::string> {};

TEST_P(IncrementalZoo, EqualsFromScratch) {
  for (const char* rules : {"published", "native"}) ExpectEqual(GetParam(), rules);
}

std::vector<std::string> NamesOfWorkloads() {
  std::vector<std::string> names;
  for (const auto& row : scenarios::Workloads()) names.emplace_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, IncrementalZoo, testing::ValuesIn(NamesOfWorkloads()),
                         [](const auto& workload) { return workload.param; });

TEST(IncrementalRealGraphs, EqualFromScratch) {
  const char* data = std::getenv("BERTH_DATA");
  if (data == nullptr) GTEST_SKIP() << "BERTH_DATA names no folder";
  const auto folder = std::filesystem::path(data) / "dnn-partitioning/throughput-inputs/OperatorGraphs";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(file.path());
    for (const char* rules : {"published", "native"}) ExpectEqual(file.path().string(), rules);
  }
}

}  // namespace
}  // namespace berth::bench
