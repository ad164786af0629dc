// Golden renderings of a made-up table. `BERTH_UPDATE_GOLDEN=1 test_bench` writes them anew.
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/tables/html.h"
#include "bench/tables/rendered_table.h"
#include "sim/formats/formats.h"
#include "tests/bench/golden_file.h"
#include "tests/bench/tiny_table.h"

namespace berth::bench {
namespace {

RenderedTable Tiny() {
  static const TableDefinition table = testing::TinyTable();
  return BuildRenderedTable(TableResults(table, testing::TinyRecords()));
}

TEST(Render, MarkdownIsAsInTheGoldenFile) {
  testing::ExpectGolden("tiny.md", RenderMarkdown(Tiny()));
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
  testing::ExpectGolden("tiny.html", RenderHtml(Tiny()));
}

TEST(Render, HtmlFetchesNothingAndRunsNothing) {
  const std::string html = RenderHtml(Tiny());
  for (const char* forbidden : {"<script", "http://", "https://", "<link", "@import", "url("}) {
    EXPECT_EQ(html.find(forbidden), std::string::npos) << forbidden;
  }
}

TEST(Render, HtmlSaysWithWordsWhatItSaysWithColours) {
  const std::string html = RenderHtml(Tiny());
  EXPECT_NE(html.find("<caption>"), std::string::npos);
  EXPECT_NE(html.find("scope=\"row\""), std::string::npos);
  EXPECT_NE(html.find("aria-label=\"Bars of seconds per step. CPU only: ours 6.20, published 6.89;"),
            std::string::npos);
}

// What the reader came for comes first, what is long is opened when it is asked for.
TEST(Render, ATableOfDistributionsBeginsWithThemAndFoldsItsDetails) {
  RenderedTable table = Tiny();
  ASSERT_FALSE(table.charts.empty());
  const std::string charts = "<h2>" + table.charts_title;
  const std::string block = "<h2>" + table.blocks.front().title;
  const std::string cells_first = RenderHtml(table);
  EXPECT_LT(cells_first.find(block), cells_first.find(charts));
  EXPECT_EQ(cells_first.find("<details>"), std::string::npos);
  table.charts_first = true;
  table.discussion.push_back({"Long", {}, {"n"}, std::vector<std::vector<std::string>>(100, {"1"})});
  const std::string charts_first = RenderHtml(table);
  EXPECT_GT(charts_first.find(block), charts_first.find(charts));
  EXPECT_NE(charts_first.find("<details><summary>100 rows</summary>"), std::string::npos);
}

// The legend of each chart: "s3 random; s0 genetic; ".
std::vector<std::string> StylesIn(const std::string& html) {
  std::vector<std::string> charts;
  const std::regex sample(R"re(<figure>|class="(s\d)" points="0,3 28,3"/></svg>(\S+) )re");
  for (auto it = std::sregex_iterator(html.begin(), html.end(), sample); it != std::sregex_iterator(); ++it) {
    if (!(*it)[1].matched) {
      charts.emplace_back();
    } else {
      charts.back() += (*it)[1].str() + " " + (*it)[2].str() + "; ";
    }
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
  const std::string html = HtmlCharts({chart({"a", "b", "c"}), chart({"c", "d", "a"}),
                                       chart({"e", "f", "g", "h", "i", "j", "k"}), chart({"a", "k", "b"})});
  EXPECT_THAT(StylesIn(html),
              ::testing::ElementsAre("s0 a; s1 b; s2 c; ", "s2 c; s3 d; s0 a; ",
                                     "s4 e; s5 f; s6 g; s7 h; s8 i; s9 j; s0 k; ", "s0 a; s2 k; s1 b; "));
}

TEST(Render, HtmlEscapesWhatItIsGiven) {
  RenderedTable table = Tiny();
  table.blocks[0].lines[0].title = "<b>&\"";
  const std::string html = RenderHtml(table);
  EXPECT_EQ(html.find("<b>&\""), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;&amp;&quot;"), std::string::npos);
}

TEST(Render, MarkdownAndLatexEscapeTheirSpecialCharacters) {
  RenderedTable table = Tiny();
  table.blocks[0].lines[0].title = "a|b_c";
  EXPECT_NE(RenderMarkdown(table).find("| a\\|b_c |"), std::string::npos);
  EXPECT_NE(RenderLatex(table).find("a|b\\_c"), std::string::npos);
}

}  // namespace
}  // namespace berth::bench
