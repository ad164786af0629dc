// Says how far the cells of a table are: cells done, samples a second, the best of the cell that ended last,
// time left.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bench/console.h"
#include "bench/tables/runner.h"

namespace berth::bench {

// The functions are for those of RunOptions; from any thread.
class CellProgress {
 public:
  CellProgress(const std::string& table, const std::vector<CellPlan>& plans, bool quiet);

  void Cell(const CellRecord& record, bool skipped);
  void Samples(const CellPlan& plan, std::int64_t samples);
  void Training(const std::string& policy, std::int64_t samples, std::int64_t budget);

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::int64_t>;
  struct Running {
    std::int64_t samples = 0;
    std::int64_t budget = 0;
    double weight = 0;  // of one sample
  };

  void Draw();

  std::mutex mutex_;
  Progress progress_;
  std::int64_t cells_ = 0;
  std::map<Key, Running> running_;  // all that is not finished
  double work_ = 0;                 // of all cells, in weighted samples
  double kept_ = 0;                 // of these were finished before
  double done_ = 0;
  std::int64_t samples_ = 0;  // of finished cells that were run now
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> policies_;
  std::string last_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace berth::bench
