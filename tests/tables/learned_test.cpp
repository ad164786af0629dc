// docs/protocol.md#did-not-learn: on whom nothing is judged, and on whom it is.
#include "tables/report/learned.h"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/agent.h"
#include "sim/base/error.h"
#include "tables/report/claims.h"
#include "tables/report/gate.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using ::testing::HasSubstr;
using testing::MakeRecord;
using ::testing::Not;
using ::testing::StartsWith;

struct Run {
  const char* column;
  double seconds;
  int seeds = 3;
};

// Of a row of placeto: each column ends alike under all of its seeds.
std::vector<CellRecord> Row(const std::vector<Run>& runs, const char* row = "nmt_4") {
  std::vector<CellRecord> records;
  for (const Run& run : runs) {
    for (int seed = 1; seed <= run.seeds; ++seed)
      records.push_back(MakeRecord(row, run.column, "searched", seed, run.seconds));
  }
  return records;
}

ClaimVerdict About(const std::string& begin, const std::vector<CellRecord>& records,
                   const std::map<std::string, std::string>& missed = {}) {
  const TableDefinition& table = FindTable("placeto");
  for (const ClaimVerdict& verdict : JudgeClaims(TableResults(table, records, missed))) {
    if (verdict.claim.rfind(begin, 0) == 0) return verdict;
  }
  ADD_FAILURE() << "no claim begins with " << begin;
  return {};
}

constexpr char kBelowRnn[] = "NMT, 4 layers, 4 GPUs: Placeto ends 16.5 % below the RNN";

TEST(Learned, WhoIsAsGoodAsItsControlIsJudged) {
  const auto records = Row({{"placeto", 1}, {"rnn", 2}, {"factored", 2}, {"factored_copy", 1.96}});
  EXPECT_EQ(About(kBelowRnn, records).word, ClaimWord::kHolds) << "the RNN is 1.02 times its control";
}

TEST(Learned, WhoLosesToTheBetterControlWithTheWholeIntervalDidNotLearn) {
  const auto records = Row({{"placeto", 1}, {"rnn", 2}, {"factored", 2}, {"factored_copy", 0.9}});
  const ClaimVerdict verdict = About(kBelowRnn, records);
  EXPECT_EQ(verdict.word, ClaimWord::kDidNotLearn);
  EXPECT_EQ(
      verdict.ours,
      "Placeto takes 1.11 times as long as its control [1.11, 1.11], 3 seeds; 0.500 times as long as RNN "
      "[0.500, 0.500], 3 seeds");
}

// What stood alone is told in one line with all else that is claimed of it; what is claimed of another is not.
TEST(Learned, ClaimsOnWhoDidNotLearnAreAFamily) {
  const auto lost = Row({{"placeto", 1}, {"rnn", 2}, {"factored", 2}, {"factored_copy", 0.9}});
  EXPECT_EQ(About(kBelowRnn, lost).family, "Placeto: all that is claimed of it alone");
  const auto opponent = Row({{"placeto", 1}, {"rnn", 2}, {"factored", 1.2}, {"factored_copy", 1.2}});
  const ClaimVerdict verdict = About(kBelowRnn, opponent);
  EXPECT_EQ(verdict.word, ClaimWord::kDidNotLearn);
  EXPECT_EQ(verdict.family, "");
}

TEST(Learned, AnOpponentThatDidNotLearnIsNotBeaten) {
  const auto records = Row({{"placeto", 1}, {"rnn", 2}, {"factored", 1.5}, {"factored_copy", 1.2}});
  const ClaimVerdict verdict = About(kBelowRnn, records);
  EXPECT_EQ(verdict.word, ClaimWord::kDidNotLearn);
  EXPECT_THAT(verdict.ours, HasSubstr("RNN takes 1.67 times"));
}

constexpr char kAsGoodAsRnn[] = "NMT, 4 layers, 4 GPUs: Placeto ends as good as the RNN";

