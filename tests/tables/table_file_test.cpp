// A table as a file: what its short forms stand for, what is refused and where.
#include "tables/files/table_file.h"

#include "sim/formats/formats.h"
#include "tables/run/runner.h"
#include "tests/tables/own_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::kExample;
using testing::kHead;
using testing::kRest;

TableDefinition Parse(const std::string& text) {
  return ParseTable(text, "mine.yaml");
}

std::string RefusalOf(const std::string& text) {
  return tests::ErrorOf([&] { Parse(text); }, "read");
}

TEST(TableFile, ShortFormsStandForWhatTheAgentIs) {
  const TableDefinition table = ReadTable(kExample);
  EXPECT_EQ(table.name, "two-workloads");
  EXPECT_EQ(table.standard.samples, 200);
  EXPECT_EQ(table.quick.samples, 20);
  ASSERT_EQ(table.blocks.size(), 1u);
  const TableBlock& block = table.blocks.front();
  ASSERT_EQ(block.columns.size(), 4u);
  EXPECT_EQ(block.columns[0].kind, CellKind::kPredicted);
  EXPECT_EQ(block.columns[1].kind, CellKind::kSearched);
  EXPECT_FALSE(block.columns[1].sampled);
  EXPECT_TRUE(block.columns[2].sampled);
  EXPECT_EQ(block.lines[0].GrouperOf(block.columns[2]), "colocation");
  EXPECT_EQ(block.lines[0].GrouperOf(block.columns[3]), "neighbour(groups=32)");
  EXPECT_EQ(block.lines[0].key, "transformer_xl_layers_2");
  EXPECT_EQ(block.lines[0].gpus, 2) << "counted in the cluster";
}

TEST(TableFile, APassIsOneSampleForEachGroupThatTheCellsGrouperNames) {
  const std::string head = std::string(kHead) + "rows:\n  - {key: a, workload: chain(ops=4)}\n";
  const std::string row = "  - {key: b, workload: chain(ops=4), grouper: neighbour(groups=16)}\n";
  const auto column = [](const std::string& samples) {
    return "columns: [{agent: random, samples: " + samples + "}]\n";
  };
  const std::string grouper = "grouper: neighbour(groups=128)\n";
  const auto budgets = [](const std::string& text) {
    std::vector<std::int64_t> of_cells;
    const TableDefinition table = Parse(text);
    for (const CellPlan& plan : PlanCells(table, {.seeds = 1})) of_cells.push_back(plan.budget);
    return of_cells;
  };
  EXPECT_THAT(budgets(head + row + grouper + column("pass")), ElementsAre(129, 17));
  EXPECT_THAT(budgets(head + row + grouper + column("pass(every=15)")), ElementsAre(10, 3))
      << "the last step places what is left";
  EXPECT_THAT(budgets(head + row + grouper + column("pass, grouper: neighbour(groups=8)")),
              ElementsAre(9, 9));
  EXPECT_THAT(budgets(head + column("pass") +
                      "blocks: [{key: x, grouper: neighbour(groups=3)}, {key: y, grouper: "
                      "neighbour(groups=5)}]\n"),
              ElementsAre(4, 6));
  for (const char* wrong : {"passes", "pass(every=0)", "pass(each=2)"})
    EXPECT_THAT(RefusalOf(head + grouper + column(wrong)), HasSubstr("mine.yaml:8: columns[0].samples"));
  EXPECT_THAT(RefusalOf(head + column("pass")), HasSubstr("grouper colocation"));
  EXPECT_THAT(RefusalOf(head + grouper + column("pass") + "budgets: {paper: {grouper: colocation}}\n"),
              HasSubstr("grouper colocation"));
}

