#include "tables/store.h"

#include <barrier>
#include <csignal>

#include <sqlite3.h>
#include <sys/time.h>

#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
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

// Whoever draws or measures a curve rests on it.
TEST(Record, RefusesACurveThatIsNone) {
  for (const char* curve : {"x:y", "1", "1:", ":2", "1:2  3:4", "1:2 3", "1:1e999"}) {
    std::vector<CellRecord> records = testing::TinyRecords();
    records[2].curve = curve;
    EXPECT_THROW(ParseRows(PrintRows(records), "rows.csv"), InputError) << curve;
    records = testing::TinyRecords();
    records[2].curve_machine_seconds = "1 two";
    EXPECT_THROW(ParseRows(PrintRows(records), "rows.csv"), InputError);
  }
}

// The means, the charts and the claims of a table rest on them.
TEST(Record, RefusesTimesAndWordsThatThereAreNot) {
  const auto refused = [](auto change, const std::string& says) {
    std::vector<CellRecord> records = {MakeRecord("rnnlm", "random", "searched", 1, 1.25)};
    change(records.front());
    try {
      ParseRows(PrintRows(records), "rows.csv");
      ADD_FAILURE() << "read, where this was wanted: " << says;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("rows.csv: row 1" + says)) << error.what();
    }
  };
  refused([](CellRecord& r) { r.runtime_us = std::nan(""); }, ": runtime_us is \"nan\"");
  refused([](CellRecord& r) { r.wall_seconds = HUGE_VAL; }, ": wall_seconds is \"inf\"");
  refused([](CellRecord& r) { r.lower_bound_us = -1; }, ": lower_bound_us is \"-1\"");
  refused([](CellRecord& r) { r.seed = -1; }, ": seed is \"-1\"");
  refused([](CellRecord& r) { r.curve = "1:nan"; }, ", curve: \"nan\"");
  refused([](CellRecord& r) { r.status = "fine"; }, ": status is \"fine\"");
  refused([](CellRecord& r) { r.kind = ""; }, ": kind is \"\"");
  refused([](CellRecord& r) { r.agent = ""; }, ": agent is empty");
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
// (docs/protocol_rules.md#scenario).
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

// As the ranks of `mpirun stowplan table run` do.
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

void ExecuteIn(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

std::string BytesOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What stands beside our table, or in its place, is code that runs when cells are read or put.
TEST_F(StoreTest, RefusesASchemaThatIsNotOurs) {
  std::string columns = "x AS [table_name]";
  for (const std::string& field : RecordFields()) columns += ", x AS [" + field + "]";
  for (const std::string& sql : {
           "DROP TABLE cells; CREATE VIEW cells AS WITH RECURSIVE e(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
           "FROM "
           "e) SELECT " +
               columns + " FROM e",
           std::string("CREATE TRIGGER t AFTER INSERT ON cells BEGIN DELETE FROM cells; END"),
           std::string("ALTER TABLE cells ADD COLUMN g TEXT AS (block || block) VIRTUAL"),
           std::string("CREATE INDEX other ON cells (note)"),
           std::string("CREATE TABLE other (a)"),
       }) {
    const std::string file = folder_ / "hostile.db";
    TableStore(file).Put("tiny", MakeRecord("rnnlm", "random", "searched", 1, 2));
    ExecuteIn(file, sql);
    EXPECT_THROW(TableStore{file}, InputError) << sql;
    std::filesystem::remove(file);
  }
}

TEST_F(StoreTest, ADatabaseOfAnotherProgramStaysAsItIs) {
  const std::string file = folder_ / "notes.db";
  ExecuteIn(file, "CREATE TABLE notes (text)");
  const std::string bytes = BytesOfFile(file);
  EXPECT_THROW(TableStore{file}, InputError);
  EXPECT_EQ(BytesOfFile(file), bytes);
}

// ---- damaged stores -------------------------------------------------------------------------------------------

constexpr int kCells = 240;

std::vector<CellRecord> ManyRecords() {
  std::vector<CellRecord> records;
  for (int seed = 1; seed <= kCells; ++seed)
    records.push_back(MakeRecord("rnnlm", "random", "searched", seed, 1 + seed / 7.0));
  return records;
}

void WriteStore(const std::string& path) {
  TableStore(path).Adopt("tiny", ManyRecords());
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// How many of the records that were put are there as they were.
int Sound(const std::vector<CellRecord>& found) {
  const auto wanted = AllFields(ManyRecords());
  int sound = 0;
  for (const auto& fields : AllFields(found))
    sound += std::binary_search(wanted.begin(), wanted.end(), fields) ? 1 : 0;
  return sound;
}

TEST_F(StoreTest, ADamagedStoreSaysHowToGoOn) {
  WriteStore(path());
  const std::string whole = BytesOfFile(path());
  std::string number = whole;
  const std::string runtime = std::to_string(static_cast<int>(*ManyRecords()[5].runtime_us));
  number[number.find(runtime)] ^= 0x0f;
  std::string schema = whole;
  schema[schema.find("CREATE TABLE")] ^= 0x01;
  std::string header = whole;
  header[0] ^= 1;
  for (const std::string& bytes : {number, schema, header}) {
    WriteBytes(path(), bytes);
    try {
      const auto records = TableStore(path()).All("tiny");
      FAIL() << records.size() << " cells of a damaged store";
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path() + ": ")) << message;
      EXPECT_NE(message.find("`stowplan table salvage --store "), std::string::npos) << message;
    }
    const SalvagedStore salvaged = SalvageStore(path());
    EXPECT_EQ(BytesOfFile(salvaged.damaged), bytes) << "the damaged file is not kept as it was";
    const auto records = TableStore(path()).All("tiny");
    EXPECT_EQ(salvaged.kept, static_cast<std::int64_t>(records.size()));
    EXPECT_GE(salvaged.kept, kCells - 1);
    EXPECT_EQ(Sound(records), salvaged.kept);
    EXPECT_EQ(salvaged.broken + salvaged.kept, kCells);
  }
}

