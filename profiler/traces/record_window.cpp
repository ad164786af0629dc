#include "profiler/traces/record_window.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

using Unit = WindowEdge::Unit;

template <typename Number>
bool IsWhole(std::string_view text, Number& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

WindowEdge ParseWindowEdge(const std::string& option, const std::string& text) {
  WindowEdge edge;
  if (text.empty()) return edge;
  constexpr std::string_view kRange = "range:";
  if (text.starts_with(kRange) ||
      std::string_view("0123456789.+-").find(text.front()) == std::string_view::npos) {
    edge.unit = Unit::kRange;
    edge.range = text.starts_with(kRange) ? text.substr(kRange.size()) : text;
    if (edge.range.empty()) throw InputError(option + ": range: lacks the name of the range.");
    return edge;
  }
  constexpr double kMostSeconds = 1e9;
  edge.unit = text.ends_with('s') ? Unit::kSeconds : Unit::kLaunches;
  const bool good = edge.unit == Unit::kSeconds
                        ? IsWhole(std::string_view(text).substr(0, text.size() - 1), edge.seconds) &&
                              edge.seconds > 0 && edge.seconds <= kMostSeconds
                        : IsWhole(text, edge.launches) && edge.launches > 0;
  if (good) return edge;
  throw InputError(
      fmt::format("{}: \"{}\" is no whole number of launches above 0 (1000), no seconds from above 0 to "
                  "1e9 (2.5s), and no range of NVTX (range:{}).",
                  option, text, text));
}

RecordWindow::RecordWindow(WindowEdge after, WindowEdge length, std::function<void(bool)> changed)
    : after_(std::move(after)), length_(std::move(length)), changed_(std::move(changed)) {}

void RecordWindow::Begin() {
  const std::lock_guard lock(mutex_);
  if (after_.unit == Unit::kNone) Arm(0);
}

void RecordWindow::Launched(double now) {
  const std::lock_guard lock(mutex_);
  ++launches_;
  if (state_ == State::kOpen) {
    ++launches_within_;
    if (length_.unit == Unit::kLaunches && launches_within_ == length_.launches) Close();
  }
  if (state_ == State::kWaiting && after_.unit == Unit::kLaunches && launches_ == after_.launches) Arm(now);
}

void RecordWindow::RangeBegan(std::string_view name, double now) {
  const std::lock_guard lock(mutex_);
  if (length_.unit != Unit::kRange || name != length_.range) return;
  if (state_ == State::kArmed) Open(now);
  if (state_ == State::kOpen) ++depth_;
}

void RecordWindow::RangeEnded(std::string_view name, double now) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kOpen && length_.unit == Unit::kRange && name == length_.range && --depth_ == 0)
    Close();
  if (state_ == State::kWaiting && after_.unit == Unit::kRange && name == after_.range) Arm(now);
}

void RecordWindow::At(double now) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kWaiting && after_.unit == Unit::kSeconds && now >= after_.seconds) Arm(now);
  if (state_ == State::kOpen && length_.unit == Unit::kSeconds && now >= opened_at_ + length_.seconds)
    Close();
}

void RecordWindow::Arm(double now) {
  state_ = State::kArmed;
  if (length_.unit != Unit::kRange) Open(now);
}

void RecordWindow::Open(double now) {
  state_ = State::kOpen;
  opened_at_ = now;
  changed_(true);
}

void RecordWindow::Close() {
  state_ = State::kClosed;
  changed_(false);
}

bool RecordWindow::AsksRanges() const {
  return after_.unit == Unit::kRange || length_.unit == Unit::kRange;
}

std::optional<double> RecordWindow::NextTime() const {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kWaiting && after_.unit == Unit::kSeconds) return after_.seconds;
  if (state_ == State::kOpen && length_.unit == Unit::kSeconds) return opened_at_ + length_.seconds;
  return std::nullopt;
}

bool RecordWindow::closed() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kClosed;
}

std::int64_t RecordWindow::LaunchesWithin() const {
  const std::lock_guard lock(mutex_);
  return launches_within_;
}

std::string RecordWindow::WhyNeverOpen() const {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kArmed) return fmt::format("no range \"{}\" began", length_.range);
  if (state_ != State::kWaiting) return "";
  if (after_.unit == Unit::kRange) return fmt::format("no range \"{}\" ended", after_.range);
  if (after_.unit == Unit::kSeconds) return fmt::format("it ended before {:g} s had passed", after_.seconds);
  return fmt::format("it made {} launches, not {}", launches_, after_.launches);
}

}  // namespace stowplan::profiler