TEST(TableFile, BlocksChangeWhatTheFileGivesForAll) {
  const TableDefinition table = Parse(
      "format: stowplan.experiment\nversion: 1\nname: mine\ncluster: k40(gpus={gpus})\n"
      "columns: [cpu_only, single_gpu, {set: controls, devices: gpu}]\n"
      "rows:\n"
      "  - {key: a, workload: chain(ops=4), gpus: 2, fitted: [cpu_only], published: {cpu_only: 1.5s, "
      "single_gpu: OOM}}\n"
      "  - {key: b, workload: nmt, gpus: 4}\n"
      "blocks:\n"
      "  - {key: one}\n"
      "  - {key: two, columns: {without: [cpu_only]},\n"
      "     rows: {only: [b], cluster: \"k40(gpus={gpus},host=process)\", with: layers=2, fitted: false}}\n");
  ASSERT_EQ(table.blocks.size(), 2u);
  const TableBlock& one = table.blocks[0];
  EXPECT_EQ(one.lines[0].cluster, "k40(gpus=2)");
  EXPECT_EQ(one.lines[0].published.at("cpu_only").value, 1.5);
  EXPECT_TRUE(one.lines[0].published.at("single_gpu").out_of_memory);
  EXPECT_TRUE(one.lines[0].IsFitted(one.columns[0]));
  ASSERT_EQ(one.columns.size(), 4u);
  EXPECT_EQ(one.columns[3].key, "factored_copy");
  EXPECT_EQ(one.columns[3].devices, "gpu");
  EXPECT_TRUE(one.columns[1].published);
  EXPECT_FALSE(one.columns[2].published);
  const TableBlock& two = table.blocks[1];
  EXPECT_EQ(two.columns.size(), 3u);
  ASSERT_EQ(two.lines.size(), 1u);
  EXPECT_EQ(two.lines[0].workload, "nmt(layers=2)");
  EXPECT_EQ(two.lines[0].cluster, "k40(gpus=4,host=process)");
}

TEST(TableFile, ABlocksGrouperIsThatOfTheRowsOfAll) {
  const TableDefinition table =
      Parse(std::string(kHead) + "columns: [random]\nrows:\n  - {workload: chain(ops=4)}\n" +
            "  - {workload: chain(ops=8), grouper: stage}\n" +
            "blocks: [{key: a}, {key: b, grouper: neighbour(groups=2)}]\n");
  EXPECT_EQ(table.blocks[0].lines[0].grouper, "colocation");
  EXPECT_EQ(table.blocks[1].lines[0].grouper, "neighbour(groups=2)");
  EXPECT_EQ(table.blocks[1].lines[1].grouper, "stage");
}

TEST(TableFile, WhatIsWrongIsToldWithItsLine) {
  const std::string head = kHead, rest = kRest;
  const auto row = [&](const std::string& text) {
    return head + "columns: [single_gpu, random]\nrows:\n  - " + text + "\n";
  };
  const auto column = [&](const std::string& text) {
    return head + "columns:\n  - " + text + "\nrows: [{workload: nmt}]\n";
  };
  EXPECT_EQ(RefusalOf(head + rest), "read");
  EXPECT_EQ(RefusalOf(column("{agent: random, devices: \"gpu0,cpu\"}")), "read");
  for (const auto& [text, says] : {
           std::pair{row("{workload: chain(ops=4,bytes=3)}"), "needs quotes"},
           {row("{workload: chain, cluster: 'k40(gpus={gpus})'}"), "mine.yaml:7: rows[0] has no `gpus`"},
           {"format: stowplan.scenario\nversion: 1\n", "stowplan.experiment"},
           {head + rest + "colour: red\n", "mine.yaml:8: "},
           {head + "columns: [single_gpo]\nrows: [{workload: nmt}]\n", "(did you mean single_gpu?)"},
           {head + "columns: [random, random]\nrows: [{workload: nmt}]\n", "columns[1] has the key random"},
           {head + "columns: []\nrows: [{workload: nmt}]\n", "mine.yaml:5: columns"},
           {head + rest + "samples: 0\n", "mine.yaml:8: samples"},
           {row("{workload: nmd}"), "mine.yaml:7: rows[0].workload is nmd"},
           {row("{workload: nmt, cluster: k41}"), "mine.yaml:7: rows[0]"},
           {row("{workload: nmt, cluster: k41, gpus: 2}"), "mine.yaml:7: rows[0]"},
           {row("{workload: nmt, grouper: neighbor(groups=3)}"), "mine.yaml:7: rows[0].grouper: "},
           {row("{workload: nmt, grouper: neighbour(group=3)}"), "rows[0].grouper: neighbour"},
           {head + "grouper: neighbour(groups=0)\n" + rest, "mine.yaml:5: grouper: "},
           {head + "budgets: {quick: {grouper: stages}}\n" + rest, "budgets.quick.grouper: "},
           {column("{agent: random, grouper: modul}"), "mine.yaml:6: columns[0].grouper: "},
           {column("{agent: random, devices: gpo}"), "mine.yaml:6: columns[0]: devices gpo: "},
           {column("{set: controls, devices: gpus}"), "mine.yaml:6: columns[0]: devices gpus: "},
           {row("{workload: nmt, key: a/b}"), "rows[0].key is \"a/b\""},
           {row("{workload: nmt, published: {single: 1s}}"), "published: names single"},
           {row("{workload: nmt, published: {single_gpu: 1}}"), "mine.yaml:7: rows[0].published.single_gpu"},
           {row("{workload: nmt, published: {single_gpu: OMM}}"), "rows[0].published.single_gpu is OMM"},
           {row("{workload: nmt, fitted: [single_gpu]}"), "has no published time"},
           {row("{workload: nmt, agents: {random: single_gpu}}"), "draws no samples"},
           {head + "columns: [{key: own}]\nrows: [{workload: nmt}]\n", "column own has no agent"},
       })
    EXPECT_THAT(RefusalOf(text), HasSubstr(says)) << text;
}

