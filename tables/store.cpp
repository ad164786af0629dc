#include "tables/store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/formats/outputs.h"

namespace stowplan::tables {
namespace {

namespace fs = std::filesystem;

// How long a program waits for another that writes.
constexpr std::chrono::milliseconds kPatience(60'000);
// Of one row of a file that says what it likes: curves, a placement and a timeline take a few megabytes.
constexpr int kMostRowBytes = 256 << 20;

// Brackets, because SQLite takes an unknown name in double quotes for a string.
std::string Joined(const std::vector<std::string>& names, const std::string& behind,
                   const std::string& separator) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : separator) + "[" + name + "]" + behind;
  return text;
}

std::vector<std::string> KeyNames() {
  std::vector<std::string> names = {"table_name"};
  names.insert(names.end(), RecordFields().begin(), RecordFields().begin() + kKeyFields);
  return names;
}

std::string TableSql() {
  return fmt::format("cells ([table_name] TEXT NOT NULL, {}, PRIMARY KEY ({}))",
                     Joined(RecordFields(), " TEXT NOT NULL", ", "), Joined(KeyNames(), "", ", "));
}

std::vector<std::string> RecordKeyOf(const CellRecord& record) {
  std::vector<std::string> fields = ToFields(record);
  fields.resize(kKeyFields);
  return fields;
}

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

// The text of a column; empty for what is no text in a damaged file.
std::string TextAt(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr
             ? ""
             : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

std::vector<std::string> TextsFrom(sqlite3_stmt* statement, int first) {
  std::vector<std::string> fields;
  for (int i = 0; i < static_cast<int>(RecordFields().size()); ++i)
    fields.push_back(TextAt(statement, first + i));
  return fields;
}

void Bind(sqlite3_stmt* statement, int at, const std::string& text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

// One connection.
class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    if (status != SQLITE_OK) Fail();
    sqlite3_busy_timeout(opened, static_cast<int>(kPatience.count()));
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kMostRowBytes);
  }

  const std::string& path() const { return path_; }

  [[noreturn]] void Fail() const {
    const std::string why = sqlite3_errmsg(database_.get());
    const int code = sqlite3_errcode(database_.get());
    if (code == SQLITE_NOTADB || code == SQLITE_ERROR || code == SQLITE_CORRUPT) Refuse(why);
    // Its header says that only newer versions may write.
    if (sqlite3_extended_errcode(database_.get()) == SQLITE_READONLY && ::access(path_.c_str(), W_OK) == 0)
      Refuse(why);
    throw RunError(fmt::format("{}: the table store cannot be used: {}.", path_, why));
  }
  [[noreturn]] void Refuse(const std::string& why) const {
    throw InputError(fmt::format(
        "{0}: is damaged or no table store of this version ({1}); `stowplan table salvage --store {0}` keeps "
        "it and makes a new one of its sound cells, --store names another.",
        path_, why));
  }

  void Execute(const std::string& sql) const {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Fail();
  }
  void Rollback() const { sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr); }

  // Changing the journal's mode turns a read into a write. There SQLite does not wait for others, who may be waiting for
  // this one (ranks that open a new store at once), but says at once that it is busy.
  void WriteAhead() const {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      const int status = sqlite3_exec(database_.get(), "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
      if (status == SQLITE_OK) return;
      if (status != SQLITE_BUSY || std::chrono::steady_clock::now() > until) Fail();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // As a store, new or not.
  void OpenCells() const {
    CheckSchema();
    WriteAhead();
    Execute("PRAGMA synchronous=FULL");
    Execute("CREATE TABLE IF NOT EXISTS " + TableSql());
    int moved = 0;  // by a salvage that waited for nobody: what is put here would be lost
    sqlite3_file_control(database_.get(), nullptr, SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved != 0)
      throw RunError(path_ + ": was replaced by another program as it was opened; repeat the call.");
  }

  // Refuses what is neither empty nor has exactly our table and its index: a file may say that `cells` is a view
  // without end, or that a cell that is put runs a trigger.
  void CheckSchema() const {
    using Entries = std::vector<std::vector<std::string>>;
    const Statement schema =
        Prepare("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type DESC LIMIT 3");
    Entries found;
    int status = sqlite3_step(schema.get());
    for (; status == SQLITE_ROW; status = sqlite3_step(schema.get())) {
      std::vector<std::string>& entry = found.emplace_back();
      for (int column = 0; column < 4; ++column) entry.push_back(TextAt(schema.get(), column));
    }
    if (status != SQLITE_DONE) Fail();
    const Entries ours = {{"table", "cells", "cells", "CREATE TABLE " + TableSql()},
                          {"index", "sqlite_autoindex_cells_1", "cells", ""}};
    if (!found.empty() && found != ours) Refuse("it has other tables, columns or views");
  }

  // Everything that was put into the file itself, so that it can be renamed.
  void Settle() const {
    if (sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) !=
        SQLITE_OK)
      Fail();
  }

  // The bytes of its file.
  std::string Serialized() const {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
        sqlite3_serialize(database_.get(), "main", &size, 0), &sqlite3_free);
    if (bytes == nullptr) Fail();
    return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
  }

  Statement Prepare(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) Fail();
    return Statement(statement);
  }

  // How many records it wrote. `otherwise`: what to do where the key is there, in SQL.
  int Insert(std::string_view otherwise, const std::string& table, const CellRecord& record) const {
    const std::vector<std::string> fields = ToFields(record);
    std::string marks = "?";
    for (std::size_t i = 0; i < fields.size(); ++i) marks += ",?";
    const Statement statement = Prepare(fmt::format("INSERT OR {} INTO cells ([table_name], {}) VALUES ({})",
                                                    otherwise, Joined(RecordFields(), "", ", "), marks));
    Bind(statement.get(), 1, table);
    for (std::size_t i = 0; i < fields.size(); ++i) Bind(statement.get(), static_cast<int>(i) + 2, fields[i]);
    if (sqlite3_step(statement.get()) != SQLITE_DONE) Fail();
    return sqlite3_changes(database_.get());
  }

 private:
  const std::string path_;
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  std::unique_ptr<sqlite3, Close> database_;
};