// One bit anywhere: at most the cells of a page or two are lost, and none is kept with another key.
TEST_F(StoreTest, SalvageKeepsWhatABitDidNotTouch) {
  WriteStore(path());
  const std::string whole = BytesOfFile(path());
  std::uint64_t state = 20261123;
  std::int64_t kept = 0, sound = 0;
  constexpr int kFlips = 60;
  for (int flip = 0; flip < kFlips; ++flip) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::size_t bit = (state >> 20) % (whole.size() * 8);
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    WriteBytes(path(), bytes);
    kept += SalvageStore(path()).kept;
    const auto records = TableStore(path()).All("tiny");
    // A letter that became another one where no number is wanted is not seen.
    EXPECT_GE(Sound(records) + 1, static_cast<int>(records.size())) << "bit " << bit;
    sound += Sound(records);
  }
  EXPECT_GT(sound, std::int64_t{kFlips} * kCells * 98 / 100) << "of " << kept << " kept";
}

TEST_F(StoreTest, RefusesAHeaderThatForbidsToWrite) {
  WriteStore(path());
  std::string bytes = BytesOfFile(path());
  bytes[18] = 3;  // the least version of SQLite's format that may
  WriteBytes(path(), bytes);
  EXPECT_THROW(TableStore(path()).Put("tiny", TinyRecords().front()), InputError);
  EXPECT_EQ(SalvageStore(path()).kept, kCells);
  WriteBytes(path(), bytes.substr(0, 104));
  EXPECT_THROW(TableStore{path()}, InputError);
}

// Signals that interrupt calls of the system, as a fuzzer's timer does.
TEST_F(StoreTest, SalvageGoesOnAfterSignals) {
  WriteStore(path());
  const std::string whole = BytesOfFile(path()) + std::string(1 << 22, '\0');
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};  // without SA_RESTART
  sigaction(SIGALRM, &action, &before);
  constexpr int kMicroseconds = 100;
  const itimerval often{{0, kMicroseconds}, {0, kMicroseconds}}, never{};
  for (int i = 0; i < 20; ++i) {
    WriteBytes(path(), whole);
    setitimer(ITIMER_REAL, &often, nullptr);
    EXPECT_NO_THROW(SalvageStore(path()));
    setitimer(ITIMER_REAL, &never, nullptr);
  }
  sigaction(SIGALRM, &before, nullptr);
}