// docs/protocol.md#claims: what needs no learning is no merit of it.
TEST(Learned, WhatHoldsUntrainedTooSaysSo) {
  auto records = Row({{"placeto", 1}, {"rnn", 1}, {"placeto_untrained", 1.02}});
  ClaimVerdict verdict = About(kAsGoodAsRnn, records);
  EXPECT_EQ(verdict.word, ClaimWord::kHolds);
  EXPECT_EQ(verdict.untrained, true);
  EXPECT_THAT(verdict.ours, HasSubstr("3 seeds, untrained too (1.020); times as long as local search"));
  verdict = About(kAsGoodAsRnn, Row({{"placeto", 1}, {"rnn", 1}, {"placeto_untrained", 1.1}}));
  EXPECT_EQ(verdict.word, ClaimWord::kHolds);
  EXPECT_EQ(verdict.untrained, false);
  verdict = About(kAsGoodAsRnn, Row({{"placeto", 1}, {"rnn", 1}}));
  EXPECT_EQ(verdict.word, ClaimWord::kHolds);
  EXPECT_FALSE(verdict.untrained.has_value()) << "it was not run";
  verdict = About(kAsGoodAsRnn, Row({{"placeto", 2}, {"rnn", 1}, {"placeto_untrained", 1}}));
  EXPECT_FALSE(verdict.untrained.has_value()) << "it does not hold";
}

TEST(Learned, AnUntrainedTwinHasTheSameSettings) {
  TableBlock block = FindTable("placeto").blocks.front();
  ASSERT_NE(UntrainedTwin(block, "placeto"), nullptr);
  EXPECT_EQ(UntrainedTwin(block, "placeto")->key, "placeto_untrained");
  for (const char* without : {"placeto_untrained", "placeto_paper", "rnn", "local_search", "no_column"})
    EXPECT_EQ(UntrainedTwin(block, without), nullptr) << without;
  const auto column = std::ranges::find(block.columns, "placeto_untrained", &TableColumn::key);
  column->samples = 1;
  EXPECT_EQ(UntrainedTwin(block, "placeto"), nullptr) << "it is not asked at as many samples";
  column->samples = 0;
  column->last = true;
  EXPECT_EQ(UntrainedTwin(block, "placeto"), nullptr) << "its last is no best";
}

// Its columns are one for each of its rows, so it is no claim about one column.
TEST(Learned, AClaimAboutSeveralCellsIsNotAskedOfTheUntrained) {
  TableDefinition table = FindTable("placeto");
  Claim close;
  close.kind = "close";
  close.text = "both are close";
  close.block = "native";
  close.rows = {"inception_v3_2", "inception_v3_4"};
  close.columns = {"placeto", "placeto"};
  close.limit = 10;
  table.claims = {close};
  for (TableLine& line : table.blocks.front().lines) line.published["placeto_untrained"] = {false, 1.0};
  std::vector<CellRecord> records = Row({{"placeto", 1}, {"placeto_untrained", 1}}, "inception_v3_2");
  const auto others = Row({{"placeto", 1}, {"placeto_untrained", 1}}, "inception_v3_4");
  records.insert(records.end(), others.begin(), others.end());
  const std::vector<ClaimVerdict> verdicts = JudgeClaims(TableResults(table, records));
  ASSERT_FALSE(verdicts.empty());
  EXPECT_EQ(verdicts.front().word, ClaimWord::kHolds);
  EXPECT_FALSE(verdicts.front().untrained.has_value());
}

TEST(Learned, TrainingBeforeIsTraining) {
  TableBlock block = FindTable("placeto").blocks.front();
  const auto has_twin = [&](const std::string& parameters, const std::string& agent) {
    TableColumn& trained = *std::ranges::find(block.columns, "placeto", &TableColumn::key);
    TableColumn& untrained = *std::ranges::find(block.columns, "placeto_untrained", &TableColumn::key);
    trained.agent = agent + "(" + parameters + ")";
    untrained.agent = agent + "(" + parameters + ",lr=0)";
    return UntrainedTwin(block, "placeto") != nullptr;
  };
  EXPECT_FALSE(has_twin("preset=tuned", "doppler"));
  EXPECT_TRUE(has_twin("imitate=no", "doppler"));
  EXPECT_FALSE(has_twin("preset=tuned", "mars"));
  EXPECT_TRUE(has_twin("pretrain=no", "mars"));
  EXPECT_TRUE(has_twin("preset=tuned", "sgdp"));
}

