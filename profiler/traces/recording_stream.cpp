#include "profiler/traces/recording_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "profiler/traces/activity_merge.h"
#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

constexpr char kCut[] = "the file is damaged or was cut: records are missing";

int OpenToAppend(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) throw InputError(path + ": cannot be written: " + std::strerror(errno));
  return fd;
}

// Others' frames must not come between the bytes of ours. Where a file system has no locks, the reader passes over.
class Lock {
 public:
  explicit Lock(int fd) : fd_(fd) {
    int status = 0;
    do {
      status = ::flock(fd_, LOCK_EX);
    } while (status != 0 && errno == EINTR);  // by a signal of the program's own
    held_ = status == 0;
  }
  ~Lock() {
    if (held_) ::flock(fd_, LOCK_UN);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool held() const { return held_; }

 private:
  const int fd_;
  bool held_ = false;
};

void MergeParts(Part& whole, Part more) {
  std::optional<ActivityTrace> activity = std::move(whole.activity);
  if (activity && more.activity) {
    AppendTrace(*activity, std::move(*more.activity));
    more.activity = std::move(activity);
  }
  whole = std::move(more);
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

RecordingStream::RecordingStream(const std::string& path) : fd_(OpenToAppend(path)) {}

RecordingStream::~RecordingStream() {
  ::close(fd_);
}

std::string RecordingStream::Append(const Recording& recording) {
  const std::string frame = formats::Compress(PrintRecording(recording), formats::kQuick);
  const Lock lock(fd_);
  const ::off_t before = ::lseek(fd_, 0, SEEK_END);
  std::string_view rest = frame;
  while (!rest.empty()) {
    const ssize_t put = ::write(fd_, rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const std::string reason = std::strerror(put == 0 ? ENOSPC : errno);
      // Without the lock others may have written behind us since.
      if (!lock.held() || before < 0 || ::ftruncate(fd_, before) != 0)
        return reason + ", and a part of a frame is left";
      return reason;
    }
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  return "";
}

RecordingReader::RecordingReader(formats::FrameReader& frames, std::string first)
    : frames_(frames), text_(std::move(first)) {}

// Behind the object that text_ has at begin_; npos where it goes on, or is none.
std::size_t RecordingReader::EndOfDocument() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (quoted_) {
      if (c == '\\') ++at_;
      quoted_ = c != '"';
    } else if (c == '"') {
      quoted_ = true;
    } else if (c == '{') {
      ++depth_;
    } else if (c == '}' && --depth_ == 0) {
      return at_ + 1;
    }
  }
  return std::string::npos;
}

std::optional<Recording> RecordingReader::Next() {
  std::size_t end = 0;
  while ((end = EndOfDocument()) == std::string::npos) {
    text_.erase(0, begin_);  // once a frame, which may hold many
    at_ -= std::exchange(begin_, 0);
    std::optional<std::string> more = frames_.Next(any_ ? &cut_ : nullptr);
    if (!more) break;
    text_ += *more;
  }
  const bool whole = end != std::string::npos;
  if (!whole) end = text_.size();
  const std::string_view document = std::string_view(text_).substr(begin_, end - begin_);
  begin_ = at_ = std::min(text_.find_first_not_of(" \t\r\n", end), text_.size());
  depth_ = 0;
  quoted_ = false;
  if (any_ && !whole && (IsBlank(document) || document.starts_with('{'))) {
    cut_ = cut_ || !IsBlank(document);
    return std::nullopt;
  }
  any_ = true;
  return ParseRecording(document, frames_.source());
}

void Merge(Recording& whole, Recording more) {
  if (whole.kind.empty()) {
    whole = std::move(more);
    return;
  }
  if (more.kind != whole.kind)
    throw InputError("one file holds a recording of " + whole.kind + " and one of " + more.kind +
                     "; each needs a file of its own.");
  if (whole.device.empty()) whole.device = std::move(more.device);
  if (whole.machine.empty()) whole.machine = std::move(more.machine);
  const auto add = [](sim::Attributes& to, sim::Attributes& from) {
    for (auto& fact : from) {
      if (sim::FindAttribute(to, fact.first) == nullptr) to.push_back(std::move(fact));
    }
  };
  add(whole.software, more.software);
  add(whole.timing, more.timing);
  for (auto& [name, part] : more.parts) {
    if (Part* const known = whole.Find(name)) {
      MergeParts(*known, std::move(part));
    } else {
      whole.parts.emplace_back(name, std::move(part));
    }
  }
}

Recording ReadRecording(RecordingReader& reader, const BeforeMerge& before_merge) {
  Recording whole;
  while (auto one = reader.Next()) {
    if (before_merge) before_merge(whole, *one);
    Merge(whole, *std::move(one));
  }
  if (reader.cut()) {
    for (auto& [name, part] : whole.parts) {
      if (part.outcome == Part::Outcome::kMeasured && part.incomplete.empty()) part.incomplete = kCut;
    }
  }
  return whole;
}

Recording ReadRecording(const std::string& path) {
  formats::FrameReader frames(path);
  RecordingReader reader(frames);
  return ReadRecording(reader);
}

}  // namespace stowplan::profiler
