#include "output/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/testing.h"

namespace stowplan::output {
namespace {

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(PrintCsvLine({"a", "b,c", "d\"e", ""}), "a,\"b,c\",\"d\"\"e\",\n");
}

TEST(Csv, LeavesOutCommentsOnlyWhereAsked) {
  EXPECT_EQ(ParseCsv("# x\na,b\n", "t", true), (std::vector<CsvLine>{{"a", "b"}}));
  EXPECT_EQ(ParseCsv("# x\na,b\n", "t"), (std::vector<CsvLine>{{"# x"}, {"a", "b"}}));
}

TEST(Csv, ReadsWindowsLineEnds) {
  EXPECT_EQ(ParseCsv("a,b\r\nc,\"d\"\r\n", "t"), (std::vector<CsvLine>{{"a", "b"}, {"c", "d"}}));
}

TEST(Csv, RefusesAnOpenQuoteNamingTheLine) {
  try {
    ParseCsv("a,b\nc,\"d\n", "rows.csv");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "rows.csv:2: a quoted field does not end.");
  }
}

TEST(Csv, RefusesTextBehindAQuote) {
  EXPECT_THROW(ParseCsv("\"a\"b,c\n", "t"), InputError);
}

RC_GTEST_PROP(Csv, ReadsBackWhatItPrints, (const std::vector<std::string>& fields)) {
  RC_PRE(fields.size() > 1 || (fields.size() == 1 && !fields[0].empty()));
  std::vector<CsvLine> wanted = {fields};
  // A bare '\r' before a line end cannot be told from a Windows line end, so printing quotes it.
  RC_ASSERT(ParseCsv(PrintCsvLine(fields), "t") == wanted);
}

TEST(Csv, HasNoFormulas) {
  EXPECT_EQ(PrintCsvLine({"=1+1", "+x", "-x", "@SUM(1)", "\tx", "\rx", "-", "a=b", "'x"}),
            "'=1+1,'+x,'-x,'@SUM(1),'\tx,\"'\rx\",'-,a=b,'x\n");
  EXPECT_EQ(PrintCsvLine({"-1", "+0.0075", "-1.5e-3", "-inf", "12"}), "-1,+0.0075,-1.5e-3,-inf,12\n");
}

// Also what was written with an apostrophe of its own, and what any reader of formulas begins with.
RC_GTEST_PROP(Csv, ReadsBackFormulas, ()) {
  const auto field =
      *rc::gen::container<std::string>(rc::gen::element('=', '+', '-', '@', '\t', '\r', '\'', '1', 'a', ','));
  const std::string line = PrintCsvLine({field, "x"});
  RC_ASSERT(ParseCsv(line, "t") == std::vector<CsvLine>({{field, "x"}}));
}

}  // namespace
}  // namespace stowplan::output