// Who learns from something else has no untrained self at rate 0.
TEST(Learned, ImitationAndOtherGraphsAreTraining) {
  for (const auto& [table, learner] : {std::pair{"doppler", "doppler"}, {"sgdp-transfer", "trained"}}) {
    const TableBlock& block = FindTable(table).blocks.front();
    ASSERT_NE(std::ranges::find(block.columns, learner, &TableColumn::key), block.columns.end()) << learner;
    EXPECT_TRUE(std::ranges::any_of(block.columns, [](const auto& c) { return IsUntrained(c.agent); }));
    EXPECT_EQ(UntrainedTwin(block, learner), nullptr) << table;
  }
}

// A claim that counts rows has no figure to tell.
TEST(Learned, RowsWonUntrainedTooAreTold) {
  std::vector<CellRecord> records;
  for (const TableLine& line : FindTable("placeto").blocks.front().lines) {
    for (int seed = 1; seed <= 3; ++seed) {
      records.push_back(MakeRecord(line.key.c_str(), "placeto", "searched", seed, 1));
      records.push_back(MakeRecord(line.key.c_str(), "placeto_untrained", "searched", seed, 1.5));
      for (const char* random : {"random_op", "random_group", "random_block"})
        records.push_back(MakeRecord(line.key.c_str(), random, "searched", seed, 2));
    }
  }
  const auto ours = [&] { return About("Placeto beats three kinds of random search", records).ours; };
  EXPECT_THAT(ours(), HasSubstr("rows won 6, undecided 0, not won 0, untrained too;"));
  for (CellRecord& record : records) {
    if (record.column == "placeto_untrained" && record.row == "nmt_2") record.runtime_us = 2.5e6;
  }
  EXPECT_THAT(ours(), Not(HasSubstr("untrained too")));
}

TEST(Learned, WithoutAnIntervalNobodyLost) {
  const auto records =
      Row({{"placeto", 1, 2}, {"rnn", 2, 2}, {"factored", 0.5, 2}, {"factored_copy", 0.5, 2}});
  EXPECT_EQ(About(kBelowRnn, records).word, ClaimWord::kUndecided) << "two seeds";
}

TEST(Learned, OnlyEqualSamplesAndBothControlsSayIt) {
  auto records = Row({{"placeto", 1}, {"rnn", 2}, {"factored", 0.5}});
  EXPECT_EQ(About(kBelowRnn, records).word, ClaimWord::kHolds) << "one control is missing";
  const auto copy = Row({{"factored_copy", 0.5}});
  records.insert(records.end(), copy.begin(), copy.end());
  EXPECT_EQ(About(kBelowRnn, records).word, ClaimWord::kDidNotLearn);
  for (CellRecord& record : records) {
    if (record.column == "factored") record.budget = 100;
  }
  EXPECT_EQ(About(kBelowRnn, records).word, ClaimWord::kHolds);
}

TEST(Learned, WhatWasNotRunStaysUntested) {
  EXPECT_EQ(About(kBelowRnn, {}, {{"placeto(preset=tuned)", "missed it"}}).word, ClaimWord::kCannotBeTested);
}

TEST(Learned, WhoMissedTheGateDidNotLearnAndAVariantIsNotKnown) {
  const auto records = Row({{"placeto", 1}, {"rnn", 2}});
  const ClaimVerdict verdict =
      About(kBelowRnn, records, {{"placeto(preset=tuned)", "missed 2 of the gate's cases (x, ...)"}});
  EXPECT_EQ(verdict.word, ClaimWord::kDidNotLearn);
  EXPECT_THAT(verdict.ours, HasSubstr("Placeto missed 2 of the gate's cases (x, ...); "));
  EXPECT_EQ(About(kBelowRnn, records, {{"rnn(preset=tuned)", "missed it"}}).word, ClaimWord::kHolds)
      << "the table's has another network";
  EXPECT_EQ(About(kBelowRnn, records, {{"placeto(preset=paper)", "missed it"}}).word, ClaimWord::kHolds);
}