TEST_F(StoreTest, SalvageOfAPageLostOrATailCutOffKeepsTheRest) {
  WriteStore(path());
  const std::string whole = BytesOfFile(path());
  std::string page = whole;
  page.replace(whole.size() / 2 / 4096 * 4096, 4096, 4096, '\0');
  for (const std::string& bytes : {page, whole.substr(0, whole.size() * 3 / 4)}) {
    WriteBytes(path(), bytes);
    SalvageStore(path());
    const auto records = TableStore(path()).All("tiny");
    EXPECT_EQ(Sound(records), static_cast<int>(records.size()));
    EXPECT_GT(records.size(), std::size_t{kCells / 2});
  }
}

TEST_F(StoreTest, SalvageRefusesWhatIsNoneOrOfAnotherVersion) {
  EXPECT_THROW(SalvageStore(folder_ / "none.db"), InputError);
  const std::string notes = folder_ / "notes.txt";
  WriteBytes(notes, "no store at all\n");
  EXPECT_THROW(SalvageStore(notes), InputError);
  EXPECT_EQ(BytesOfFile(notes), "no store at all\n");
  const std::string file = folder_ / "old.db";
  ExecuteIn(file, "CREATE TABLE cells (table_name TEXT, cell TEXT)");
  const std::string bytes = BytesOfFile(file);
  EXPECT_THROW(SalvageStore(file), InputError);
  EXPECT_EQ(BytesOfFile(file), bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2)
      << "something was left";
}

// An index whose root names the first of its pages as the last one, too, has no end if more of them do.
TEST_F(StoreTest, AnIndexThatGoesInCirclesIsRefused) {
  WriteStore(path());
  std::string bytes = BytesOfFile(path());
  constexpr std::size_t kPage = 4096, kHeader = 12, kLastChild = 8;
  constexpr char kInnerIndexPage = 2;
  std::size_t page = kPage;
  while (page < bytes.size() && bytes[page] != kInnerIndexPage) page += kPage;
  ASSERT_LT(page, bytes.size());
  const auto first = static_cast<std::size_t>(static_cast<unsigned char>(bytes[page + kHeader]) << 8 |
                                              static_cast<unsigned char>(bytes[page + kHeader + 1]));
  bytes.replace(page + kLastChild, 4, bytes.substr(page + first, 4));
  WriteBytes(path(), bytes);
  EXPECT_THROW(TableStore(path()).All("tiny"), InputError);
}

TEST_F(StoreTest, SalvageIsRefusedWhileTheStoreIsOpen) {
  WriteStore(path());
  TableStore store(path());
  EXPECT_THROW(SalvageStore(path()), RunError);
  store.Put("other", MakeRecord("rnnlm", "random", "searched", 1, 9));
  EXPECT_EQ(store.All("tiny").size(), std::size_t{kCells});
  EXPECT_FALSE(std::filesystem::exists(path() + ".damaged"));
}

// Killed after the new store was whole: whichever of the old files was moved, the next call ends what was begun.
TEST_F(StoreTest, AKilledSalvageIsEndedByTheNextCall) {
  for (const int moved : {0, 1, 2}) {
    const std::string file = folder_ / ("killed" + std::to_string(moved) + ".db");
    WriteStore(file);
    std::filesystem::rename(file, file + ".salvaged");
    WriteBytes(moved < 2 ? file : file + ".damaged", "damaged");
    WriteBytes(moved < 1 ? file + "-wal" : file + ".damaged-wal", "journal");
    EXPECT_EQ(Sound(TableStore(file).All("tiny")), kCells) << moved;
    EXPECT_EQ(BytesOfFile(file + ".damaged"), "damaged");
    EXPECT_EQ(BytesOfFile(file + ".damaged-wal"), "journal");
    EXPECT_FALSE(std::filesystem::exists(file + ".salvaged"));
  }
}

// What a kill left behind the file is part of it.
TEST_F(StoreTest, SalvageReadsTheJournalOfAKilledProgram) {
  const std::string file = folder_ / "killed.db";
  {
    TableStore store(path());
    for (const CellRecord& record : ManyRecords()) store.Put("tiny", record);
    WriteBytes(file, BytesOfFile(path()));
    WriteBytes(file + "-wal", BytesOfFile(path() + "-wal"));
  }
  ASSERT_FALSE(BytesOfFile(file + "-wal").empty());
  EXPECT_EQ(SalvageStore(file).kept, kCells);
  EXPECT_EQ(Sound(TableStore(file).All("tiny")), kCells);
}

}  // namespace
}  // namespace stowplan::tables
