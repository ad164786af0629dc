// Golden renderings of a made-up table. `STOWPLAN_UPDATE_GOLDEN=1 test_bench` writes them anew.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "output/html.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"
#include "tables/report/figures.h"
#include "tables/report/rendered_table.h"
#include "tests/cli/fetches_nothing.h"
#include "tests/tables/golden_file.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RenderedTable Tiny() {
  static const TableDefinition table = testing::TinyTable();
  return BuildRenderedTable(TableResults(table, testing::TinyRecords()));
}

TEST(Render, MarkdownIsAsInTheGoldenFile) {
  testing::ExpectGolden("table.md", RenderMarkdown(Tiny()));
}
TEST(Render, CsvIsAsInTheGoldenFile) {
  testing::ExpectGolden("tiny.csv", RenderCsv(Tiny()));
}
TEST(Render, LatexIsAsInTheGoldenFile) {
  testing::ExpectGolden("tiny.tex", RenderLatex(Tiny()));
}
TEST(Render, TerminalIsAsInTheGoldenFile) {
  testing::ExpectGolden("tiny.txt", RenderTerminal(Tiny()));
}
TEST(Render, HtmlIsAsInTheGoldenFile) {
  const std::string html = RenderHtml(Tiny());  // but for style and scripts, which are files of their own
  const std::size_t begin = html.find("<main>");
  testing::ExpectGolden("tiny.html", html.substr(begin, html.find("</main>") - begin));
}

TEST(Render, DetailsAreAsInTheGoldenFile) {
  testing::ExpectGolden("details.md", RenderMarkdownDetails(Tiny()));
}

// What stands in the page but for the library.
std::string OwnHtml(const RenderedTable& table) {
  const std::string html = RenderHtml(table);
  return html.substr(0, html.find("/* D3"));
}

TEST(Render, HtmlFetchesNothing) {
  testing::ExpectFetchesNothing(RenderHtml(Tiny()));
}

TEST(Render, HtmlSaysWithWordsWhatItDraws) {
  const std::string html = OwnHtml(Tiny());
  EXPECT_THAT(html, HasSubstr("scope=\"row\""));
  EXPECT_THAT(html, HasSubstr("aria-label=\"Dots, seconds per step. CPU only: 6.20, published 6.89;"));
}

TEST(Render, AllThatIsDrawnIsJson) {
  const std::string html = OwnHtml(Tiny());
  const std::string begin = "<script type=\"application/json\">";
  std::size_t figures = 0;
  for (std::size_t at = 0; (at = html.find(begin, at)) != std::string::npos; ++figures) {
    at += begin.size();
    EXPECT_TRUE(nlohmann::json::accept(html.substr(at, html.find("</script>", at) - at)))
        << html.substr(at, 200);
  }
  EXPECT_GT(figures, 2U);
  EXPECT_THAT(output::FigureHtml("dots", "t", "s", formats::JsonString("</script>"), ""),
              HasSubstr("\"\\u003c/script>\""));
}

// What the reader came for comes first: the published columns, the best search, the bound; others on demand.
TEST(Render, TheFirstScreenIsTheVerdict) {
  RenderedTable table = Tiny();
  const std::string html = OwnHtml(table);
  EXPECT_LT(html.find("class=\"lead\""), html.find("class=\"results"));
  EXPECT_LT(html.find("class=\"results"), html.find("class=\"toc\""));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">CPU only</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\" data-group=\"search\" hidden>random</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">best search</th><th scope=\"col\">bound</th>"));
  EXPECT_LE(table.outcome.size(), 5U);
  table.summary = table.blocks.back();
  table.summary->title = "instead";
  EXPECT_THAT(OwnHtml(table), HasSubstr("aria-label=\"instead. "));
}

// A control at rate 0 is no learner, however fast it is.
TEST(Render, TheBestLearnerIsOneThatLearns) {
  TableDefinition definition = testing::TinyTable();
  const auto says = [&](const char* agent) {
    definition.blocks[0].columns[3].agent = agent;
    const std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "random", "searched", 1, 1.0),
                                             testing::MakeRecord("rnnlm", "learner", "searched", 1, 0.9)};
    return fmt::format("{}", fmt::join(BuildOutcome(TableResults(definition, records)), " "));
  };
  EXPECT_THAT(
      says("factored"),
      HasSubstr("At equal samples the best learner of a row takes 0.900 times as long as the best search."));
  EXPECT_THAT(says("factored(lr=0)"), Not(HasSubstr("best learner")));
}