// What a learner of other settings lost decides nothing; what it won does.
TEST(Learned, RowsOfSettingsBeforeLoseNothing) {
  const auto word_with = [](double placeto, const std::string& agent) {
    auto records = Row({{"placeto", placeto}, {"rnn", 1}, {"factored", 9}, {"factored_copy", 9}});
    for (CellRecord& record : records)
      if (record.column == "placeto") record.agent = agent;
    return About(kBelowRnn, records).word;
  };
  EXPECT_EQ(word_with(2, "placeto"), ClaimWord::kDoesNotHold);
  try {
    agents::MakeAgent("placeto");
  } catch (const RunError&) {
    GTEST_SKIP() << "this build knows no settings of learners";
  }
  EXPECT_EQ(word_with(2, "placeto(rounds=99)"), ClaimWord::kUndecided);
  EXPECT_EQ(word_with(0.5, "placeto(rounds=99)"), ClaimWord::kHolds);
}

TEST(Learned, WhatSearchAndBoundDecideIsNotTouched) {
  auto records = Row({{"placeto", 1}, {"factored", 0.1}, {"factored_copy", 0.1}}, "inception_v3_2");
  records.push_back(MakeRecord("inception_v3_2", "single_gpu", "predicted", 1, 2));
  EXPECT_EQ(
      About("Inception-V3 on 2 dies: a placement 24 %", records, {{"placeto(preset=tuned)", "missed it"}})
          .word,
      ClaimWord::kHolds);
}

TEST(Learned, WhoIsKeptFromLearningIsNoLearner) {
  std::vector<CellRecord> records;
  for (const TableLine& line : FindTable("placeto").blocks.front().lines) {
    const auto row = Row({{"placeto", 1}, {"placeto_untrained", 9}, {"factored", 1}, {"factored_copy", 1}},
                         line.key.c_str());
    records.insert(records.end(), row.begin(), row.end());
  }
  EXPECT_EQ(About("Placeto ends better than the same network untrained", records).word, ClaimWord::kHolds);
}

// Six rows: lost in three is not more than half of them.
TEST(Learned, AClaimAboutManyRowsIsJudgedUntilMoreThanHalfOfThemAreLost) {
  const auto word_with = [](int lost) {
    std::vector<CellRecord> records;
    for (const TableLine& line : FindTable("placeto").blocks.front().lines) {
      const double control = lost-- > 0 ? 0.5 : 1;
      for (const auto& more :
           {Row({{"placeto", 1}, {"factored", 9}, {"factored_copy", control}}, line.key.c_str()),
            Row({{"random_op", 2}, {"random_group", 2}, {"random_block", 2}}, line.key.c_str())})
        records.insert(records.end(), more.begin(), more.end());
    }
    return About("Placeto beats three kinds of random search", records);
  };
  EXPECT_EQ(word_with(3).word, ClaimWord::kHolds);
  const ClaimVerdict verdict = word_with(4);
  EXPECT_EQ(verdict.word, ClaimWord::kDidNotLearn);
  EXPECT_THAT(verdict.ours, HasSubstr("; rows won 6"));
  EXPECT_THAT(verdict.ours, HasSubstr("Placeto lost to its control in 4 of 6 rows; "));
}

// Everybody is ten times better than without learning, but for one.
TEST(Learned, TheGatesRowsSayWhoMissed) {
  std::vector<GateRun> runs = PlanGate(GateCases(), GateAgents());
  for (GateRun& run : runs) {
    const bool learns = run.agent.find("lr=0)") == std::string::npos && run.agent != kGateRandom &&
                        run.agent != kGateOneGpu && run.agent != "rnn(preset=tuned)";
    run.goal_s = 0.5;
    run.late_s = run.seconds = learns ? 1 : 10;
  }
  const auto misses = GateMisses(PrintGateRuns(runs));
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_THAT(misses.at("rnn(preset=tuned)"), StartsWith("missed "));
  EXPECT_TRUE(GateMisses(PrintGateRuns({})).empty());
}

}  // namespace
}  // namespace stowplan::tables