// The cells of a damaged store that can be read, in the order in which they were put. Pages that cannot be read are
// passed over.
class DamagedCells {
 public:
  explicit DamagedCells(const Database& database)
      : scan_(database.Prepare(
            fmt::format("SELECT rowid, [table_name], {} FROM cells WHERE rowid >= ? ORDER BY rowid",
                        Joined(RecordFields(), "", ", ")))),
        find_(database.Prepare(
            fmt::format("SELECT rowid FROM cells WHERE {}", Joined(KeyNames(), " = ?", " AND ")))) {
    std::error_code none;
    for (const char* end : {"", "-wal"}) {
      const auto bytes = fs::file_size(database.path() + end, none);
      if (!none) failures_ += static_cast<std::int64_t>(bytes / RecordFields().size());
    }
  }

  // put(table, fields) for each.
  template <typename Put>
  void ForEach(const Put& put) {
    for (std::int64_t next = 1; failures_ > 0; ++next, --failures_) {
      sqlite3_reset(scan_.get());
      sqlite3_bind_int64(scan_.get(), 1, next);
      int status = sqlite3_step(scan_.get());
      for (; status == SQLITE_ROW; status = sqlite3_step(scan_.get())) {
        const std::int64_t row = sqlite3_column_int64(scan_.get(), 0);
        if (row < next || row > kMostRow) break;  // a damaged page: it would go in circles
        next = row + 1;
        put(row, TextAt(scan_.get(), 1), TextsFrom(scan_.get(), 2));
      }
      if (status == SQLITE_DONE) return;
    }
  }

  // Whether the index has this key for another row or for none. An index that cannot be read says nothing.
  bool HasOtherKey(std::int64_t row, const std::string& table, const std::vector<std::string>& fields) const {
    sqlite3_reset(find_.get());
    Bind(find_.get(), 1, table);
    for (int i = 0; i < static_cast<int>(kKeyFields); ++i)
      Bind(find_.get(), i + 2, fields[static_cast<std::size_t>(i)]);
    const int status = sqlite3_step(find_.get());
    return status == SQLITE_DONE || (status == SQLITE_ROW && sqlite3_column_int64(find_.get(), 0) != row);
  }

 private:
  static constexpr std::int64_t kMostRow = 1'000'000'000;  // beyond, a row number is damaged
  Statement scan_, find_;
  std::int64_t failures_ = 0;  // rows that may yet be passed over: at first, as many as the file could hold
};

constexpr std::size_t kPage = 4096;

// What all stores begin with: what SQLite is to know of the file, and the one table with its index.
std::string FirstPage() {
  const Database empty(":memory:");
  empty.OpenCells();
  std::string page = empty.Serialized();
  STOWPLAN_CHECK_LE(kPage, page.size());
  page.resize(kPage);
  page[18] = page[19] = 2;  // offsets of SQLite's header: changes may lie in a file beside it
  return page;
}

