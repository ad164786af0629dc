#include "tables/run/cell_progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "output/console.h"
#include "sim/base/parallel.h"

namespace stowplan::tables {
namespace {

std::string CellNote(const CellRecord& record) {
  if (!record.note.empty()) return "not run: " + record.note;
  return record.runtime_us ? output::TimeText(*record.runtime_us) : "does not fit";
}

std::string RowName(const std::string& block, const std::string& row) {
  return block + ":" + row;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

CellProgress::CellProgress(const std::string& what, const std::vector<CellPlan>& plans,
                           const Options& options)
    : progress_(what, static_cast<std::int64_t>(plans.size()), options.quiet),
      threads_(ResolveThreads(options.threads)),
      planned_(plans.size()) {
  for (const CellPlan& plan : plans) {
    Open& cell = open_[{plan.block->key, plan.line->key, plan.column->key, plan.seed}];
    cell.row = RowName(plan.block->key, plan.line->key);
    cell.budget = plan.budget;
  }
  for (const CellRecord& record : options.known) AddTime(record);
}

void CellProgress::AddTime(const CellRecord& record) {
  if (record.wall_seconds && record.note.empty())
    times_.Add(RowName(record.block, record.row), record.column, record.budget, *record.wall_seconds);
}

void CellProgress::Cell(const CellRecord& record, bool skipped) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!skipped) {
    AddTime(record);
    samples_ += record.samples.value_or(0);
  }
  open_.erase({record.block, record.row, record.column, record.seed});
  ++cells_;
  last_ = fmt::format("{}/{} {}{}", record.row, record.column, CellNote(record), skipped ? " (kept)" : "");
  Draw();
}

void CellProgress::Samples(const CellPlan& plan, std::int64_t samples) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = open_.find({plan.block->key, plan.line->key, plan.column->key, plan.seed});
  if (found == open_.end()) return;
  Open& cell = found->second;
  if (cell.samples == 0) {
    cell.first = Clock::now();
    cell.first_samples = samples;
  }
  cell.samples = samples;
  if (progress_.Due()) Draw();
}

void CellProgress::Training(const std::string& policy, std::int64_t samples, std::int64_t budget) {
  const std::lock_guard<std::mutex> lock(mutex_);
  policies_[policy] = {samples, budget};
  Draw();
}

// A cell that has run for a while tells its pace itself.
std::optional<double> CellProgress::SecondsLeft(const Key& key, const Open& cell) const {
  constexpr double kEnoughSeconds = 2;
  constexpr double kEnoughPart = 0.05;
  const auto seen = static_cast<double>(cell.samples - cell.first_samples);
  const auto left = static_cast<double>(cell.budget - cell.samples);
  if (cell.samples > 0 && seen >= kEnoughPart * static_cast<double>(cell.budget)) {
    const double seconds = SecondsSince(cell.first);
    if (seconds >= kEnoughSeconds) return seconds / seen * left;
  }
  const std::optional<double> whole = times_.Predict(cell.row, std::get<2>(key), cell.budget);
  if (!whole) return std::nullopt;
  return *whole * left / static_cast<double>(std::max<std::int64_t>(cell.budget, 1));
}

std::optional<double> CellProgress::SecondsLeft() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return SecondsLeftNow();
}

std::optional<double> CellProgress::RecentSecondsLeft() {
  const auto now = Clock::now();
  if (left_at_ == Clock::time_point{} || now - left_at_ >= std::chrono::seconds(1)) {
    left_ = SecondsLeftNow();
    left_at_ = now;
  }
  return left_;
}

std::optional<double> CellProgress::SecondsLeftNow() const {
  if (cells_ == 0 && !policies_.empty()) return std::nullopt;
  double sum = 0, longest = 0;
  for (const auto& [key, cell] : open_) {
    const std::optional<double> left = SecondsLeft(key, cell);
    if (!left) return std::nullopt;
    sum += *left;
    longest = std::max(longest, *left);
  }
  return std::max(longest, sum / threads_);
}

void CellProgress::Draw() {
  double done = static_cast<double>(cells_);
  std::int64_t samples = samples_;
  for (const auto& [key, cell] : open_) {
    done += static_cast<double>(cell.samples) / static_cast<double>(std::max<std::int64_t>(cell.budget, 1));
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
                       policies_.size() == 1 ? policies_.begin()->first : "policies",
                       output::CountText(spent), output::CountText(all));
  }
  const double seconds = SecondsSince(start_);
  if (seconds > 0.5 && samples > 0)
    note += (note.empty() ? "" : ", ") + output::RateText(static_cast<double>(samples) / seconds, "samples");
  progress_.Update(cells_, note,
                   {.part = done / static_cast<double>(std::max<std::size_t>(planned_, 1)),
                    .seconds_left = RecentSecondsLeft()});
}

}  // namespace stowplan::tables
