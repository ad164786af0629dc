// stowplan compare: every agent gets the same budget and seeds, each row can be repeated by the command it names, and what
// was finished is kept.
#include <signal.h>

#include "cli/compare/brief_names.h"
#include "cli/compare/comparison.h"
#include "output/interrupt.h"
#include "sim/formats/formats.h"
#include "tables/store.h"
#include "tests/cli/fetches_nothing.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::ExpectRefused;
using testing::JsonOf;
using testing::RunStowplan;
using tests::TempFolder;

const std::vector<std::string> kScenario = {"--graph",     "random_dag(ops=60)", "--cluster",
                                            "k80(gpus=2)", "--samples",          "40"};

std::vector<std::string> Compare(std::vector<std::string> agents, const std::vector<std::string>& more) {
  std::vector<std::string> call = {"compare", "--agents"};
  call.insert(call.end(), agents.begin(), agents.end());
  call.insert(call.end(), kScenario.begin(), kScenario.end());
  call.insert(call.end(), more.begin(), more.end());
  return call;
}

TEST(Compare, AgentsThatSampleRunForEverySeedTheOthersOnce) {
  const auto json =
      JsonOf(RunStowplan(Compare({"heft", "random", "local_search"}, {"--seeds", "2", "--json", "-"})));
  std::multiset<std::string> runs;
  for (const auto& run : json["runs"]) {
    const std::string agent = run["agent"];
    runs.insert(agent.substr(0, agent.find('(')) + "#" + std::to_string(run["seed"].get<int>()));
    EXPECT_EQ(run["samples"], agent.rfind("heft", 0) == 0 ? 1 : 40) << agent;
    EXPECT_GE(run["best_runtime_us"].get<double>(), run["lower_bound_us"].get<double>());
  }
  EXPECT_EQ(runs, (std::multiset<std::string>{"heft#1", "random#1", "random#2", "local_search#1",
                                              "local_search#2"}));
}

// What `stowplan place` finds alone is what it finds here, whatever number of searches run beside it.
TEST(Compare, ARowIsWhatPlaceFinds) {
  const auto json =
      JsonOf(RunStowplan(Compare({"random", "annealing"}, {"--seeds", "2", "--threads", "3", "--grouper",
                                                           "neighbour(groups=16)", "--json", "-"})));
  ASSERT_EQ(json["runs"].size(), 4u);
  for (const auto& run : json["runs"]) {
    const std::string agent = run["agent"];
    std::vector<std::string> call = {"place",
                                     "--agent",
                                     agent,
                                     "--grouper",
                                     "neighbour(groups=16)",
                                     "--seed",
                                     std::to_string(run["seed"].get<int>()),
                                     "--json",
                                     "-"};
    call.insert(call.end(), kScenario.begin(), kScenario.end());
    const auto alone = JsonOf(RunStowplan(call));
    for (const char* key :
         {"best_runtime_us", "samples", "samples_to_best", "samples_to_1pct", "lower_bound_us"})
      EXPECT_EQ(run[key], alone[key]) << agent << " " << key;
    EXPECT_THAT(run["command"].get<std::string>(),
                HasSubstr("--grouper 'neighbour(groups=16)' --samples 40 --seed"));
  }
}

tables::CellRecord Search(const char* column, int seed, double runtime_us) {
  tables::CellRecord record;
  record.block = "compare";
  record.row = "compare";
  record.column = column;
  record.agent = column;
  record.kind = "searched";
  record.status = "ok";
  record.seed = seed;
  record.budget = 40;
  record.runtime_us = runtime_us;
  record.lower_bound_us = 1e6;
  return record;
}

// Whose median is the best need not have found the fastest placement.
TEST(Compare, LeadsWithTheBestMedianAndTheLuckiestSeed) {
  tables::TableDefinition table;
  table.name = "compare";
  table.blocks.emplace_back();
  tables::TableBlock& block = table.blocks.front();
  block.key = "compare";
  for (const char* agent : {"expert", "local_search"}) {
    tables::TableColumn& column = block.columns.emplace_back();
    column.key = column.title = column.agent = agent;
    column.kind = tables::CellKind::kSearched;
    column.sampled = true;
  }
  block.lines.emplace_back().key = "compare";
  const auto page = [&](double luckiest) {
    return MakeComparison(
        tables::TableResults(table, {Search("expert", 1, 1.329e6), Search("local_search", 1, 1.4e6),
                                     Search("local_search", 2, luckiest)}),
        {});
  };
  EXPECT_EQ(page(1.325e6).lead,
            "expert has the best median: 1.329 s, 1.33 times the proven lower bound; the fastest placement "
            "was found by "
            "local_search, seed 2: 1.325 s.");
  EXPECT_EQ(page(1.36e6).lead,
            "expert found the fastest placement: 1.329 s, 1.33 times the proven lower bound.");
  EXPECT_THAT(output::PrintReportText(page(1.36e6)), HasSubstr("of an even number the larger of the two"));
}

