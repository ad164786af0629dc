// A stowplan.trace that is written while it is taken: recordings one behind the other, each a whole frame of zstd, each
// readable by itself. Whatever ends the writer, what was written before stays readable.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "profiler/traces/recording.h"
#include "sim/formats/frames.h"

namespace stowplan::profiler {

// Several processes may append to one file.
class RecordingStream {
 public:
  // Makes the file where there is none. Throws InputError where it may not be written.
  explicit RecordingStream(const std::string& path);
  ~RecordingStream();
  RecordingStream(const RecordingStream&) = delete;
  RecordingStream& operator=(const RecordingStream&) = delete;

  // All of it or nothing: where it cannot be written the reason is returned, and the file is as before. Empty: written.
  std::string Append(const Recording& recording);

 private:
  const int fd_;
};

class RecordingReader {
 public:
  // `first` is the first frame of the file, where the caller has looked at it already. `frames` must outlive it.
  explicit RecordingReader(formats::FrameReader& frames, std::string first = {});

  // The recordings of the file in order; files of other writers hold one. Nothing behind the last. Throws InputError; a
  // damaged or cut one behind the first is passed over.
  std::optional<Recording> Next();
  bool cut() const { return cut_; }  // whether one was passed over so far

 private:
  std::size_t EndOfDocument();

  formats::FrameReader& frames_;
  std::string text_;
  bool any_ = false, cut_ = false;
  std::size_t begin_ = 0;  // in text_, of the next document
  // Of the search for that document's end.
  std::size_t at_ = 0;
  int depth_ = 0;
  bool quoted_ = false;
};

// What `more` says of a part replaces what was said; its records come behind those that are there. Throws InputError as
// AppendTrace() does.
void Merge(Recording& whole, Recording more);

// All recordings of a file as one; where some were cut, its parts say that they are incomplete. before_merge may look at
// each and make it and what was merged so far smaller.
using BeforeMerge = std::function<void(Recording& whole, Recording& more)>;
Recording ReadRecording(RecordingReader& reader, const BeforeMerge& before_merge = {});
Recording ReadRecording(const std::string& path);

}  // namespace stowplan::profiler
