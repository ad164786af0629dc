// Golden renderings of a made-up table. `BERTH_UPDATE_GOLDEN=1 test_bench` writes them anew.
#include <cstdlib>
#include <filesystem>

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
