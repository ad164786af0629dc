// stowplan.trace: what was recorded of real hardware (docs/formats.md). One envelope for all recorders,
// profiler/pytorch/record.py too: `kind` says who recorded what, each part is the smallest thing that is
// measured or not, and `meaning` says what each number means.
//
// The reader is strict: unknown keys, kinds of outcome or of record are refused with file and place.
// Thread-safe: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/traces/records.h"

namespace stowplan::profiler {

// Parts of this kind hold an ActivityTrace; those of any other kind free JSON.
inline constexpr std::string_view kActivityKind = "profiler.activity";
inline constexpr std::string_view kProbesKind = "profiler.probes";

struct Part {
  enum class Outcome : std::uint8_t { kMeasured, kSkipped, kFailed };

  Outcome outcome = Outcome::kMeasured;
  std::string reason;  // of kSkipped (this machine cannot) and kFailed (may be tried again)
  std::string
      incomplete;    // of kMeasured: why rows are missing, which may be measured still; empty where none are
  std::string date;  // ISO 8601 with time zone
  std::string command;    // that repeats it
  std::string revision;   // of the recorder
  sim::Attribute clocks;  // as found just before; null = not known
  double wall_s = 0;      // [s]
  sim::Attribute result;  // of kMeasured, unless it is an activity trace
  std::optional<ActivityTrace> activity;
  bool operator==(const Part&) const = default;
};
inline constexpr std::string_view kOutcomeNames[] = {"measured", "skipped", "failed"};

struct Recording {
  std::string kind;
  std::string device;  // what it speaks of: "cuda", "cpu"
  bool quick = false;  // a trial with few repeats, no measurement
  std::string model;   // of recordings of whole networks: what was run
  sim::Attributes machine;
  sim::Attributes software;
  sim::Attributes timing;
  sim::Attributes meaning;
  std::vector<std::pair<std::string, Part>> parts;

  // Null if absent.
  const Part* Find(std::string_view part) const;
  Part* Find(std::string_view part);
  // Measured whole, or known to be impossible here: not to be tried again.
  bool Done(std::string_view part) const;
  // Replaces the part of that name, or adds it behind the others.
  void Put(std::string_view part, Part record);
  bool operator==(const Recording&) const = default;
};

// Files are read by recording_stream.h.
Recording ParseRecording(std::string_view json, const std::string& source);  // source: what messages call it
// One record a line; what has its default is left out. Reads back equal.
std::string PrintRecording(const Recording& recording);
void WriteRecording(const std::string& path, const Recording& recording);

}  // namespace stowplan::profiler
