// The working store of tables: one SQLite file, ignored by git. A finished cell is one transaction, so that
// neither Ctrl-C nor kill -9 loses one or leaves half of one (docs/protocol.md#resume).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/tables/record.h"

namespace berth::bench {

// Thread-safe. Several programs may use one file at a time.
class TableStore {
 public:
  // Creates the file and its folder where they are missing. Throws InputError for a file that is no store of
  // this version, RunError where the disk refuses.
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

}  // namespace berth::bench
