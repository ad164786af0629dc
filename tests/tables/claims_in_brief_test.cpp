// Claims that differ in one thing alone are one line of a page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

using ::testing::SizeIs;

ClaimVerdict Member(const std::string& name, ClaimWord word, std::optional<double> figure) {
  return {.claim = name + ": a is no slower than b",
          .ours = (figure ? std::to_string(*figure) + " times" : "rows won 1") + "; and more of " + name,
          .word = word,
          .family = "each row: a is no slower than b",
          .member = name,
          .figure = figure};
}

RenderedClaim OneLineOf(const std::vector<ClaimVerdict>& verdicts) {
  const std::vector<RenderedClaim> brief = ClaimsInBrief(verdicts);
  EXPECT_THAT(brief, SizeIs(1));
  return brief.front();
}

TEST(ClaimsInBrief, AClaimAloneIsToldUpToItsSemicolon) {
  const RenderedClaim line =
      OneLineOf({{.claim = "a", .ours = "1.00 times; of 3", .word = ClaimWord::kHolds}});
  EXPECT_EQ(line.claim, "a");
  EXPECT_EQ(line.ours, "1.00 times");
  EXPECT_EQ(line.verdict, "holds");
}

TEST(ClaimsInBrief, AFamilyThatAgreesIsARange) {
  const RenderedClaim line =
      OneLineOf({Member("x", ClaimWord::kHolds, 0.9), Member("y", ClaimWord::kHolds, 0.7),
                 Member("z", ClaimWord::kHolds, 0.8)});
  EXPECT_EQ(line.claim, "each row: a is no slower than b");
  EXPECT_EQ(line.ours, "all 3: 0.700 to 0.900 times");
  EXPECT_EQ(line.verdict, "holds");
}

TEST(ClaimsInBrief, WhoeverDiffersIsNamed) {
  ClaimVerdict unlearned = Member("u", ClaimWord::kDidNotLearn, 1.3);
  unlearned.unlearned = "b";
  const RenderedClaim line =
      OneLineOf({Member("x", ClaimWord::kHolds, 0.9), Member("y", ClaimWord::kUndecided, 1.02),
                 Member("z", ClaimWord::kHolds, 0.8), unlearned});
  EXPECT_EQ(line.ours, "0.800 to 1.020 times; undecided: y (1.020); did not learn: u (1.30, b)")
      << "what is not judged is told, and whose fault it is";
  EXPECT_EQ(line.verdict, "holds 2, undecided 1, did not learn 1");
}

// Neither exceptions nor a range tell who did not learn, by how much or why.
TEST(ClaimsInBrief, WhoDidNotLearnIsAlwaysNamed) {
  const auto unlearned = [](const char* row, double figure) {
    ClaimVerdict verdict = Member(row, ClaimWord::kDidNotLearn, figure);
    verdict.unlearned = "b";
    verdict.ours = "b lost; 2.00 times";
    return verdict;
  };
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, 0.9), unlearned("u", 1.3), unlearned("v", 1.4)}).ours,
            "0.900 times; did not learn: u (1.30, b); v (1.40, b)")
      << "though they are the most";
  ClaimVerdict other = unlearned("v", 1.4);
  other.ours = "c lost by 3 %";
  const RenderedClaim all = OneLineOf({unlearned("u", 1.3), other});
  EXPECT_EQ(all.ours, "both: u: b lost; v: c lost by 3 %");
  EXPECT_EQ(all.verdict, "did not learn");
}

TEST(ClaimsInBrief, WhatHoldsUntrainedTooIsCountedOfThoseAsked) {
  ClaimVerdict too = Member("y", ClaimWord::kHolds, 0.8), not_so = Member("z", ClaimWord::kHolds, 0.8);
  too.untrained = true;
  not_so.untrained = false;
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, 0.9), too}).ours,
            "both: 0.800 to 0.900 times; untrained too: 1 of 1 asked");
  EXPECT_EQ(OneLineOf({too, not_so, Member("x", ClaimWord::kUndecided, 1.0)}).ours,
            "0.800 to 1.000 times; undecided: x (1.000); untrained too: 1 of 2 that hold");
  EXPECT_EQ(OneLineOf({not_so, Member("x", ClaimWord::kHolds, 0.9)}).ours, "both: 0.800 to 0.900 times");
}

TEST(ClaimsInBrief, WithoutFiguresEachIsTold) {
  ClaimVerdict other = Member("y", ClaimWord::kHolds, std::nullopt);
  other.ours = "rows won 2";
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, std::nullopt), other}).ours,
            "both: x: rows won 1; y: rows won 2");
  other.untrained = true;
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, std::nullopt), other}).ours,
            "both: x: rows won 1; y: rows won 2")
      << "each says itself what it does untrained";
  other.ours = "y lost";
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kUndecided, std::nullopt), other}).ours,
            "x: rows won 1 (undecided); y lost (holds)");
  other.ours = "rows won 1; of 3";
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, std::nullopt), other}).ours, "both: rows won 1");
}

TEST(ClaimsInBrief, WhoeverHasNoFigureIsNamed) {
  ClaimVerdict other = Member("y", ClaimWord::kHolds, std::nullopt);
  other.ours = "neither fits";
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, 0.9), other, Member("z", ClaimWord::kHolds, 0.9)}).ours,
            "all 3: 0.900 times; y: neither fits");
  other.word = ClaimWord::kUndecided;
  ClaimVerdict third = other;
  third.member = "v";
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, 0.9), other, third}).ours,
            "0.900 times; y: neither fits; v: neither fits; holds: x (0.900)");
}

// Two entries of a file may have one text.
TEST(ClaimsInBrief, FamiliesAreOfOneEntry) {
  ClaimVerdict other = Member("y", ClaimWord::kHolds, 0.9), third = Member("z", ClaimWord::kHolds, 0.9);
  other.entry = third.entry = 1;
  const std::vector<RenderedClaim> brief =
      ClaimsInBrief({Member("w", ClaimWord::kHolds, 0.9), Member("x", ClaimWord::kHolds, 0.8), other, third});
  ASSERT_THAT(brief, SizeIs(2));
  EXPECT_EQ(brief[0].ours, "both: 0.800 to 0.900 times");
  EXPECT_EQ(brief[1].ours, "both: 0.900000 times") << "as each of them says";
}

TEST(ClaimsInBrief, AFamilyStandsWhereItsFirstStood) {
  const ClaimVerdict alone{.claim = "alone", .ours = "1", .word = ClaimWord::kHolds};
  const std::vector<RenderedClaim> brief =
      ClaimsInBrief({Member("x", ClaimWord::kHolds, 0.9), alone, Member("y", ClaimWord::kHolds, 0.9)});
  ASSERT_THAT(brief, SizeIs(2));
  EXPECT_EQ(brief[1].claim, "alone");
  // One member is no family.
  EXPECT_EQ(OneLineOf({Member("x", ClaimWord::kHolds, 0.9)}).claim, "x: a is no slower than b");
}

}  // namespace
}  // namespace stowplan::tables
