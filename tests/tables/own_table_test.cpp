// A table of one's own through the program: it runs and is rendered as ours are, and mistakes end before the first cell.
#include "tests/tables/own_table.h"

#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::kExample;
using testing::kHead;
using testing::kRest;
using tests::TempFolder;

TEST(OwnTable, AUsersTableRunsAndIsRenderedAsOurs) {
  const TempFolder folder;
  const auto call = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"table",     "run", kExample, "--seeds",     "1",
                                      "--samples", "3",   "--out",  folder / "out"};
    words.insert(words.end(), more.begin(), more.end());
    return testing::RunStowplan(words, folder.path());
  };
  const auto run = call({"--cells", "transformer_xl_layers_2/*"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("A transformer and Inception-V3 on two GPUs"));
  EXPECT_THAT(formats::ReadFile(folder / "out/cells.csv"), HasSubstr("\nnative,"));
  EXPECT_THAT(run.out, HasSubstr("stowplan.report " + kExample + " --results " + folder / "out"));
  const std::string rows = formats::ReadFile(folder / "out/rows.csv");
  EXPECT_THAT(rows,
              HasSubstr("stowplan table run " + kExample + " --cells native:transformer_xl_layers_2/random"));
  // A table of the same name with other cells loses none of them.
  formats::WriteFile(
      folder / "other.yaml",
      "format: stowplan.experiment\nversion: 1\nname: two-workloads\ncluster: k40\ncolumns: [heft]\n"
      "rows: [{workload: chain}]\n");
  const auto other = testing::RunStowplan(
      {"table", "run", folder / "other.yaml", "--out", folder / "out", "--export"}, folder.path());
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("holds rows of another table"));
  EXPECT_EQ(formats::ReadFile(folder / "out/rows.csv"), rows);
}

TEST(OwnTable, RowsOfAnotherMachineAreNotRenderedAsTodays) {
  const TempFolder folder;
  const std::string text = std::string(kHead) + "samples: 4\nseeds: 1\n" + kRest;
  const auto call = [&](const std::string& table, const char* verb,
                        const std::vector<std::string>& more = {}) {
    formats::WriteFile(folder / "mine.yaml", table);
    std::vector<std::string> words = {"table", verb, folder / "mine.yaml", "--out", folder / "out"};
    words.insert(words.end(), more.begin(), more.end());
    return testing::RunStowplan(words, folder.path());
  };
  ASSERT_EQ(call(text, "run", {"--samples", "3", "--seeds", "2"}).status, 0);
  EXPECT_EQ(call(text, "show").status, 0) << "budget and seeds may be a call's own";
  const std::string cells = formats::ReadFile(folder / "out/cells.csv");
  for (const auto& [now, other] :
       {std::pair{"k40(gpus=2)", "k80(gpus=2)"}, {"ops=4", "ops=5"}, {"random", "annealing"}}) {
    std::string changed = text;
    changed.replace(changed.find(now), std::string(now).size(), other);
    if (std::string(now) == "random")
      changed.replace(changed.find(other), std::string(other).size(), "{key: random, agent: annealing}");
    const auto refused = call(changed, "show");
    EXPECT_EQ(refused.status, 2) << now;
    EXPECT_THAT(refused.err, HasSubstr("is of another graph, machine, agent or budget than")) << now;
  }
  EXPECT_EQ(formats::ReadFile(folder / "out/cells.csv"), cells);
}

TEST(OwnTable, ARowThatCannotBeMadeIsToldBeforeTheFirstCell) {
  const TempFolder folder;
  formats::WriteFile(folder / "mine.yaml",
                     std::string(kHead) +
                         "samples: 4\nseeds: 1\n"
                         "columns: [random]\nrows: [{workload: chain}, {workload: rnnlm(layer=3)}]\n");
  const auto refused =
      testing::RunStowplan({"table", "run", folder / "mine.yaml", "--out", folder / "out"}, folder.path());
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, ::testing::AllOf(HasSubstr("rows[1]"), HasSubstr("layer"),
                                            ::testing::Not(HasSubstr("cells: "))));
}

