// Progress of long work on standard error: one line that redraws itself on a terminal and fits its width, else a plain
// line every ten seconds at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace stowplan::output {

// What the line says. Empty parts are left out.
struct ProgressLine {
  std::string what;            // "local_search on nmt"
  std::optional<double> part;  // of the work that is done; nothing = no bar
  std::string counts;          // "120 of 1,000"
  std::string note;            // "best 1.18 s"
  std::string rate;            // "94.1/s"
  std::string left;            // "12 min left"
};

// The line in at most `width` columns: the note is cut first, then the bar gets shorter, then `what`, then the bar goes,
// then the rate, then the rest. Line breaks become blanks.
std::string FitProgress(const ProgressLine& line, std::size_t width);

// "42 s", "12 min", "3 h 05 min": as exact as what is left can be known.
std::string RoughTime(double seconds);

// One thread at a time.
class Progress {
 public:
  // total = 0: not known, no bar and no time left. quiet: writes nothing.
  Progress(std::string what, std::int64_t total, bool quiet = false);
  // Finish(), unless nothing was done: work that is refused has no summary.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `note` is added behind the counts: "best 1.18 s". The time left follows from how fast the items of the last half
  // minute went; before that is known nothing is said.
  void Update(std::int64_t done, const std::string& note = {});
  // Where items are not alike the caller knows better.
  struct Outlook {
    double part = 0;                     // of the work that is done, for the bar
    std::optional<double> seconds_left;  // nothing = not known, and not said
  };
  void Update(std::int64_t done, const std::string& note, const Outlook& outlook);
  // Whether the next Update() will be seen: what it says need not be worked out otherwise.
  bool Due() const;
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;

  // Items a second, by the marks of the last half minute; nothing where too little was seen.
  std::optional<double> Rate() const;
  ProgressLine Describe(bool last) const;
  void Draw(bool last);

  std::string what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::optional<Outlook> outlook_;
  std::string note_;
  bool quiet_;
  bool terminal_;
  bool finished_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
  std::deque<std::pair<Clock::time_point, std::int64_t>> marks_;
};

}  // namespace stowplan::output
