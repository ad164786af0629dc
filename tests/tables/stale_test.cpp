// An export loses no finished row unless told to.
#include "tables/run/stale.h"

#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::MakeRecord;

CellRecord Row(const char* column, int seed, const char* scenario) {
  CellRecord record = MakeRecord("rnnlm", column, "searched", seed, 1.0);
  record.scenario = scenario;
  return record;
}

CellRecord NotRun(const char* column, int seed) {
  CellRecord record = MakeRecord("rnnlm", column, "searched", seed, std::nullopt);
  record.status = "not_run";
  record.note = "no learners in this build";
  return record;
}

std::vector<CellRecord> Exported(const std::vector<CellRecord>& now, const std::vector<CellRecord>& before,
                                 StaleRows stale) {
  static const TableDefinition table = testing::TinyTable();
  return WithStale(table, now, before, stale, "results/tiny/rows.csv");
}

std::string RefusalOf(const std::vector<CellRecord>& now, const std::vector<CellRecord>& before,
                      StaleRows stale) {
  return tests::ErrorOf([&] { Exported(now, before, stale); }, "exported");
}

TEST(Stale, WhatIsReplacedIsNotMissed) {
  const auto now = {Row("random", 1, "new"), Row("random", 2, "new")};
  EXPECT_EQ(Exported(now, {Row("random", 1, "old"), Row("random", 2, "old")}, StaleRows::kRefuse).size(), 2u);
}

TEST(Stale, RowsThatNothingReplacesAreNotLostUnlessTold) {
  const std::vector<CellRecord> now = {Row("random", 1, "new"), NotRun("learner", 1), NotRun("learner", 2)};
  const std::vector<CellRecord> before = {Row("learner", 1, "old"), Row("learner", 2, "old"),
                                          Row("learner", 2, "old")};
  const std::string refusal = RefusalOf(now, before, StaleRows::kRefuse);
  EXPECT_THAT(refusal, HasSubstr("results/tiny/rows.csv: would lose rows"));
  EXPECT_THAT(refusal, HasSubstr("native:*/learner (2 rows)"));
  EXPECT_THAT(refusal, HasSubstr("--stale keep"));
  EXPECT_EQ(Exported(now, before, StaleRows::kDrop).size(), 3u);
  const auto kept = Exported(now, before, StaleRows::kKeep);
  ASSERT_EQ(kept.size(), 3u) << "one of each, and none says that it was not run";
  for (const CellRecord& record : kept) EXPECT_TRUE(record.note.empty());
  EXPECT_EQ(TableResults(testing::TinyTable(), kept).At("native", "rnnlm", "learner").seeds, 2);
}

// Seeds of two settings would stand in one median.
TEST(Stale, SeedsOfTwoSettingsAreNotMixed) {
  const std::vector<CellRecord> now = {Row("learner", 1, "new")};
  const std::vector<CellRecord> before = {Row("learner", 1, "old"), Row("learner", 2, "old")};
  for (const StaleRows stale : {StaleRows::kRefuse, StaleRows::kKeep})
    EXPECT_THAT(RefusalOf(now, before, stale), HasSubstr("would lose the other seeds of cells that were"));
  EXPECT_EQ(Exported(now, before, StaleRows::kDrop).size(), 1u);
}

TEST(Stale, CellsThatTheTableHasNotAndThoseThatWereNotRunAreNoLoss) {
  EXPECT_TRUE(Exported({}, {Row("other", 1, "old"), NotRun("learner", 1)}, StaleRows::kRefuse).empty());
}

}  // namespace
}  // namespace stowplan::tables
