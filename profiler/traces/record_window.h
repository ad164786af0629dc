// When a program is recorded: `stowplan-profile record --after … --for …`.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace stowplan::profiler {

// After how much something happens: after so many launches, so many seconds, or a range of NVTX.
struct WindowEdge {
  enum class Unit : std::uint8_t { kNone, kLaunches, kSeconds, kRange } unit = Unit::kNone;
  std::int64_t launches = 0;
  double seconds = 0;
  std::string range;
};

// "1000" are launches, "2.5s" seconds, "range:step" and whatever begins with no digit or sign is a range's name. Empty:
// none. Throws InputError that begins with `option`.
WindowEdge ParseWindowEdge(const std::string& option, const std::string& text);

// Opens after `after` and closes `length` later, once. As length a range means from the beginning of the first of that
// name to its end, as after the end of the first of that name. Any thread may call; all times are seconds since the
// process first used CUDA.
class RecordWindow {
 public:
  // changed(true) where it opens, changed(false) where it closes: by the thread that called, one at a time.
  RecordWindow(WindowEdge after, WindowEdge length, std::function<void(bool opens)> changed);

  void Begin();  // opens at once where there is nothing to wait for
  void Launched(double now);
  void RangeBegan(std::string_view name, double now);
  void RangeEnded(std::string_view name, double now);
  void At(double now);

  bool AsksRanges() const;
  std::optional<double> NextTime() const;  // when At() has something to do
  bool closed() const;                     // for good
  std::int64_t LaunchesWithin() const;     // so far
  std::string WhyNeverOpen() const;        // in words; empty where it has been open

 private:
  enum class State : std::uint8_t { kWaiting, kArmed, kOpen, kClosed };
  void Arm(double now);
  void Open(double now);
  void Close();

  const WindowEdge after_, length_;
  const std::function<void(bool)> changed_;
  mutable std::mutex mutex_;
  State state_ = State::kWaiting;
  std::int64_t launches_ = 0, launches_within_ = 0;
  double opened_at_ = 0;
  std::int64_t depth_ = 0;  // of the ranges that keep it open
};

}  // namespace stowplan::profiler