TEST(OwnTable, AUsersMistakesEndWithStatusTwoBeforeAnythingRuns) {
  const TempFolder folder;
  const auto refused = [&](const std::string& text, const std::string& says) {
    formats::WriteFile(folder / "mine.yaml", text);
    testing::ExpectRefused({"table", "run", folder / "mine.yaml", "--store", folder / "store.db"}, says);
    EXPECT_FALSE(std::filesystem::exists(folder / "store.db"));
  };
  const std::string head = kHead, nmt = "rows: [{workload: nmt}]",
                    training = "training: {family: ptb, samples: 16";
  const auto block = [&](const std::string& text) { return head + "blocks:\n  - {key: a, " + text + "}\n"; };
  refused(head + "columns: [heft(x=1)]\n" + nmt + "\n", "column heft_x_1: ");
  refused("format: stowplan.experiment\nversion: 1\nname: sgdp\ncluster: k40\n" + std::string(kRest), "name");
  refused(head + "columns: [{agent: placeto, zero_shot: true, trained: false}]\n" + nmt + "\n", "`trained`");
  refused(head + "testbed: placetoo\n" + kRest, "results/placetoo/testbed.json");
  refused(block("columns: [{agent: random, zero_shot: true}], " + nmt + ", " + training + "}"),
          "zero_shot: ");
  refused(block("columns: [{agent: random, trained: true}], " + nmt + ", " + training + "}"), "trained: ");
  refused(block("columns: [{agent: placeto, trained: true}], " + nmt), "no `training`");
  refused(block("columns: [{agent: placeto, trained: true}], " + nmt + ", " + training + ", quick: 15}"),
          "at least 16");
  refused(block("columns: [{agent: placeto, trained: true}], rows: [{workload: nmt}, {workload: rnnlm, "
                "grouper: neighbour(groups=4)}], " +
                training + "}"),
          "row rnnlm has another cluster or grouper than row nmt");
  refused(
      block("columns: [random], budget: paper, rows: [{workload: nmt, paper_samples: 9}, {workload: rnnlm}]"),
      "row rnnlm no `paper_samples`");
  refused(block("columns: [random], budget: all, " + nmt), "blocks[0].budget");
  testing::ExpectRefused({"table", "run", folder / "none.yaml"}, "none.yaml");
}

// Nothing is run whose results could not be written.
TEST(OwnTable, OutputsAreLookedAtBeforeTheFirstCell) {
  const TempFolder folder;
  formats::WriteFile(folder / "mine.yaml", std::string(kHead) + kRest);
  formats::WriteFile(folder / "file", "mine");
  const auto refused = [&](const std::string& option, const std::string& path) {
    testing::ExpectRefused({"table", "run", folder / "mine.yaml", "--samples", "2", "--store",
                            folder / "store.db", option, path},
                           "cannot be made one");
    EXPECT_FALSE(std::filesystem::exists(folder / "store.db")) << option;
  };
  refused("--out", folder / "file");
  refused("--out", "/proc/foo");
}

// Graphs of others are no part of this tree: without them their cells say so, with them they run.
TEST(OwnTable, GraphsOfADataFolderAreReadWhereItIs) {
  const TempFolder folder;
  formats::WriteFile(
      folder / "mine.yaml",
      std::string(kHead) + "columns: [single_gpu]\nrows: [{key: a, workload: $STOWPLAN_DATA/a/tiny.json}]\n");
  const std::vector<std::string> call = {"table", "run", folder / "mine.yaml", "--out", folder / "out"};
  const auto without = testing::RunStowplan(call, folder.path());
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("$STOWPLAN_DATA/a/tiny.json is not there"));
  std::filesystem::create_directory(folder / "a");
  formats::WriteFile(folder / "a/tiny.json",
                     R"({"format": "stowplan.graph", "version": 1, "name": "tiny", "ops": [)"
                     R"({"name": "a", "type": "MatMul", "cost_us": {"gpu": 10, "cpu": 20}}]})");
  setenv("STOWPLAN_DATA", folder.path().c_str(), 1);
  const auto with = testing::RunStowplan(call, folder.path());
  unsetenv("STOWPLAN_DATA");
  EXPECT_EQ(with.status, 0) << with.err;
  EXPECT_THAT(formats::ReadFile(folder / "out/rows.csv"), HasSubstr(",ok,"));
}

// With as many samples as the first block it would be left out, were it not asked for.
TEST(OwnTable, ABlockThatWasRunByItsNameIsExported) {
  const TempFolder folder;
  formats::WriteFile(folder / "mine.yaml",
                     std::string(kHead) +
                         "columns: [random]\nrows: [{workload: chain(ops=4), paper_samples: 9}]\n"
                         "blocks: [{key: a}, {key: b, budget: paper}]\n");
  const auto rows = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "table", "run",   folder / "mine.yaml", "--samples", "5",       "--seeds",
        "1",     "--out", folder / "out",       "--export",  "--resume"};
    words.insert(words.end(), more.begin(), more.end());
    const auto ran = testing::RunStowplan(words, folder.path());
    EXPECT_EQ(ran.status, 0) << ran.err;
    return formats::ReadFile(folder / "out/rows.csv");
  };
  EXPECT_THAT(rows({}), ::testing::AllOf(HasSubstr("\na,"), ::testing::Not(HasSubstr("\nb,"))));
  EXPECT_THAT(rows({"--cells", "b:*/random"}), ::testing::AllOf(HasSubstr("\na,"), HasSubstr("\nb,")));
}

}  // namespace
}  // namespace stowplan::tables
