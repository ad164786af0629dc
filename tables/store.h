// The working store of tables: one SQLite file, ignored by git. A finished cell is one transaction, so that
// neither Ctrl-C nor kill -9 loses one or leaves half of one (docs/protocol_rules.md#resume).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tables/record.h"

namespace stowplan::tables {

// What was recovered from a damaged store.
struct SalvagedStore {
  std::int64_t kept = 0;    // cells, of all tables
  std::int64_t broken = 0;  // that could be read and are not sound
  std::string damaged;      // where the damaged file is now
};

// Puts a new store with the sound cells of this one in its place, and keeps the damaged file beside it (FILE.damaged, or
// FILE.damaged2, …). A cell is sound if its numbers are, and if the index has the same key for it; a digit that
// became another is not seen. Killed at any time, it leaves the old store or, once any call opens it, the new one.
// Throws InputError where there is no such file or no sound cell in it, which then stays as it is, and RunError while
// another program has the store open.
SalvagedStore SalvageStore(const std::string& path);

// Thread-safe. Several programs may use one file at a time.
class TableStore {
 public:
  // Creates the file and its folder where they are missing. Throws InputError for a file that is damaged or no store of
  // this version, RunError where the disk refuses. What is damaged may show only when it is read.
  explicit TableStore(const std::string& path);
  ~TableStore();
  TableStore(const TableStore&) = delete;
  TableStore& operator=(const TableStore&) = delete;

  // Replaces the record with the same key (the first kKeyFields fields).
  void Put(const std::string& table, const CellRecord& record);
  // Puts those whose key is not there yet, all or none. Cells that were not run are no results.
  struct Adopted {
    std::int64_t put = 0;
    std::vector<CellRecord> other;  // what is kept here where a record has another result for the same key
  };
  Adopted Adopt(const std::string& table, const std::vector<CellRecord>& records);
  // All records of a table, sorted by key.
  std::vector<CellRecord> All(const std::string& table) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stowplan::tables
