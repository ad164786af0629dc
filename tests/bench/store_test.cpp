#include "bench/tables/store.h"

#include <barrier>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "sim/error.h"
#include "tests/bench/tiny_table.h"
#include "tests/temp_folder.h"

namespace berth::bench {
namespace {

using testing::MakeRecord;
using testing::TinyRecords;

class StoreTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "deep/tables.db"; }

  tests::TempFolder folder_;
};

std::vector<std::vector<std::string>> AllFields(const std::vector<CellRecord>& records) {
  std::vector<std::vector<std::string>> fields;
  for (const CellRecord& record : records) fields.push_back(ToFields(record));
  std::sort(fields.begin(), fields.end());
  return fields;
}

TEST(Record, RowsReadBackEqualAndSorted) {
  std::vector<CellRecord> records = TinyRecords();
  const std::string text = PrintRows(records);
  std::reverse(records.begin(), records.end());
  EXPECT_EQ(PrintRows(records), text);
  EXPECT_EQ(PrintRows(ParseRows(text, "rows.csv")), text);
}

// Rows of tables whose agents make none are as they were.
TEST(Record, ScreensAreAColumnWhereThereAreAny) {
  std::vector<CellRecord> records = TinyRecords();
  EXPECT_EQ(PrintRows(records).find("screens"), std::string::npos);
  records.front().screens = 40'032;
  const std::string text = PrintRows(records);
  EXPECT_EQ(PrintRows(ParseRows(text, "rows.csv")), text);
  EXPECT_NE(text.find(",screens\n"), std::string::npos);
  EXPECT_NE(text.find(",40032\n"), std::string::npos);
}

TEST(Record, RefusesANumberThatIsNoneNamingRowAndField) {
  std::string text = PrintRows({MakeRecord("rnnlm", "random", "searched", 1, 1.25)});
  text.replace(text.find("1250000"), 7, "12x0000");
  try {
    ParseRows(text, "rows.csv");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "rows.csv: row 1: runtime_us is \"12x0000\", a number is wanted.");
  }
}

TEST(Record, RefusesRowsOfAnotherVersion) {
  EXPECT_THROW(ParseRows("block,row\nnative,x\n", "rows.csv"), InputError);
}

TEST_F(StoreTest, KeepsWhatWasPutAcrossOpenings) {
  {
    TableStore store(path());
    for (const CellRecord& record : TinyRecords()) store.Put("tiny", record);
    store.Put("other", MakeRecord("rnnlm", "random", "searched", 1, 9));
  }
  const TableStore store(path());
  EXPECT_EQ(AllFields(store.All("tiny")), AllFields(TinyRecords()));
  EXPECT_EQ(store.All("other").size(), 1u);
  EXPECT_TRUE(store.All("nothing").empty());
}

TEST_F(StoreTest, ReplacesTheSameKeyAndNoOther) {
  TableStore store(path());
  store.Put("tiny", MakeRecord("rnnlm", "random", "searched", 1, 2));
  store.Put("tiny", MakeRecord("rnnlm", "random", "searched", 1, 3));
  store.Put("tiny", MakeRecord("rnnlm", "random", "searched", 2, 4));
  const auto records = store.All("tiny");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].runtime_us, 3e6);
  EXPECT_EQ(records[1].runtime_us, 4e6);
}

TEST_F(StoreTest, AdoptsWhatItHasNotAndKeepsItsOwn) {
  TableStore store(path());
  store.Put("tiny", MakeRecord("rnnlm", "random", "searched", 1, 2));
  CellRecord not_run = MakeRecord("rnnlm", "learner", "searched", 1, 5);
  not_run.note = "no libtorch";
  const auto adopted = store.Adopt("tiny", {MakeRecord("rnnlm", "random", "searched", 1, 3),
                                            MakeRecord("rnnlm", "random", "searched", 2, 4), not_run});
  EXPECT_EQ(adopted.put, 1);
  ASSERT_EQ(adopted.other.size(), 1u) << "the same cell with another runtime";
  EXPECT_EQ(adopted.other[0].runtime_us, 2e6);
  EXPECT_TRUE(store.Adopt("tiny", {MakeRecord("rnnlm", "random", "searched", 1, 2)}).other.empty());
  const auto records = store.All("tiny");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].runtime_us, 2e6);
  EXPECT_EQ(records[1].runtime_us, 4e6);
}

// The same cell under a changed scenario is another record: old numbers never mix with new ones
// (docs/protocol.md#scenario).
TEST_F(StoreTest, AnotherScenarioIsAnotherRecord) {
  TableStore store(path());
  CellRecord record = MakeRecord("rnnlm", "random", "searched", 1, 2);
  store.Put("tiny", record);
  record.scenario = "fedcba9876543210";
  store.Put("tiny", record);
  EXPECT_EQ(store.All("tiny").size(), 2u);
}

TEST_F(StoreTest, TakesRecordsFromSeveralThreadsAndPrograms) {
  TableStore first(path());
  TableStore second(path());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i)
        (t % 2 == 0 ? first : second).Put("tiny", MakeRecord("rnnlm", "random", "searched", 10 * t + i, 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first.All("tiny").size(), 40u);
}

// As the ranks of `mpirun berth table` do.
TEST_F(StoreTest, ANewStoreIsOpenedBySeveralAtOnce) {
  constexpr int kOpenings = 20, kThreads = 8;
  for (int opening = 0; opening < kOpenings; ++opening) {
    const std::string file = folder_ / ("new" + std::to_string(opening) + ".db");
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        together.arrive_and_wait();
        EXPECT_NO_THROW(TableStore(file).Put("tiny", MakeRecord("rnnlm", "random", "searched", t, 1)));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(TableStore(file).All("tiny").size(), static_cast<std::size_t>(kThreads));
  }
}

TEST_F(StoreTest, RefusesAFileThatIsNoStore) {
  const std::string file = folder_ / "text.db";
  std::ofstream(file) << "this is text and long enough to be looked at as a header of a database, or so it "
                         "seems to the reader\n";
  EXPECT_THROW(TableStore{file}, InputError);
}

TEST_F(StoreTest, RefusesAStoreWithOtherColumns) {
  const std::string file = folder_ / "old.db";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(database, "CREATE TABLE cells (table_name TEXT, cell TEXT)", nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(database);
  EXPECT_THROW(TableStore{file}, InputError);
}

}  // namespace
}  // namespace berth::bench
