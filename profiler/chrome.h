// A trace as Chrome/Perfetto JSON, for looking at (ui.perfetto.dev, chrome://tracing).
//
// Viewers drop slices that overlap on a track without a word. Here each thread and each stream gets as many
// tracks as its slices need: on threads slices may nest, on streams they may not touch. What cannot be shown
// because it has no time is counted in `otherData`.
#pragma once

#include <string>

#include "profiler/records.h"

namespace berth::profiler {

std::string PrintChrome(const ActivityTrace& trace);

}  // namespace berth::profiler