// That of an empty store, with the length of the damaged one and no list of free pages.
void RepairFirstPage(const std::string& path) {
  std::string page = FirstPage();
  const auto pages = static_cast<std::uint32_t>(fs::file_size(path) / kPage);
  const auto put = [&page](std::size_t at, std::uint32_t number) {
    for (std::size_t i = 0; i < 4; ++i) page[at + i] = static_cast<char>(number >> (8 * (3 - i)) & 0xff);
  };
  put(28, pages);  // offsets of SQLite's header
  put(32, 0);
  put(36, 0);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write(page.data(), static_cast<std::streamsize>(page.size()));
  if (!file.flush()) throw RunError(fmt::format("{}: cannot be written.", path));
}

// Where the damage leaves its columns readable.
void RefuseOtherVersions(const std::string& copy, const std::string& path) {
  std::vector<std::string> wanted = {"table_name"}, found;
  wanted.insert(wanted.end(), RecordFields().begin(), RecordFields().end());
  try {
    const Database database(copy);
    // Of a table alone: to tell the columns of a view can take for ever.
    const Statement columns = database.Prepare(
        "SELECT name FROM pragma_table_info((SELECT name FROM sqlite_master WHERE name = 'cells' AND type = "
        "'table'))");
    while (sqlite3_step(columns.get()) == SQLITE_ROW) found.push_back(TextAt(columns.get(), 0));
  } catch (const InputError&) {
    return;
  }
  // One name that differs is the damage.
  const auto differs = [&] {
    return std::inner_product(found.begin(), found.end(), wanted.begin(), 0, std::plus<>(),
                              std::not_equal_to<>());
  };
  if (!found.empty() && (found.size() != wanted.size() || differs() > 1))
    throw InputError(
        fmt::format("{}: is a table store of another version; name another with --store.", path));
}

// Databases that are gone before and after.
class Scratch {
 public:
  explicit Scratch(std::vector<std::string> names) : names_(std::move(names)) { Remove(); }
  ~Scratch() { Remove(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  void Remove() const {
    std::error_code ignored;
    for (const std::string& name : names_) {
      for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(name + end, ignored);
    }
  }
  const std::vector<std::string> names_;
};

// A name that nothing has.
std::string DamagedName(const std::string& path) {
  for (int number = 1;; ++number) {
    std::string name = path + ".damaged" + (number == 1 ? "" : std::to_string(number));
    if (!fs::exists(name)) return name;
  }
}

// Held while no other program has the store open, or throws RunError: by the lock that SQLite takes to write alone, which
// a program that has a store open forbids. Of this one open file, so that other threads of this program have none of it.
class SoleUse {
 public:
  explicit SoleUse(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ < 0)
      throw RunError(fmt::format("{}: the table store cannot be salvaged: {}.", path, std::strerror(errno)));
    constexpr off_t kPendingByte = 0x40000000, kLockBytes = 512;
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = kPendingByte;
    lock.l_len = kLockBytes;
    if (::fcntl(file_, F_OFD_SETLK, &lock) == 0) return;
    ::close(file_);
    throw RunError(path + ": another program uses the store; salvage it when that has ended.");
  }
  ~SoleUse() { ::close(file_); }
  SoleUse(const SoleUse&) = delete;
  SoleUse& operator=(const SoleUse&) = delete;

 private:
  const int file_;
};

// As fs::copy_file, which gives up where a signal comes.
void CopyFile(const std::string& from, const std::string& to) {
  std::error_code error;
  do {
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  } while (error == std::errc::interrupted);
  if (error) throw fs::filesystem_error("copy", from, to, error);
}

// What a salvage made and will put in place. From when it has this name until it is the store, every call goes on with
// the exchange, so that a kill leaves the old store or the new one.
std::string SalvagedName(const std::string& path) {
  return path + ".salvaged";
}

// The name that the damaged file has now; empty where there is no exchange to end.
std::string EndExchange(const std::string& path) {
  const std::string salvaged = SalvagedName(path);
  if (!fs::exists(salvaged)) return {};
  const std::string damaged = DamagedName(path);
  // What is behind the file goes first: beside the new one it would be taken for its own.
  if (fs::exists(path + "-wal")) fs::rename(path + "-wal", damaged + "-wal");
  fs::remove(path + "-shm");
  if (fs::exists(path)) fs::rename(path, damaged);
  fs::rename(salvaged, path);
  return damaged;
}

[[noreturn]] void FailSalvage(const std::string& path, const fs::filesystem_error& error) {
  throw RunError(fmt::format("{}: the table store cannot be salvaged: {}.", path, error.code().message()));
}

// That of a call that was killed.
void EndEarlierExchange(const std::string& path) {
  try {
    if (!fs::exists(SalvagedName(path))) return;
    const SoleUse sole(SalvagedName(path));
    EndExchange(path);
  } catch (const fs::filesystem_error& error) {
    FailSalvage(path, error);
  }
}

// Puts the sound cells of a copy of a damaged store into a new one.
void SalvageCells(const std::string& copy, const std::string& path, const std::string& fresh,
                  SalvagedStore& salvaged) {
  const Database database(copy);
  database.CheckSchema();
  const Database store(fresh);
  store.OpenCells();
  store.Execute("BEGIN");
  DamagedCells cells(database);
  cells.ForEach([&](std::int64_t row, const std::string& table, const std::vector<std::string>& fields) {
    try {
      const CellRecord record = FromFields(fields, path);
      if (!cells.HasOtherKey(row, table, fields)) {
        salvaged.kept += store.Insert("REPLACE", table, record);
        return;
      }
    } catch (const InputError&) {  // it is not sound
    }
    ++salvaged.broken;
  });
  store.Execute("COMMIT");
  store.Settle();
}

}  // namespace

