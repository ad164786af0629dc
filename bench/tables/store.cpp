#include "bench/tables/store.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <sqlite3.h>

#include "sim/error.h"
#include "sim/formats/outputs.h"

namespace berth::bench {
namespace {

// How long a program waits for another that writes.
constexpr std::chrono::milliseconds kPatience(60'000);

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

std::vector<std::string> KeyOf(const CellRecord& record) {
  std::vector<std::string> fields = ToFields(record);
  fields.resize(kKeyFields);
  return fields;
}

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

}  // namespace

struct TableStore::Impl {
  std::string path;
  sqlite3* database = nullptr;
  mutable std::mutex mutex;

  ~Impl() { sqlite3_close(database); }

  [[noreturn]] void Fail() const {
    const std::string why = sqlite3_errmsg(database);
    const int code = sqlite3_errcode(database);
    if (code == SQLITE_NOTADB || code == SQLITE_ERROR || code == SQLITE_CORRUPT) {
      throw InputError(fmt::format(
          "{}: is no table store of this version ({}); remove it or name another with --store.", path, why));
    }
    throw RunError(fmt::format("{}: the table store cannot be used: {}.", path, why));
  }

  void Execute(const std::string& sql) const {
    if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Fail();
  }

  // Changing the journal's mode turns a read into a write. There SQLite does not wait for others, who may be waiting for
  // this one (ranks that open a new store at once), but says at once that it is busy.
  void WriteAhead() const {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      const int status = sqlite3_exec(database, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
      if (status == SQLITE_OK) return;
      if (status != SQLITE_BUSY || std::chrono::steady_clock::now() > until) Fail();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  Statement Prepare(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) Fail();
    return Statement(statement);
  }

  static void Bind(sqlite3_stmt* statement, int at, const std::string& text) {
    sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
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
    return sqlite3_changes(database);
  }
};

TableStore::TableStore(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) formats::MakeFolder(folder.string());
  if (sqlite3_open(path.c_str(), &impl_->database) != SQLITE_OK) impl_->Fail();
  sqlite3_busy_timeout(impl_->database, static_cast<int>(kPatience.count()));
  impl_->WriteAhead();
  impl_->Execute("PRAGMA synchronous=FULL");
  impl_->Execute(
      fmt::format("CREATE TABLE IF NOT EXISTS cells ([table_name] TEXT NOT NULL, {}, PRIMARY KEY ({}))",
                  Joined(RecordFields(), " TEXT NOT NULL", ", "), Joined(KeyNames(), "", ", ")));
  // A store of another version has other columns.
  impl_->Prepare(fmt::format("SELECT {} FROM cells LIMIT 1", Joined(RecordFields(), "", ", ")));
}

TableStore::~TableStore() = default;

void TableStore::Put(const std::string& table, const CellRecord& record) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->Insert("REPLACE", table, record);
}

TableStore::Adopted TableStore::Adopt(const std::string& table, const std::vector<CellRecord>& records) {
  Adopted adopted;
  std::map<std::vector<std::string>, CellRecord> present;
  for (CellRecord& record : All(table)) present.emplace(KeyOf(record), std::move(record));
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->Execute("BEGIN IMMEDIATE");
  try {
    for (const CellRecord& record : records) {
      if (!record.note.empty()) continue;
      adopted.put += impl_->Insert("IGNORE", table, record);
      const auto own = present.find(KeyOf(record));
      if (own != present.end() &&
          (own->second.status != record.status || own->second.runtime_us != record.runtime_us))
        adopted.other.push_back(own->second);
    }
    impl_->Execute("COMMIT");
  } catch (...) {
    sqlite3_exec(impl_->database, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  return adopted;
}

std::vector<CellRecord> TableStore::All(const std::string& table) const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const Statement statement =
      impl_->Prepare(fmt::format("SELECT {} FROM cells WHERE [table_name] = ? ORDER BY {}",
                                 Joined(RecordFields(), "", ", "), Joined(KeyNames(), "", ", ")));
  Impl::Bind(statement.get(), 1, table);
  std::vector<CellRecord> records;
  int status = sqlite3_step(statement.get());
  for (; status == SQLITE_ROW; status = sqlite3_step(statement.get())) {
    std::vector<std::string> fields;
    for (int i = 0; i < static_cast<int>(RecordFields().size()); ++i) {
      fields.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), i)),
                          static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), i)));
    }
    records.push_back(FromFields(fields, impl_->path));
  }
  if (status != SQLITE_DONE) impl_->Fail();
  return records;
}

}  // namespace berth::bench
