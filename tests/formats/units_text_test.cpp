#include "sim/formats/document/units_text.h"

#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

TEST(UnitsText, BytesAreExact) {
  EXPECT_EQ(ParseBytes("11440MiB", "x"), sim::Bytes{11440} << 20);
  EXPECT_EQ(ParseBytes("12 GiB", "x"), sim::Bytes{12} << 30);
  EXPECT_EQ(ParseBytes("1.5kB", "x"), 1500);
  EXPECT_EQ(ParseBytes("7B", "x"), 7);
  EXPECT_EQ(ParseBytes("1TB", "x"), 1'000'000'000'000);
  EXPECT_EQ(ParseBytes("0.5TiB", "x"), sim::Bytes{1} << 39);
  EXPECT_EQ(ParseBytes("1e3B", "x"), 1000);
  EXPECT_EQ(ParseBytes("0", "x"), 0);
  EXPECT_EQ(ParseBytes("0.0", "x"), 0);
  EXPECT_EQ(ParseBytes("1024TiB", "x"), sim::kMaxBytes);
}

// 0.1 GiB = 107374182.4 B; 0.3333333 ms and half a picosecond.
TEST(UnitsText, WhatIsNotWholeIsRounded) {
  EXPECT_EQ(ParseBytes("0.1GiB", "x"), 107374182);
  EXPECT_EQ(ParseTime("0.4999ps", "x"), 0);
  EXPECT_EQ(ParseTime("0.5ps", "x"), 1);
  EXPECT_EQ(ParseTime("1e-400us", "x"), 0);
}

// A double holds neither 0.1 nor 999999999999.999999 us to the picosecond.
TEST(UnitsText, NothingPassesThroughADouble) {
  EXPECT_EQ(ParseTime("999999999999.999999us", "x"), 999'999'999'999'999'999);
  EXPECT_EQ(ParseTime("0.1us", "x"), 100'000);
  EXPECT_EQ(ParseTime("1000000s", "x"), 1'000'000'000'000'000'000);
}

TEST(UnitsText, Bandwidth) {
  EXPECT_EQ(ParseBandwidth("7.6GB/s", "x"), 7'600'000'000);
  EXPECT_EQ(ParseBandwidth("1 MiB/s", "x"), 1 << 20);
}

TEST(UnitsText, PrintsTheShortestExactText) {
  EXPECT_EQ(PrintBytes(sim::Bytes{12} << 30), "12GiB");
  EXPECT_EQ(PrintBytes(sim::Bytes{11440} << 20), "11440MiB");
  EXPECT_EQ(PrintBytes(1000), "1kB");
  EXPECT_EQ(PrintBytes(1001), "1001B");
  EXPECT_EQ(PrintBytes(107374182), "107374182B");  // not "0.1GiB", though that would read back equal
  EXPECT_EQ(PrintBytes(0), "0");
  EXPECT_EQ(PrintTime(25'000'000), "25us");
  EXPECT_EQ(PrintTime(12'500), "12.5ns");
  EXPECT_EQ(PrintBandwidth(7'600'000'000), "7.6GB/s");
}

TEST(UnitsText, RefusesWithPlaceAndCure) {
  const auto bytes = [](const char* text) {
    return MessageOf([&] { ParseBytes(text, "c.yaml:7: memory"); });
  };
  EXPECT_EQ(bytes("12"),
            "c.yaml:7: memory is \"12\", but must be a number of bytes such as \"12GiB\" (B, kB, MB, GB, TB, "
            "KiB, MiB, "
            "GiB, TiB); a bare number has no unit");
  EXPECT_EQ(bytes("2000TiB"), "c.yaml:7: memory is \"2000TiB\", but must be at most 2^50 bytes");
  EXPECT_THAT(MessageOf([] { ParseTime("-1us", "t"); }), StartsWith("t is \"-1us\", but must be a time"));
  EXPECT_EQ(MessageOf([] { ParseTime("2e12us", "t"); }), "t is \"2e12us\", but must be at most 1e12 us");
  for (const char* wrong :
       {"", " ", "GiB", "1gib", "1 GiB ", "1  GiB", "+1GiB", "1e99999GiB", ".5GiB", "1.GiB", "0x10B", "nan",
        "infB", "1,5GiB", "1GiB/s", "12345678901234567890123GiB"}) {
    EXPECT_NE(bytes(wrong), "") << wrong;
  }
  EXPECT_EQ(ParseBytes("1.50000000000000000000000kB", "x"), 1500);
  EXPECT_EQ(bytes("1.00000000000000000001GiB"),
            "c.yaml:7: memory is \"1.00000000000000000001GiB\", but must be written with at most 19 "
            "significant digits");
  for (const char* wrong : {"1GB", "1GB/", "1GB/ s", "1/s", "9e15B/s"}) {
    EXPECT_NE(MessageOf([&] { ParseBandwidth(wrong, "b"); }), "") << wrong;
  }
}

}  // namespace
}  // namespace stowplan::formats