// Screens are no samples, so the search that has none is told, too.
TEST(Render, TheBestLearnerStandsBesideLocalSearchToo) {
  TableDefinition definition = testing::TinyTable();
  std::vector<TableColumn>& columns = definition.blocks[0].columns;
  for (const char* key : {"local_search", "local_search_trivial"}) {
    columns.push_back(columns[2]);
    columns.back().key = columns.back().title = columns.back().agent = key;
  }
  std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "random", "searched", 1, 0.5),
                                     testing::MakeRecord("rnnlm", "local_search", "searched", 1, 1.6),
                                     testing::MakeRecord("rnnlm", "local_search_trivial", "searched", 1, 0.8),
                                     testing::MakeRecord("rnnlm", "learner", "searched", 1, 1.0)};
  records[0].screens = 1234;
  EXPECT_THAT(BuildOutcome(TableResults(definition, records)),
              ::testing::Contains(
                  "At equal samples the best learner of a row takes 1.25 times as long as the better local "
                  "search, 2.00 times as long as the best search (1,234 screens or more)."));
  definition.over = {"local_search"};
  EXPECT_THAT(BuildOutcome(TableResults(definition, records)),
              ::testing::Contains(
                  "At equal samples the best learner of a row takes 2.00 times as long as the best search."))
      << "the page opens with it";
  definition.over.clear();
  records.erase(records.begin());
  EXPECT_THAT(BuildOutcome(TableResults(definition, records)),
              ::testing::Contains(
                  "At equal samples the best learner of a row takes 1.25 times as long as the best search."));
}

TEST(Render, ScreensAreToldOfTheRowsThatHaveThem) {
  TableDefinition definition = testing::TinyTable();
  definition.blocks[0].columns.push_back(definition.blocks[0].columns[2]);
  TableColumn& local = definition.blocks[0].columns.back();
  local.key = local.title = local.agent = "local_search";
  std::vector<CellRecord> records;
  for (const char* row : {"rnnlm", "nmt_2"}) {
    records.push_back(testing::MakeRecord(row, "learner", "searched", 1, 1.0));
    records.push_back(testing::MakeRecord(row, "local_search", "searched", 1, 0.5));
  }
  records.push_back(testing::MakeRecord("rnnlm", "random", "searched", 1, 0.25));
  records.back().screens = 1234;
  EXPECT_THAT(BuildOutcome(TableResults(definition, records)),
              ::testing::Contains(HasSubstr("the best search (1,234 screens or more in 1 of 2 rows).")));
}

// What a paper's table is about, as published and here; a row counts where both fit in both.
TEST(Render, LearnersOpenATableBesideTheExpert) {
  TableDefinition definition = testing::TinyTable();
  std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "single_gpu", "predicted", 1, 2.0),
                                     testing::MakeRecord("rnnlm", "learner", "searched", 1, 1.0),
                                     testing::MakeRecord("nmt_2", "single_gpu", "predicted", 1, 2.0),
                                     testing::MakeRecord("nmt_2", "learner", "searched", 1, 1.0)};
  EXPECT_EQ(BuildOutcome(TableResults(definition, records)).front(),
            "learner takes 0.500 times as long as GPU only (published 1.000), in the one row that has both.");
  definition.blocks[0].lines[1].published["single_gpu"] = {false, 1.68};
  EXPECT_EQ(BuildOutcome(TableResults(definition, records)).front(),
            "learner takes 0.500 times as long as GPU only (published 0.707); geometric means over 2 rows "
            "that have both.");
  definition.blocks[0].columns[3].published = false;
  EXPECT_THAT(BuildOutcome(TableResults(definition, records)), ::testing::Each(Not(HasSubstr("(published"))));
}

