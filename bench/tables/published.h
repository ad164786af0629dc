// The numbers of the papers, compiled in from bench/data/papers/*.csv. Read only; nothing here is ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/csv.h"

namespace berth::bench {

// One published cell.
struct PublishedCell {
  bool out_of_memory = false;
  std::optional<double> value;  // seconds, or what the column counts; empty with OOM
};

class PublishedTable {
 public:
  // `file`: "hierarchical.csv"; empty = there is no paper. Aborts if it was not compiled in or is malformed: both are faults of berth.
  explicit PublishedTable(const std::string& file);

  // Empty where the paper gives nothing.
  std::optional<PublishedCell> Find(const std::string& workload, int gpus, const std::string& column) const;

 private:
  CsvLine header_;
  std::vector<CsvLine> lines_;
};

}  // namespace berth::bench