SalvagedStore SalvageStore(const std::string& path) {
  const std::string copy = path + ".salvaging", fresh = path + ".salvaging.new";
  SalvagedStore salvaged;
  EndEarlierExchange(path);
  try {
    if (!fs::is_regular_file(path))
      throw InputError(fmt::format("{}: there is no such store to salvage.", path));
    const SoleUse sole(path);
    const Scratch scratch({copy, fresh});
    CopyFile(path, copy);
    if (fs::exists(path + "-wal")) CopyFile(path + "-wal", copy + "-wal");
    RefuseOtherVersions(copy, path);
    RepairFirstPage(copy);
    SalvageCells(copy, path, fresh, salvaged);
    if (salvaged.kept == 0) {
      throw InputError(
          fmt::format("{}: holds no sound cell of a table; it stays as it is, --store names another.", path));
    }
    const SoleUse exchange(fresh);  // nobody else ends it
    fs::rename(fresh, SalvagedName(path));
    salvaged.damaged = EndExchange(path);
  } catch (const fs::filesystem_error& error) {
    FailSalvage(path, error);
  }
  return salvaged;
}

struct TableStore::Impl {
  Database database;
  mutable std::mutex mutex;

  explicit Impl(const std::string& path) : database(path) { database.OpenCells(); }
};

TableStore::TableStore(const std::string& path) {
  const auto folder = fs::path(path).parent_path();
  if (!folder.empty()) formats::MakeFolder(folder.string());
  EndEarlierExchange(path);
  impl_ = std::make_unique<Impl>(path);
}

TableStore::~TableStore() = default;

void TableStore::Put(const std::string& table, const CellRecord& record) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->database.Insert("REPLACE", table, record);
}

TableStore::Adopted TableStore::Adopt(const std::string& table, const std::vector<CellRecord>& records) {
  Adopted adopted;
  std::map<std::vector<std::string>, CellRecord> present;
  for (CellRecord& record : All(table)) present.emplace(RecordKeyOf(record), std::move(record));
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->database.Execute("BEGIN IMMEDIATE");
  try {
    for (const CellRecord& record : records) {
      if (!record.note.empty()) continue;
      adopted.put += impl_->database.Insert("IGNORE", table, record);
      const auto own = present.find(RecordKeyOf(record));
      if (own != present.end() &&
          (own->second.status != record.status || own->second.runtime_us != record.runtime_us))
        adopted.other.push_back(own->second);
    }
    impl_->database.Execute("COMMIT");
  } catch (...) {
    impl_->database.Rollback();
    throw;
  }
  return adopted;
}

std::vector<CellRecord> TableStore::All(const std::string& table) const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const Statement statement =
      impl_->database.Prepare(fmt::format("SELECT {} FROM cells WHERE [table_name] = ? ORDER BY {}",
                                          Joined(RecordFields(), "", ", "), Joined(KeyNames(), "", ", ")));
  Bind(statement.get(), 1, table);
  std::vector<CellRecord> records;
  std::vector<std::string> last;
  int status = sqlite3_step(statement.get());
  for (; status == SQLITE_ROW; status = sqlite3_step(statement.get())) {
    const std::vector<std::string> fields = TextsFrom(statement.get(), 0);
    std::vector<std::string> key(fields.begin(), fields.begin() + kKeyFields);
    // Pages that name each other make an index without end.
    if (key <= last) impl_->database.Refuse("its index goes in circles");
    last = std::move(key);
    try {
      records.push_back(FromFields(fields, impl_->database.path()));
    } catch (const InputError& error) {
      throw InputError(
          fmt::format("{} The store is damaged: `stowplan table salvage --store {}` keeps it and makes a new "
                      "one of its sound cells.",
                      error.what(), impl_->database.path()));
    }
  }
  if (status != SQLITE_DONE) impl_->database.Fail();
  return records;
}

}  // namespace stowplan::tables