// Before what is too much is made.
TEST(TableFile, WhatIsTooMuchIsRefused) {
  const auto listed = [](int count, const std::string& item) {
    std::string text = "[" + item;
    for (int i = 1; i < count; ++i) text += ", " + item;
    return text + "]\n";
  };
  const std::string head = kHead, rest = kRest, one = "columns: [single_gpu]\nrows: [{workload: chain, key: ";
  EXPECT_THAT(RefusalOf(head + rest + "blocks: " + listed(33, "{key: a, wrong: 1}")),
              HasSubstr("may have 32"));
  EXPECT_THAT(RefusalOf(head + rest + "quick_cells: " + listed(101, "\"*/*\"")), HasSubstr("may have 100"));
  EXPECT_THAT(RefusalOf(head + one + std::string(201, 'k') + "}]\n"), HasSubstr("a key of 201 characters"));
}

// Read or refused with its place, whatever bytes: nothing else leaves the reader.
TEST(TableFile, DamagedFilesAreReadOrRefused) {
  const std::string whole = formats::ReadFile(STOWPLAN_SOURCE_DIR "/tables/papers/mars.yaml");
  const char* const tokens[] = {"{",      "}",  "[",    "]",    ":",  ", ",     "- ",         "\n",   "  ",
                                "0",      "-1", "1e99", "OOM",  "1s", "native", "single_gpu", "rows", "all",
                                "{gpus}", "(",  ")",    "null", "*",  "&a",     "\xff"};
  std::mt19937_64 engine(1);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(engine() % bound); };
  int read = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text = whole;
    for (std::size_t rounds = 1 + below(3); rounds > 0; --rounds) {
      const std::size_t at = below(text.size());
      if (below(3) == 0) text.erase(at, below(60));
      if (below(3) == 0)
        text.insert(below(text.size() + 1), text.substr(std::min(at, text.size()), below(60)));
      text.insert(std::min(at, text.size()), tokens[below(std::size(tokens))]);
    }
    try {
      Parse(text);
      ++read;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith("mine.yaml")) << text;
    }
  }
  EXPECT_GT(read, 0);
  for (std::size_t size = 0; size < whole.size(); size += 37) RefusalOf(whole.substr(0, size));
}

TEST(TableFile, ExamplesAreTables) {
  int read = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STOWPLAN_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    Parse(formats::ReadFile(entry.path().string()));
    ++read;
  }
  EXPECT_GE(read, 1);
}

}  // namespace
}  // namespace stowplan::tables