TEST(Compare, ScreensStandBesideSamplesWhereThereAreAny) {
  const auto result = RunStowplan(Compare({"random", "pilot(screen=16,plan=160)"}, {"--seeds", "1"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("samples  approximate  to best"));
  EXPECT_THAT(RunStowplan(Compare({"random", "heft"}, {"--seeds", "1"})).out,
              Not(HasSubstr("approximate  ")));
  const auto json =
      JsonOf(RunStowplan(Compare({"random", "pilot(screen=16,plan=160)"}, {"--seeds", "1", "--json", "-"})));
  EXPECT_FALSE(json["runs"][0].contains("screens"));
  EXPECT_GT(json["runs"][1]["screens"], 160);
}

TEST(Compare, AgentsOfOneNameAreToldApartByWhatDiffers) {
  EXPECT_THAT(BriefNames({"random(unit=op)", "heft(memory=yes,rank=up)", "heft(memory=no,rank=up)"}),
              ElementsAre("random", "heft(memory=yes)", "heft(memory=no)"));
}

TEST(Compare, WritesAPageThatFetchesNothing) {
  const TempFolder folder;
  ASSERT_EQ(RunStowplan(Compare({"random", "heft"}, {"--out", folder / "out"})).status, 0);
  const std::string page = formats::ReadFile(folder / "out/comparison.html");
  EXPECT_THAT(page, HasSubstr("<figure data-kind=\"curves\""));
  EXPECT_THAT(page, HasSubstr("Best so far"));
  testing::ExpectFetchesNothing(page);
  EXPECT_FALSE(tables::ParseRows(formats::ReadFile(folder / "out/rows.csv"), "rows.csv").empty());
  EXPECT_TRUE(std::filesystem::exists(folder / "out/report.txt"));
}

TEST(Compare, ResumeKeepsFinishedSearches) {
  const TempFolder folder;
  ASSERT_EQ(RunStowplan(Compare({"random", "heft"}, {"--seeds", "2", "--out", folder / "out"})).status, 0);
  const auto rows = [&] { return tables::ParseRows(formats::ReadFile(folder / "out/rows.csv"), "rows.csv"); };
  const auto first = rows();
  const auto resumed = RunStowplan(
      Compare({"random", "heft", "annealing"}, {"--seeds", "2", "--resume", "--out", folder / "out"}));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const auto second = rows();
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(second.size(), 5u);
  for (const tables::CellRecord& before : first) {
    for (const tables::CellRecord& after : second) {
      if (after.column == before.column && after.seed == before.seed) {
        EXPECT_EQ(tables::ToFields(after), tables::ToFields(before));
      }
    }
  }
}

// Ctrl-C between two searches: those that were finished are there, and the call that goes on ends as if nothing had
// been.
TEST(Compare, InterruptedSearchesGoOn) {
  const TempFolder folder;
  const auto call = [&](const char* samples, const char* more) {
    std::vector<std::string> words = {
        "compare",   "--agents",    "heft",      "random", "--graph", "random_dag(ops=60)",
        "--cluster", "k80(gpus=2)", "--samples", samples,  "--seeds", "1",
        "--out",     folder / "out"};
    if (*more != 0) words.emplace_back(more);
    return words;
  };
  const auto kept = [&] { return tables::TableStore(folder / "out/searches.db").All("compare").size(); };
  testing::RunningProgram running(call("1000000000", ""), folder.path());
  for (int waited = 0; waited < 60'000; ++waited) {
    if (std::filesystem::exists(folder / "out/searches.db") && kept() == 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(running.StopAndWait(SIGINT), output::kInterruptedStatus);
  ASSERT_EQ(kept(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder / "out/comparison.html"));
  EXPECT_EQ(RunStowplan(call("40", "--resume")).status, 0);
}

TEST(Compare, LeavesTheResultsOfOthersAlone) {
  const TempFolder folder;
  ASSERT_EQ(RunStowplan(Compare({"random", "heft"}, {"--out", folder / "out"})).status, 0);
  const std::string page = formats::ReadFile(folder / "out/comparison.html");
  ExpectRefused(Compare({"random", "annealing"}, {"--out", folder / "out"}), "holds results of something");
  ExpectRefused({"compare", "--agents", "random", "heft", "--graph", "chain", "--cluster", "k80(gpus=2)",
                 "--resume", "--out", folder / "out"},
                "scenario is random_dag(ops=60) on k80(gpus=2) there");
  EXPECT_EQ(formats::ReadFile(folder / "out/comparison.html"), page);
  EXPECT_EQ(RunStowplan(Compare({"random", "annealing"}, {"--force", "--out", folder / "out"})).status, 0);
  EXPECT_NE(formats::ReadFile(folder / "out/comparison.html"), page);
}

// Before the first search, whose results would be lost otherwise.
TEST(Compare, LooksAtTheOutputFirst) {
  const TempFolder folder;
  formats::WriteFile(folder / "file", "mine");
  ExpectRefused(Compare({"random", "heft"}, {"--out", folder / "run", "--json", folder / "file/x.json"}),
                "cannot be made one");
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

}  // namespace
}  // namespace stowplan::cli
