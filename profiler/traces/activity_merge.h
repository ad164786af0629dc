// Traces that were taken piece by piece.
#pragma once

#include "profiler/traces/records.h"

namespace stowplan::profiler {

// So that numbers are small and the trace says when it was: 1 us before the first stamp becomes 0.
void MoveToOrigin(ActivityTrace& trace);

// Records behind those that are there, counts added, times on the clock of the earlier of the two. Throws InputError
// where they lie too far apart for one clock.
void AppendTrace(ActivityTrace& whole, ActivityTrace more);

std::int64_t RecordsIn(const ActivityTrace& trace);  // of all kinds

}  // namespace stowplan::profiler
