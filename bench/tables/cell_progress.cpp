#include "bench/tables/cell_progress.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::bench {
namespace {

// A learner's sample costs about as much as this many of a classical search (30 ms beside 1 ms);
// only the time left depends on it.
constexpr double kLearnerWeight = 30;

std::string CellNote(const CellRecord& record) {
  if (!record.note.empty()) return "not run: " + record.note;
  return record.runtime_us ? TimeText(*record.runtime_us) : "does not fit";
}

}  // namespace

CellProgress::CellProgress(const std::string& table, const std::vector<CellPlan>& plans, bool quiet)
    : progress_(fmt::format("table {}, cells", table), static_cast<std::int64_t>(plans.size()), quiet) {
  for (const CellPlan& plan : plans) {
    const double weight = plan.column->learner ? kLearnerWeight : 1;
    running_[{plan.block->key, plan.line->key, plan.column->key, plan.seed}] = {0, plan.budget, weight};
    work_ += weight * static_cast<double>(plan.budget);
  }
}

void CellProgress::Cell(const CellRecord& record, bool skipped) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = running_.find({record.block, record.row, record.column, record.seed});
  if (found != running_.end()) {
    const double work = found->second.weight * static_cast<double>(found->second.budget);
    (skipped || !record.note.empty() ? kept_ : done_) += work;
    if (!skipped) samples_ += record.samples.value_or(0);
    running_.erase(found);
  }
  ++cells_;
  last_ = fmt::format("{}/{} {}{}", record.row, record.column, CellNote(record), skipped ? " (kept)" : "");
  Draw();
}

void CellProgress::Samples(const CellPlan& plan, std::int64_t samples) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = running_.find({plan.block->key, plan.line->key, plan.column->key, plan.seed});
  if (found == running_.end()) return;
  found->second.samples = samples;
  Draw();
}

void CellProgress::Training(const std::string& policy, std::int64_t samples, std::int64_t budget) {
  const std::lock_guard<std::mutex> lock(mutex_);
  policies_[policy] = {samples, budget};
  Draw();
}

void CellProgress::Draw() {
  double done = done_;
  std::int64_t samples = samples_;
  for (const auto& [key, cell] : running_) {
    done += cell.weight * static_cast<double>(cell.samples);
    samples += cell.samples;
  }
  std::string note = last_;
  if (cells_ == 0 && !policies_.empty()) {
    std::int64_t spent = 0, all = 0;
    for (const auto& [name, counts] : policies_) {
      spent += counts.first;
      all += counts.second;
    }
    note = fmt::format("training {}: {} of {} samples",
                       policies_.size() == 1 ? policies_.begin()->first : "policies", CountText(spent),
                       CountText(all));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (seconds > 0.5 && samples > 0)
    note += (note.empty() ? "" : ", ") + RateText(static_cast<double>(samples) / seconds, "samples");
  const double open = work_ - kept_;
  progress_.Update(cells_, note, open > 0 ? done / open : 1);
}

}  // namespace berth::bench
