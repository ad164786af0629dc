#include "output/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/base/error.h"

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

}  // namespace
}  // namespace stowplan::output
