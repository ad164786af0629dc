// What stowplan place prints: within 80 columns, parts of memory that add up, and a need of memory that holds when it is met.
#include "cli/place/place_report.h"

#include <regex>

#include "agents/bounds/bounds.h"
#include "cli/place/device_modules.h"
#include "cli/place/grouping_cost.h"
#include "cli/place/memory_need.h"
#include "output/console.h"
#include "problem/explain/memory_parts.h"
#include "problem/loaded_problem.h"
#include "problem/placement_source.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::RunStowplan;

const std::string kLlama =
    "llama(layers=4,hidden=256,heads=4,kv_heads=2,feed_forward=512,sequence=64,vocabulary=512)";

void ExpectNarrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(output::TextWidth(line), 80U) << line;
}

// Every byte of a peak is in one part.
TEST(MemoryParts, AddUpToThePeak) {
  for (const std::string& graph : {kLlama, std::string("rnnlm(layers=2,hidden=64,steps=4,vocabulary=100)")}) {
    const problem::LoadedProblem loaded(problem::ProblemSource{.graph = graph, .cluster = "a100(gpus=2)"});
    const sim::Placement placement = problem::LoadPlacement("expert", loaded.problem());
    const auto simulator = sim::MakeSimulator(loaded.problem());
    const sim::Outcome& outcome =
        simulator->Run(placement, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
    const auto parts =
        problem::MemoryAtPeak(loaded.graph(), sim::Explain(loaded.problem(), placement, outcome));
    problem::MemoryParts all;
    for (std::size_t d = 0; d < parts.size(); ++d) {
      const problem::MemoryParts& p = parts[d];
      EXPECT_EQ(p.weights + p.gradients + p.optimizer + p.activations + p.copies, outcome.devices[d].peak);
      all.weights += p.weights;
      all.optimizer += p.optimizer;
    }
    EXPECT_GT(all.weights, 0);
    // Adam keeps two numbers for each weight, plain descent none.
    if (graph == kLlama) {
      EXPECT_NEAR(static_cast<double>(all.optimizer), 2.0 * static_cast<double>(all.weights),
                  0.01 * static_cast<double>(all.optimizer));
    } else {
      EXPECT_EQ(all.optimizer, 0);
    }
  }
}

TEST(DeviceModules, DrawsNumberedNeighboursTogether) {
  const problem::LoadedProblem loaded(problem::ProblemSource{.graph = kLlama, .cluster = "a100(gpus=2)"});
  sim::Placement placement;
  placement.device.assign(loaded.graph().ops.size(), loaded.cluster().Find("gpu0"));
  for (sim::OpIndex op = 0; op < loaded.graph().size(); ++op) {
    const std::string& name = loaded.graph().ops[static_cast<std::size_t>(op)].name;
    if (name.find("layer3/") != std::string::npos || name.find("layer2/feed_forward") != std::string::npos)
      placement.device[static_cast<std::size_t>(op)] = loaded.cluster().Find("gpu1");
  }
  EXPECT_THAT(ModulesByDevice(loaded.problem(), placement, 12),
              ElementsAre("", "embedding, layer0 to layer1, layer2*, softmax", "layer2*, layer3"));
  EXPECT_THAT(ModulesByDevice(loaded.problem(), placement, 1),
              ElementsAre("", "embedding and 3 more", "layer2* and 1 more"));
}

// ---- what groups cost

TEST(GroupingCost, IsWhatGroupsCannotReachAndSingleOpsCan) {
  const problem::LoadedProblem loaded(
      problem::ProblemSource{.graph = "inception_v3(batch=8)", .cluster = "h100(gpus=3,host=device)"});
  const auto found = [&](const std::string& grouper, std::int64_t samples) {
    const agents::Task task = agents::MakeTask(loaded.problem(), grouper, {"gpu0", "gpu1", "gpu2"});
    agents::Evaluator evaluator(task, {.budget = 40});
    agents::MakeAgent("local_search")->Search(task, evaluator, {});
    return std::pair(FindGroupingCost(task, evaluator, samples, 0, {}, nullptr), evaluator.best_runtime());
  };
  const auto [cost, best] = found("neighbour(groups=6)", 40);
  ASSERT_TRUE(cost);
  EXPECT_GE(cost->bound, agents::ComputeLowerBound(loaded.problem(), {1, 2, 3}).best());
  EXPECT_LE(cost->bound, best);
  EXPECT_LT(cost->single_ops, best);
  EXPECT_EQ(cost->samples, 40);
  EXPECT_EQ(found("neighbour(groups=6)", 0).first->samples, 0) << "they are not sought";
  EXPECT_FALSE(found("colocation", 40).first) << "nothing is grouped";
}

TEST(GroupingCost, IsToldBesideTheBound) {
  const auto told = RunStowplan({"place", kLlama, "--cluster", "a100(gpus=2)", "--devices", "gpu",
                                 "--grouper", "module", "--samples", "60"});
  EXPECT_EQ(told.status, 0) << told.err;
  ExpectNarrow(told.out);
  EXPECT_THAT(told.out, AllOf(HasSubstr("groups"), HasSubstr("ingle ops")));
}

// With what it says is enough a placement is found; below what it says is too little none exists.
TEST(MemoryNeed, HoldsWhenItIsMet) {
  const problem::ProblemSource small = {
      .graph = kLlama, .cluster = "a100(gpus=2)", .memory = {"gpu=12MiB"}, .reserve = "0"};
  const problem::LoadedProblem loaded(small);
  const agents::Task task = agents::MakeTask(loaded.problem(), "module", {"gpu0", "gpu1"});
  const MemoryNeed need = FindMemoryNeed(task, Leanest(task), 20, {}, nullptr);
  ASSERT_GT(need.enough, need.too_little);
  EXPECT_THAT(need.devices, ElementsAre(1, 2));
  ASSERT_FALSE(need.shortage.empty());
  for (const MemoryNeed::Short& device : need.shortage)
    EXPECT_LE(loaded.cluster().devices[static_cast<std::size_t>(device.device)].capacity() + device.bytes,
              need.enough);

  const auto with = [&](sim::Bytes capacity) {
    problem::ProblemSource source = small;
    source.memory = {"gpu=" + std::to_string(capacity) + "B"};
    return source;
  };
  const problem::LoadedProblem met(with(need.enough));
  EXPECT_TRUE(sim::MakeSimulator(met.problem())->Run(need.placement).feasible());
  const problem::LoadedProblem missed(with(need.enough - 4096));
  EXPECT_FALSE(sim::MakeSimulator(missed.problem())->Run(need.placement).feasible());
  if (need.too_little > 0) {
    const problem::LoadedProblem never(with(need.too_little));
    EXPECT_TRUE(agents::ComputeLowerBound(never.problem(), {1, 2}).nothing_fits);
  }
  EXPECT_THAT(MemoryNeedText(need, loaded.cluster()), HasSubstr("on each of gpu0 and gpu1"));
}

TEST(MemoryNeed, IsToldWhereNothingFits) {
  const auto told =
      RunStowplan({"place", kLlama, "--cluster", "a100(gpus=2)", "--devices", "gpu", "--grouper", "module",
                   "--samples", "30", "--memory", "gpu=12MiB", "--reserve", "0"});
  EXPECT_EQ(told.status, 0) << told.err;
  ExpectNarrow(told.out);
  EXPECT_TRUE(std::regex_search(told.out, std::regex("It fits with [0-9.]+ MB\\s+on\\s+each"))) << told.out;
  EXPECT_THAT(told.out, AllOf(HasSubstr("out of memory on gpu"), HasSubstr("short"),
                              HasSubstr("no placement that fits")));
}

}  // namespace
}  // namespace stowplan::cli
