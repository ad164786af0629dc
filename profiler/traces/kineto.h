// Traces of torch.profiler (Kineto JSON) in and out.
//
// In: the object with traceEvents of PyTorch 1.8 and later, and the bare list of events of builds without
// Kineto; zstd too. Event by event, so that memory is for the records and not for the text's values. Category names of old versions are known; names whose quotes break the JSON
// (pytorch#146900) are mended; what stowplan has no record for is counted, not an error.
// Out: what Kineto's own readers expect, so that a trace of ours opens where theirs do. Everything a record holds is
// in its event's `args`, and reading it back gives the same trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "profiler/traces/records.h"

namespace stowplan::profiler {

struct KinetoTrace {
  ActivityTrace trace;
  std::map<std::string, std::int64_t> ignored;  // events by "phase category" that are no records of ours
  std::string gpu;                              // name of the device that did most; empty where none is told
  bool mended = false;                          // the text was no JSON before quotes in names were escaped
  bool cut =
      false;  // the text ends too early, as a profiler leaves it that was killed: whole events were read
};
KinetoTrace ReadKineto(const std::string& path);
KinetoTrace ParseKineto(std::string_view json, const std::string& source);  // source: what messages call it
std::string PrintKineto(const ActivityTrace& trace);

}  // namespace stowplan::profiler
