// What `stowplan place --log-samples` writes can be evaluated again and gives the same.
#include "cli/place/sample_log.h"

#include <nlohmann/json.hpp>

#include "output/csv.h"
#include "problem/loaded_problem.h"
#include "sim/formats/formats.h"
#include "tables/kept_placement.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::JsonOf;
using testing::RunStowplan;

class SampleLogTest : public ::testing::Test {
 protected:
  static problem::ProblemSource Source() {
    problem::ProblemSource source;
    source.graph = "random_dag(ops=60)";
    source.cluster = "k80(gpus=2)";
    return source;
  }

  std::vector<output::CsvLine> Lines() const { return output::ParseCsv(formats::ReadFile(path_), path_); }

  agents::Evaluation Fits(sim::Picos runtime) const {
    agents::Evaluation evaluation;
    evaluation.runtime = runtime;
    evaluation.peak.assign(task_.problem->cluster().devices.size(), 1);
    return evaluation;
  }

  tests::TempFolder folder_;
  const std::string path_ = folder_ / "samples.csv";
  const problem::LoadedProblem loaded_{Source()};
  const agents::Task task_ = agents::MakeTask(loaded_.problem(), "neighbour(groups=8)", {"gpu0", "gpu1"});
  const agents::UnitPlacement on_first_ = agents::UnitPlacement(8, 1);
};

TEST_F(SampleLogTest, HasTheVerdictAndByHowMuchItIsMissed) {
  const auto capacity = static_cast<double>(task_.device(1).capacity());
  agents::Evaluation too_much = Fits(2'500'000);
  too_much.feasible = false;
  too_much.peak[1] = static_cast<sim::Bytes>(1.5 * capacity);
  agents::Evaluation given_up;
  given_up.runtime = 3'000'000;
  given_up.stopped = true;
  SampleLog log(path_, task_, false);
  log.Append(1, on_first_, Fits(1'000'000));
  log.Append(2, on_first_, too_much);
  log.Append(3, on_first_, given_up);
  EXPECT_EQ(Lines(), (std::vector<output::CsvLine>{{"sample", "runtime_us", "status", "excess", "placement"},
                                                   {"1", "1", "ok", "0", "b8"},
                                                   {"2", "2.5", "oom", "0.5", "b8"},
                                                   {"3", "3", "stopped", "", "b8"}}));
}

TEST_F(SampleLogTest, ResumedKeepsWhatComesBeforeAndReplacesTheRest) {
  {
    SampleLog log(path_, task_, false);
    for (std::int64_t sample = 1; sample <= 5; ++sample) log.Append(sample, on_first_, Fits(sample));
  }
  const std::string old = folder_ / "old.csv";
  std::filesystem::create_hard_link(path_, old);
  const std::string before = formats::ReadFile(old);
  {
    SampleLog log(path_, task_, true);
    log.Append(4, on_first_, Fits(7'000'000));
  }
  EXPECT_EQ(formats::ReadFile(old), before) << "a kill in between would have lost lines";
  std::vector<std::string> samples;
  for (const output::CsvLine& line : Lines()) samples.push_back(line[0]);
  EXPECT_EQ(samples, (std::vector<std::string>{"sample", "1", "2", "3", "4"}));
  EXPECT_EQ(Lines().back()[1], "7");
  SampleLog fresh(path_, task_, false);
  fresh.Append(1, on_first_, Fits(1));
  EXPECT_EQ(Lines().size(), 2u);
}

TEST_F(SampleLogTest, SaysWhereItCannotWrite) {
  SampleLog log(folder_ / "no such folder/samples.csv", task_, false);
  EXPECT_THROW(log.Append(1, on_first_, Fits(1)), InputError);
}

// Local search gives samples up and, with little memory, tries what does not fit.
TEST_F(SampleLogTest, SamplesOfASearchAreEvaluatedAgain) {
  const std::string memory = "gpu=315MiB";
  const auto json = JsonOf(RunStowplan({"place",
                                        "--agent",
                                        "local_search",
                                        "--graph",
                                        Source().graph,
                                        "--cluster",
                                        Source().cluster,
                                        "--memory",
                                        memory,
                                        "--devices",
                                        "gpu",
                                        "--grouper",
                                        "neighbour(groups=8)",
                                        "--samples",
                                        "60",
                                        "--log-samples",
                                        "--out",
                                        folder_.path(),
                                        "--json",
                                        "-"}));
  problem::ProblemSource source = Source();
  source.memory = {memory};
  const problem::LoadedProblem loaded(source);
  const agents::Task task = agents::MakeTask(loaded.problem(), "neighbour(groups=8)", {"gpu0", "gpu1"});
  agents::Evaluator evaluator(task, {});
  const std::vector<output::CsvLine> lines = Lines();
  ASSERT_EQ(lines.size(), 61u);
  std::set<std::string> seen;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto again = evaluator.Evaluate(tables::ReadKeptPlacement(lines[i][4], task, path_));
    const double runtime = std::stod(lines[i][1]);
    seen.insert(lines[i][2]);
    if (lines[i][2] == "stopped") {
      EXPECT_LE(runtime, sim::ToMicros(again.runtime));
    } else {
      EXPECT_EQ(runtime, sim::ToMicros(again.runtime));
      EXPECT_EQ(lines[i][2] == "ok", again.feasible);
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ok", "oom", "stopped"}));
  EXPECT_EQ(std::stod(lines[json["samples_to_best"].get<std::size_t>()][1]), json["best_runtime_us"]);

  const auto units = nlohmann::json::parse(formats::ReadFile(folder_ / "units.json"));
  EXPECT_EQ(units["format"], "stowplan.units");
  EXPECT_EQ(units["devices"], (std::vector<std::string>{"cpu0", "gpu0", "gpu1"}));
  ASSERT_EQ(units["units"].size(), 8u);
  for (std::size_t unit = 0; unit < 8; ++unit) {
    std::vector<std::string> names;
    for (const sim::OpIndex op : task.units.ops[unit])
      names.push_back(loaded.problem().graph().ops[static_cast<std::size_t>(op)].name);
    EXPECT_EQ(units["units"][unit], names);
  }
  EXPECT_EQ(units["edges"].size(), task.edges.size());
}

// A later search without the option leaves no samples of another one beside its results.
TEST_F(SampleLogTest, AnotherSearchRemovesThem) {
  const std::vector<std::string> call = {
      "place",          "--agent",   "random", "--graph", Source().graph, "--cluster",
      Source().cluster, "--samples", "5",      "--out",   folder_.path()};
  std::vector<std::string> logging = call;
  logging.emplace_back("--log-samples");
  ASSERT_EQ(RunStowplan(logging).status, 0);
  EXPECT_EQ(Lines().size(), 6u);
  ASSERT_EQ(RunStowplan(call).status, 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "units.json"));
}

}  // namespace
}  // namespace stowplan::cli
