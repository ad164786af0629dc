#include "output/progress.h"

#include "output/console.h"
#include "tests/testing.h"

namespace stowplan::output {
namespace {

const ProgressLine kLine = {.what = "table hierarchical, cells",
                            .part = 0.5,
                            .counts = "120 of 1,000",
                            .note = "nmt_2/local_search 1.184 s, 90.1 k samples/s",
                            .rate = "94.1/s",
                            .left = "12 min left"};

TEST(ProgressLine, IsWholeWhereItFits) {
  EXPECT_EQ(
      FitProgress(kLine, 200),
      "table hierarchical, cells: ████████████░░░░░░░░░░░░ 120 of 1,000, nmt_2/local_search 1.184 s, 90.1 k "
      "samples/s, 94.1/s, 12 min left");
}

TEST(ProgressLine, FitsEveryWidth) {
  for (std::size_t width = 0; width <= 200; ++width) EXPECT_LE(TextWidth(FitProgress(kLine, width)), width);
}

TEST(ProgressLine, TheNoteIsCutFirstThenTheBar) {
  EXPECT_EQ(
      FitProgress(kLine, 100),
      "table hierarchical, cells: ████████████░░░░░░░░░░░░ 120 of 1,000, nmt_2/local_…, 94.1/s, 12 min left");
  EXPECT_EQ(FitProgress(kLine, 80),
            "table hierarchical, cells: ██████████░░░░░░░░░ 120 of 1,000, 94.1/s, 12 min left");
  EXPECT_EQ(FitProgress(kLine, 60), "table hierarchica…: ███░░░ 120 of 1,000, 94.1/s, 12 min left");
  EXPECT_EQ(FitProgress(kLine, 52), "table hierarchical, cells: 120 of 1,000, 12 min left");
  EXPECT_EQ(FitProgress(kLine, 40), "table hierar…: 120 of 1,000, 12 min left");
}

TEST(ProgressLine, IsOneLine) {
  ProgressLine line = kLine;
  line.note = "two\nlines";
  EXPECT_THAT(FitProgress(line, 200), HasSubstr("two lines"));
  EXPECT_THAT(FitProgress(line, 200), Not(HasSubstr("\n")));
}

TEST(ProgressLine, TimesAreAsExactAsTheyCanBeKnown) {
  EXPECT_EQ(RoughTime(0.2), "1 s");
  EXPECT_EQ(RoughTime(59), "59 s");
  EXPECT_EQ(RoughTime(59.9), "1 min");
  EXPECT_EQ(RoughTime(12.4 * 60), "12 min");
  EXPECT_EQ(RoughTime(3600), "1 h 00 min");
  EXPECT_EQ(RoughTime(3.1 * 3600), "3 h 06 min");
}

}  // namespace
}  // namespace stowplan::output
