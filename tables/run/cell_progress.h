// Says how far the cells of a table are: cells done, samples a second, the best of the cell that ended last, and the time
// left, where enough was measured to tell it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "output/progress.h"
#include "tables/run/cell_times.h"
#include "tables/run/runner.h"

namespace stowplan::tables {

// The functions are for those of RunOptions; from any thread.
class CellProgress {
 public:
  struct Options {
    int threads = 0;                // cells at a time; 0 = one per core
    std::vector<CellRecord> known;  // cells that were finished before, whose times tell what others will take
    bool quiet = false;
  };
  CellProgress(const std::string& what, const std::vector<CellPlan>& plans, const Options& options);

  void Cell(const CellRecord& record, bool skipped);
  void Samples(const CellPlan& plan, std::int64_t samples);
  void Training(const std::string& policy, std::int64_t samples, std::int64_t budget);

  // Seconds until all cells are finished; nothing where there is a kind of cell that nothing is known of, and while
  // policies are trained.
  std::optional<double> SecondsLeft() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::tuple<std::string, std::string, std::string, std::int64_t>;
  struct Open {
    std::string row;  // as CellTimes calls it
    std::int64_t budget = 0;
    std::int64_t samples = 0;
    std::int64_t first_samples = 0;  // when it was first heard of
    Clock::time_point first{};
  };

  void AddTime(const CellRecord& record);
  std::optional<double> SecondsLeft(const Key& key, const Open& cell) const;
  // Worked out anew once a second: every cell of the table is looked at.
  std::optional<double> RecentSecondsLeft();
  std::optional<double> SecondsLeftNow() const;
  void Draw();

  mutable std::mutex mutex_;
  output::Progress progress_;
  const int threads_;
  const std::size_t planned_;
  std::int64_t cells_ = 0;
  std::map<Key, Open> open_;  // all that is not finished
  CellTimes times_;
  std::optional<double> left_;
  Clock::time_point left_at_{};
  std::int64_t samples_ = 0;  // of finished cells that were run now
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> policies_;
  std::string last_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace stowplan::tables
