#include "output/console.h"

#include "sim/formats/document/source.h"
#include "tests/testing.h"

namespace stowplan::output {
namespace {

TEST(Console, TimesKeepFourDigitsAndTheUnitThatFits) {
  EXPECT_EQ(TimeText(0.0), "0 us");
  EXPECT_EQ(TimeText(0.5), "500.0 ns");
  EXPECT_EQ(TimeText(812.5), "812.5 us");
  EXPECT_EQ(TimeText(1184321.5), "1.184 s");
  EXPECT_EQ(TimeText(54321.0), "54.32 ms");
  EXPECT_EQ(TimeText(65.0 * 60e6), "1 h 05 min");
  EXPECT_EQ(TimeText(sim::Picos{125'000'000}), "125.0 us");
}

TEST(Console, CountsBytesAsDataSheetsDo) {
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(11'681'136'640.0), "11.68 GB");
}

TEST(Console, WhatLacksLittleIsSaidWhereNeedAndCapacityReadAlike) {
  constexpr std::int64_t kCapacity = 11'681'136'640;
  EXPECT_EQ(NeedText(12'500'000'000, kCapacity), "12.50 GB of 11.68 GB");
  EXPECT_EQ(NeedText(kCapacity + 1'250'000, kCapacity), "11.68 GB of 11.68 GB, 1.25 MB too much");
  EXPECT_EQ(NeedText(kCapacity, kCapacity), "11.68 GB of 11.68 GB");
  EXPECT_EQ(NeedText(1001, 1000), "1.00 kB of 1.00 kB, 1 B too much");
}

TEST(Console, GroupsThousands) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1'234'567), "1,234,567");
  EXPECT_EQ(CountText(-1000), "-1,000");
}

TEST(Console, SecondsHaveThreeDigitsAndNoExponent) {
  EXPECT_EQ(SecondsDigits(12.54), "12.5");
  EXPECT_EQ(SecondsDigits(1.0), "1.00");
  EXPECT_EQ(SecondsDigits(0.152), "0.152");
  EXPECT_EQ(SecondsDigits(0.0712), "0.0712");
  EXPECT_EQ(SecondsDigits(0), "0");
}

TEST(Console, BarsAreClamped) {
  EXPECT_EQ(Bar(0.5, 4), "██░░");
  EXPECT_EQ(Bar(7, 2), "██");
  EXPECT_EQ(Bar(-1, 2), "░░");
}

TEST(Console, TablesAlignByCodePoints) {
  TextTable table("lr", {"what", "time"});
  table.AddRow({"é", "1 s"});
  table.AddRow({"long name", "10 s"});
  EXPECT_EQ(table.ToString(1), " what       time\n é           1 s\n long name  10 s\n");
}

TEST(Console, SentencesAreCutAtBlanksAndCommas) {
  EXPECT_EQ(Wrapped("one two,three", 2, 9), "  one\n  two,\n  three\n");
  EXPECT_EQ(Wrapped("one two,three", 2, 10), "  one two,\n  three\n");
  EXPECT_EQ(Wrapped("unbreakable é", 0, 4), "unbreakable\né\n") << "what has no place to cut stays whole";
  EXPECT_EQ(Wrapped("less 23,851,784,five", 0, 12), "less\n23,851,784,\nfive\n");
  EXPECT_EQ(Wrapped("", 2, 10), "");
}

// What a terminal is given holds no control character but ends of lines, whatever came in; what is text stays as it is.
TEST(Console, TerminalsAreGivenText) {
  EXPECT_EQ(formats::Printable("\x1b[31mé\n…"), "?[31mé\n…");
  EXPECT_EQ(formats::Printable("a\tb\rc\x7f"), "a?b?c?");
  EXPECT_EQ(formats::Printable("\xC2\x9B"
                               "1m\xC2\xA0"),
            "?1m\xC2\xA0");
  EXPECT_EQ(formats::Printable("\x9B"
                               "1m\xE2\x82"),
            "?1m??")
      << "bytes that are no UTF-8";
}

TEST(Prefix, CountsCodePoints) {
  EXPECT_EQ(Prefix("éab", 2), "éa");
  EXPECT_EQ(Prefix("éab", 9), "éab");
  EXPECT_EQ(Prefix("éab", 0), "");
}

TEST(Shortened, KeepsBeginningAndEndInCodePoints) {
  EXPECT_EQ(Shortened("short", 5), "short");
  EXPECT_EQ(Shortened("abcdefgh", 7), "abc…fgh");
  EXPECT_EQ(Shortened("abcdefgh", 6), "ab…fgh");
  EXPECT_EQ(Shortened("ééééé", 5), "ééééé");
  EXPECT_EQ(Shortened("éééééé", 5), "éé…éé");
  EXPECT_EQ(Shortened("abc", 1), "…");
  EXPECT_EQ(TextWidth(Shortened(std::string(5000, 'x'), 34)), 34);
}

}  // namespace
}  // namespace stowplan::output
