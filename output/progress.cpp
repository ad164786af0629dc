#include "output/progress.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output/console.h"
#include "sim/formats/document/source.h"

namespace stowplan::output {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(10);
constexpr auto kMark = std::chrono::milliseconds(500);
constexpr auto kWindow = std::chrono::seconds(30);
constexpr std::size_t kBar = 24;
constexpr std::size_t kShortestBar = 6;
constexpr std::size_t kShortestNote = 4;
constexpr std::size_t kShortestWhat = 16;
constexpr std::size_t kUsualWidth = 80;

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// As many code points of a text as fit, the last of them "…" where some were cut off.
std::string Cut(const std::string& text, std::size_t width) {
  if (TextWidth(text) <= width) return text;
  return width == 0 ? "" : fmt::format("{}…", Prefix(text, width - 1));
}

std::string Composed(const ProgressLine& line, std::size_t bar) {
  std::string text = line.what + ": ";
  if (bar > 0) text += Bar(*line.part, static_cast<int>(bar)) + " ";
  text += line.counts;
  for (const std::string* part : {&line.note, &line.rate, &line.left}) {
    if (!part->empty()) text += ", " + *part;
  }
  return text;
}

// Looked at again at each draw: it changes when the window does.
std::size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

}  // namespace

std::string FitProgress(const ProgressLine& wanted, std::size_t width) {
  ProgressLine line = wanted;
  for (std::string* part : {&line.what, &line.counts, &line.note})
    std::replace(part->begin(), part->end(), '\n', ' ');
  std::size_t bar = line.part ? kBar : 0;
  const auto over = [&] {
    const std::size_t now = TextWidth(Composed(line, bar));
    return now > width ? now - width : 0;
  };
  if (const std::size_t much = over(); much > 0 && !line.note.empty()) {
    const std::size_t note = TextWidth(line.note);
    line.note = note >= much + kShortestNote ? Cut(line.note, note - much) : "";
  }
  if (const std::size_t much = over(); much > 0)
    bar = std::max(bar - std::min(bar, much), std::min(bar, kShortestBar));
  if (const std::size_t much = over(); much > 0) {
    const std::size_t what = TextWidth(line.what);
    if (what >= much + kShortestWhat) line.what = Cut(line.what, what - much);
  }
  if (over() > 0) bar = 0;
  if (over() > 0) line.rate.clear();
  if (const std::size_t much = over(); much > 0) {
    const std::size_t what = TextWidth(line.what);
    line.what = Cut(line.what, what > much ? what - much : 1);
  }
  if (over() > 0) line.left.clear();
  return Cut(Composed(line, bar), width);
}

std::string RoughTime(double seconds) {
  if (seconds < 59.5) return fmt::format("{:.0f} s", std::ceil(std::max(seconds, 0.0)));
  const auto minutes = static_cast<std::int64_t>(std::llround(seconds / 60));
  return minutes < 60 ? fmt::format("{} min", minutes)
                      : fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

Progress::Progress(std::string what, std::int64_t total, bool quiet)
    : what_(std::move(what)), total_(total), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (done_ > 0) {
    Finish();
  } else if (terminal_ && !quiet_ && drawn_ != Clock::time_point{}) {
    TellRaw("\r\x1b[K");
  }
}

void Progress::Update(std::int64_t done, const std::string& note) {
  const auto now = Clock::now();
  done_ = done;
  note_ = note;
  if (marks_.empty() || now - marks_.back().first >= kMark) marks_.emplace_back(now, done);
  while (marks_.size() > 2 && now - marks_[1].first >= kWindow) marks_.pop_front();
  if (!Due()) return;
  drawn_ = now;
  Draw(false);
}

void Progress::Update(std::int64_t done, const std::string& note, const Outlook& outlook) {
  outlook_ = outlook;
  Update(done, note);
}

bool Progress::Due() const {
  const auto since = Clock::now() - (drawn_ == Clock::time_point{} ? start_ : drawn_);
  return !quiet_ && since >= (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kPlainLine));
}

void Progress::Finish() {
  if (finished_) return;
  finished_ = true;
  Draw(true);
}

std::optional<double> Progress::Rate() const {
  constexpr double kEnoughSeconds = 2;
  constexpr std::int64_t kEnoughItems = 5;
  if (marks_.empty()) return std::nullopt;
  const double seconds = Seconds(Clock::now() - marks_.front().first);
  const std::int64_t items = done_ - marks_.front().second;
  if (seconds < kEnoughSeconds || items < kEnoughItems) return std::nullopt;
  return static_cast<double>(items) / seconds;
}

ProgressLine Progress::Describe(bool last) const {
  ProgressLine line{
      .what = what_, .part = {}, .counts = CountText(done_), .note = note_, .rate = {}, .left = {}};
  if (total_ > 0) {
    line.counts += " of " + CountText(total_);
    line.part = outlook_ ? outlook_->part : static_cast<double>(done_) / static_cast<double>(total_);
  }
  if (last) {
    line.left = "took " + TimeText(Seconds(Clock::now() - start_) * 1e6);
    return line;
  }
  const std::optional<double> rate = Rate();
  if (rate && !outlook_) line.rate = fmt::format("{:.4g}/s", *rate);
  std::optional<double> left;
  if (outlook_) left = outlook_->seconds_left;
  if (!outlook_ && rate && total_ > 0) left = static_cast<double>(total_ - done_) / *rate;
  if (left) line.left = RoughTime(*left) + " left";
  return line;
}

void Progress::Draw(bool last) {
  if (quiet_) return;
  ProgressLine line = Describe(last);
  if (!terminal_) {
    line.part.reset();
    Tell(Composed(line, 0) + "\n");
    return;
  }
  // A full last column would make some terminals begin another line.
  TellRaw("\r\x1b[K" + formats::Printable(FitProgress(line, TerminalWidth() - 1)) + (last ? "\n" : ""));
}

}  // namespace stowplan::output