// Learners with other rows are compared where all were run; the paper's settings stand beside ours.
TEST(Render, LearnersOfOneSentenceHaveTheSameRows) {
  TableDefinition definition = testing::TinyTable();
  std::vector<TableColumn>& columns = definition.blocks[0].columns;
  columns[3].agent = "rnn";
  for (const auto& [key, agent] : {std::pair{"second", "placeto"}, {"paper", "rnn(preset=paper)"}}) {
    columns.push_back(columns[3]);
    columns.back().key = columns.back().title = key;
    columns.back().agent = agent;
  }
  columns.back().published = false;
  for (TableLine& line : definition.blocks[0].lines) {
    for (const char* column : {"single_gpu", "learner", "second"}) line.published[column] = {false, 2.0};
  }
  std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "single_gpu", "predicted", 1, 2.0),
                                     testing::MakeRecord("nmt_2", "single_gpu", "predicted", 1, 2.0),
                                     testing::MakeRecord("rnnlm", "learner", "searched", 1, 1.0),
                                     testing::MakeRecord("rnnlm", "second", "searched", 1, 1.5),
                                     testing::MakeRecord("nmt_2", "second", "searched", 1, 0.5),
                                     testing::MakeRecord("rnnlm", "paper", "searched", 1, 3.0)};
  EXPECT_EQ(
      BuildOutcome(TableResults(definition, records)).front(),
      "learner takes 0.500 times as long as GPU only (published 1.000; with the paper's settings 1.50), "
      "second 0.750 (1.000), in the one row that has both.");
  records.back().row = "nmt_2";
  EXPECT_THAT(BuildOutcome(TableResults(definition, records)).front(),
              HasSubstr("(published 1.000; with the paper's settings not in every row)"));
  columns.back().samples = 7;
  EXPECT_THAT(BuildOutcome(TableResults(definition, records)).front(), HasSubstr("(published 1.000), second"))
      << "at other samples it is no comparison";
  columns.back().samples = 0;
  // As in a table of one's own, where any column may have numbers beside it.
  records.back().row = "rnnlm";
  for (TableColumn& column : columns) column.published = true;
  columns.insert(columns.begin() + 2, columns[1]);
  columns[2].key = columns[2].title = "heft";
  EXPECT_THAT(
      BuildOutcome(TableResults(definition, records)).front(),
      ::testing::StartsWith("learner takes 0.500 times as long as GPU only (published 1.000; with the "
                            "paper's settings 1.50), second"));
}

TEST(Render, WhoHasSeveralSizesIsOfNone) {
  TableDefinition definition = testing::TinyTable();
  definition.blocks[0].columns.push_back(definition.blocks[0].columns[3]);
  definition.blocks[0].columns.back().key = definition.blocks[0].columns.back().title = "other";
  std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "learner", "searched", 1, 1.0),
                                     testing::MakeRecord("rnnlm", "other", "searched", 1, 1.0)};
  const auto networks = [&](const char* first, const char* second) {
    records[0].agent = first;
    records[1].agent = second;
    for (const auto& [what, value] : BuildFacts(TableResults(definition, records)))
      if (what == "networks") return value;
    return std::string();
  };
  EXPECT_EQ(networks("rnn(size=small)", "sgdp(size=small)"), "size small, of all");
  EXPECT_EQ(networks("rnn(size=small)", "placeto"), "size small: rnn");
  EXPECT_EQ(networks("rnn(size=small)", "rnn(size=full)"), "size full: rnn; size small: rnn");
}

TEST(Render, LearnersPresetsAreTold) {
  TableDefinition definition = testing::TinyTable();
  std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "learner", "searched", 1, 1.0)};
  const auto presets = [&](const char* agent) {
    records[0].agent = agent;
    for (const auto& [what, value] : BuildFacts(TableResults(definition, records)))
      if (what == "learners' presets") return value;
    return std::string();
  };
  EXPECT_THAT(presets("placeto(preset=tuned,lr=1)"),
              ::testing::StartsWith("tuned (network as published but "));
  EXPECT_THAT(presets("placeto(preset=paper) on 16 graphs"), ::testing::EndsWith(", of all"));
  definition.blocks[0].columns.push_back(definition.blocks[0].columns[3]);
  definition.blocks[0].columns.back().key = definition.blocks[0].columns.back().title = "other";
  records.push_back(testing::MakeRecord("rnnlm", "other", "searched", 1, 1.0));
  EXPECT_THAT(presets("placeto(preset=paper)"), ::testing::EndsWith(": learner")) << "one of two has it";
  EXPECT_EQ(presets("factored"), "");
  definition.blocks[0].columns[3].published = false;
  EXPECT_FALSE(DescribeColumn(definition.blocks[0], definition.blocks[0].columns[3]).shown);
  definition.blocks[0].columns[3].agent = "placeto(preset=paper)";
  EXPECT_TRUE(DescribeColumn(definition.blocks[0], definition.blocks[0].columns[3]).shown)
      << "the paper's own settings are not hidden behind ours";
}

// A tip says how many samples and seeds a cell has, and how to make it again.
TEST(Render, ACellSaysWhereItComesFrom) {
  const RenderedLine line = Tiny().blocks.front().lines.front();
  EXPECT_THAT(line.cells[2].tip, HasSubstr("searched: "));
  EXPECT_THAT(line.cells[2].tip, HasSubstr("seed"));
  EXPECT_THAT(line.cells[2].tip, HasSubstr("repeat: "));
  ASSERT_TRUE(line.best.has_value());
  EXPECT_EQ(line.best->by, "random");
}

// The verdict has few words, whatever the details have.
TEST(Render, ClaimsAreShortInTheVerdict) {
  RenderedTable table = Tiny();
  table.claims = {{"a claim", "2 of 3; a 1.00, b 2.00", "holds", "a column", "ours"}};
  table.claims_in_brief = {{"Claims of ours", {{"a claim", "2 of 3", "holds"}}}};
  EXPECT_THAT(RenderMarkdown(table), HasSubstr("## Claims of ours"));
  EXPECT_THAT(RenderMarkdown(table), HasSubstr("| a claim | 2 of 3 | holds |"));
  EXPECT_THAT(RenderMarkdownDetails(table),
              HasSubstr("| a claim | ours | 2 of 3; a 1.00, b 2.00 | holds | a column |"));
}

// The lines in the legend of each chart: "3 random; 0 genetic; ".
std::vector<std::string> StylesIn(const std::string& html) {
  std::vector<std::string> charts;
  const std::string figure = "<figure", sample = "<span data-line=\"";
  for (std::size_t at = 0; (at = html.find('<', at)) != std::string::npos; ++at) {
    if (html.compare(at, figure.size(), figure) == 0) charts.emplace_back();
    if (html.compare(at, sample.size(), sample) != 0) continue;
    const std::size_t name = html.find('>', at) + 1;
    charts.back() +=
        html.substr(at + sample.size(), 1) + " " + html.substr(name, html.find(' ', name) - name) + "; ";
  }
  return charts;
}

TEST(Render, ACellWithFewerSeedsThanTheOthersSaysSo) {
  std::vector<CellRecord> records;
  for (int seed = 1; seed <= 3; ++seed)
    records.push_back(testing::MakeRecord("rnnlm", "random", "searched", seed, seed));
  for (int seed = 1; seed <= 2; ++seed)
    records.push_back(testing::MakeRecord("rnnlm", "learner", "searched", seed, seed));
  records.push_back(testing::MakeRecord("nmt_2", "learner", "searched", 1, 1));
  const TableDefinition table = testing::TinyTable();
  const RenderedTable rendered = BuildRenderedTable(TableResults(table, records));
  const std::vector<RenderedLine>& lines = rendered.blocks.front().lines;
  EXPECT_EQ(lines[0].cells[2].spread, "[1.00, 3.00]");
  EXPECT_EQ(lines[0].cells[3].spread, "[1.00, 2.00], 2 seeds");
  EXPECT_EQ(lines[1].cells[3].spread, "1 seed");
  // Its curve is that of the seed which is printed.
  for (const RenderedSeries& series : rendered.charts.front().series) {
    if (series.name == "learner") {
      EXPECT_EQ(series.value, lines[0].cells[3].ours);
    }
  }
}

// The eleventh name shares with the first, unless both are in one chart.
TEST(Render, AnAgentIsDrawnAlikeInAllCharts) {
  const auto chart = [](const std::vector<std::string>& names) {
    RenderedChart made{.title = "a chart"};
    for (const std::string& name : names) made.series.push_back({name, "1.0", name, {{1, 2}, {10, 1}}});
    return made;
  };
  const std::string html = CurveFigures({chart({"a", "b", "c"}), chart({"c", "d", "a"}),
                                         chart({"e", "f", "g", "h", "i", "j", "k"}), chart({"a", "k", "b"})});
  EXPECT_THAT(StylesIn(html),
              ::testing::ElementsAre("0 a; 1 b; 2 c; ", "2 c; 3 d; 0 a; ",
                                     "4 e; 5 f; 6 g; 7 h; 8 i; 9 j; 0 k; ", "0 a; 2 k; 1 b; "));
}

TEST(Render, HtmlEscapesWhatItIsGiven) {
  RenderedTable table = Tiny();
  table.blocks[0].lines[0].title = "<b>&\"";
  const std::string html = OwnHtml(table);
  EXPECT_EQ(html.find("<b>&\""), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;&amp;&quot;"), std::string::npos);
}

TEST(Render, MarkdownAndLatexEscapeTheirSpecialCharacters) {
  RenderedTable table = Tiny();
  table.blocks[0].lines[0].title = "a|b_c";
  EXPECT_NE(RenderMarkdownDetails(table).find("| a\\|b_c |"), std::string::npos);
  EXPECT_NE(RenderLatex(table).find("a|b\\_c"), std::string::npos);
}

}  // namespace
}  // namespace stowplan::tables
